import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { Secret, createMasker } from '../../../src/cli/settings/redact.ts';
import { recordedFiles } from '../../helpers/recorded-files.ts';
import {
  answers,
  type BodyStep,
  calm,
  recordingsIn,
  messagesRequest,
  readBody,
  recorderFor,
} from './fetch-under-test.ts';

const failure = (code: string): Error => Object.assign(new Error('gone'), { code });

test('writes the request, the head without secrets, every chunk, and the end', async () => {
  const { recorder, folder } = await recorderFor();
  const fetch = recorder.record(answers(['a', 'b\n', Buffer.from([0xff])]));
  expect(await readBody(await fetch(messagesRequest(), calm))).toEqual({
    chunks: ['a', 'b\n', 'ÿ'],
    error: undefined,
  });
  const [name = ''] = recordedFiles(folder);
  expect(name).toMatch(/^messages-m-[0-9a-f]{32}[/\\]1\.jsonl$/);
  expect(readFileSync(join(folder, name), 'utf8').replace(/"scope":"[0-9a-f]{32}"/, '"scope":"S"')).toBe(
    [
      '{"recording":1,"scope":"S","at":5,"request":{"body":{"model":"m","n":1},"method":"POST","path":"/v1/messages"}}',
      '{"status":200,"headers":{"content-type":"text/plain"}}',
      '{"text":"a"}',
      String.raw`{"text":"b\n"}`,
      '{"base64":"/w=="}',
      '{"ended":"end"}',
      '',
    ].join('\n'),
  );
});

test.skipIf(process.platform === 'win32')('writes files that only their owner can read', async () => {
  const { recorder, folder } = await recorderFor();
  await readBody(await recorder.record(answers(['a']))(messagesRequest(), calm));
  expect(recordedFiles(folder).map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual([0o600]);
});

test.each<[string, BodyStep[], string]>([
  ['an early end as cut', ['a', failure('UND_ERR_SOCKET')], 'cut'],
  ['a reset as reset', ['a', failure('ECONNRESET')], 'reset'],
  ['nothing at all as an end', [], 'end'],
])('records %s', async (_name, steps, ended) => {
  const { recorder, folder } = await recorderFor();
  await readBody(await recorder.record(answers(steps))(messagesRequest(), calm));
  expect(recordingsIn(folder)[0]?.lines.at(-1)).toEqual({ ended });
});

test('records that the reader stopped, even before the first chunk', async () => {
  const { recorder, folder } = await recorderFor();
  const fetch = recorder.record(answers(['a', 'b'], ['c']));
  const { body } = await fetch(messagesRequest('{"n":1}'), calm);
  const reader = body[Symbol.asyncIterator]();
  await reader.next();
  await reader.return?.();
  await fetch(messagesRequest('{"n":2}'), calm);
  expect(recordedFiles(folder)).toHaveLength(1);
  await recorder.close();
  const kept = recordingsIn(folder).map(({ lines }) => lines.slice(2));
  expect(kept).toHaveLength(2);
  expect(kept).toContainEqual([{ text: 'a' }, { ended: 'left' }]);
  expect(kept).toContainEqual([{ ended: 'left' }]);
});

test('records an abort as a reader that stopped', async () => {
  const { recorder, folder } = await recorderFor();
  const stop = new AbortController();
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a');
    stop.abort(new Error('Ctrl-C'));
    throw stop.signal.reason;
  }
  const fetch = recorder.record(async () => ({ status: 200, headers: {}, body: body() }));
  const { error } = await readBody(await fetch(messagesRequest(), stop));
  expect(error).toBe(stop.signal.reason);
  expect(recordingsIn(folder)[0]?.lines.at(-1)).toMatchObject({ ended: 'left' });
});

test('keeps the order in which equal requests were sent, whichever ends first, after the existing ones', async () => {
  const first = await recorderFor();
  const again = (recorder: typeof first.recorder) => recorder.record(answers(['a'], ['b']));
  const fetch = again(first.recorder);
  const one = await fetch(messagesRequest('{"a":1,"b":2}'), calm);
  const two = await fetch(messagesRequest('{"b":2,"a":1}'), calm);
  await readBody(two);
  await readBody(one);
  const second = again((await recorderFor({ folder: first.folder })).recorder);
  const three = await second(messagesRequest('{"a":1,"b":2}'), calm);
  await readBody(await second(messagesRequest('{"a":1,"b":2}'), calm));
  await readBody(three);
  const kept = recordingsIn(first.folder);
  expect(kept.map(({ name }) => name.slice(-7))).toEqual(['1.jsonl', '2.jsonl', '3.jsonl', '4.jsonl']);
  const bySending = kept.map(({ lines }) => [(lines[0] as { at: number }).at, lines[2]]);
  expect(bySending).toEqual([
    [6, { text: 'b' }],
    [5, { text: 'a' }],
    [6, { text: 'b' }],
    [5, { text: 'a' }],
  ]);
});

test('never replaces a file that another process has written meanwhile', async () => {
  const { recorder, folder } = await recorderFor();
  const probe = await recorderFor();
  await readBody(await probe.recorder.record(answers(['p']))(messagesRequest(), calm));
  const [taken = ''] = recordedFiles(probe.folder);
  const reply = await recorder.record(answers(['mine']))(messagesRequest(), calm);
  mkdirSync(dirname(join(folder, taken)));
  writeFileSync(join(folder, taken), 'theirs');
  await readBody(reply);
  expect(readFileSync(join(folder, taken), 'utf8')).toBe('theirs');
  expect(recordedFiles(folder)).toEqual([taken, taken.replace('1.jsonl', '2.jsonl')]);
});

test('keeps keys out of requests, heads and chunks', async () => {
  const key = 'canary-7f3a9c51-secret';
  const { recorder, folder } = await recorderFor({ mask: createMasker([new Secret(key)]) });
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const part of ['{"error":"bad key canary-7f', '3a9c51-sec', 'ret"}', btoa(`x${key}`), encodeURI(key)])
      yield Buffer.from(part);
  }
  const headers = {
    connection: 'x-hop',
    'x-hop': '1',
    'x-echo': `Bearer ${key}`,
    'set-cookie': 'a=1',
    'www-authenticate': 'x',
    date: 'today',
  };
  const fetch = recorder.record(async () => ({ status: 401, headers, body: body() }));
  await readBody(await fetch(messagesRequest({ model: 'm', text: `my key is ${key}` }), calm));
  const [name = ''] = recordedFiles(folder);
  const text = readFileSync(join(folder, name), 'utf8');
  expect(text).not.toContain('canary');
  expect(text).not.toContain('Y2FuYXJ5'.slice(1, -1));
  expect(text).not.toContain('not-kept');
  const lines = recordingsIn(folder)[0]?.lines ?? [];
  expect(lines[1]).toMatchObject({ status: 401, headers: { 'x-echo': `Bearer ${'*'.repeat(22)}`, date: 'today' } });
  expect(lines[1]).not.toHaveProperty(['headers', 'set-cookie']);
  expect(lines[1]).not.toHaveProperty(['headers', 'www-authenticate']);
  expect(lines[1]).not.toHaveProperty(['headers', 'x-hop']);
  expect(lines[3]).toEqual({ text: '*'.repeat(10) });
});

test('continues without a recording if it cannot be written, with a warning', async () => {
  const failures: unknown[] = [];
  const { recorder, folder } = await recorderFor({ onFailure: (error) => void failures.push(error) });
  rmSync(folder, { recursive: true });
  const reply = await recorder.record(answers(['a', 'b']))(messagesRequest(), calm);
  // The body is read long after the file could not be opened.
  for (let i = 0; i < 5; i++) await readdir(tmpdir());
  expect(await readBody(reply)).toEqual({ chunks: ['a', 'b'], error: undefined });
  expect(failures).toMatchObject([{ code: 'ENOENT' }]);
});

test('can be closed in the middle of a chunk', async () => {
  const { recorder, folder } = await recorderFor();
  const long = 'x'.repeat(200_000);
  const { body } = await recorder.record(answers(['a', long, 'b']))(messagesRequest(), calm);
  const reader = body[Symbol.asyncIterator]();
  await reader.next();
  const reading = reader.next();
  for (let i = 0; i < 5; i++) await Promise.resolve();
  await recorder.close();
  await reading;
  expect(recordingsIn(folder)[0]?.lines.slice(2)).toEqual([{ text: 'a' }, { text: long }, { ended: 'left' }]);
});

test('a request that was not sent leaves no file', async () => {
  const { recorder, folder } = await recorderFor();
  const fetch = recorder.record(() => Promise.reject(failure('ECONNREFUSED')));
  await expect(fetch(messagesRequest(), calm)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await recorder.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('refuses a folder that cannot be made, before anything is sent', async () => {
  await expect(recorderFor({ folder: '/dev/null/recordings' })).rejects.toMatchObject({
    class: 'usage',
    message: expect.stringContaining("'/dev/null/recordings'"),
  });
});
