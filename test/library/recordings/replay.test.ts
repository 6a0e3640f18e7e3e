import fs, { appendFileSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openCache } from '../../../src/library/recordings/cache.ts';
import { openReplay } from '../../../src/library/recordings/replay.ts';
import { recordedFiles } from '../../helpers/recorded-files.ts';
import type { HttpReply } from '../../../src/library/transport/types.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { answers, type BodyStep, calm, messagesRequest, readBody, recorderFor } from './fetch-under-test.ts';

/** A folder with one recording for each body; by default of equal requests. */
async function recorded(bodies: readonly (readonly BodyStep[])[], requests: readonly object[] = []): Promise<string> {
  const { recorder, folder } = await recorderFor();
  const fetch = recorder.record(answers(...bodies));
  for (const index of bodies.keys()) await readBody(await fetch(messagesRequest(requests[index]), calm));
  return folder;
}

/** Replays a folder. */
async function play(folder: string) {
  const fetch = await openReplay(folder);
  return { ask: (body?: object) => fetch(messagesRequest(body), calm) };
}

const text = async (reply: Promise<Parameters<typeof readBody>[0]>): Promise<string> =>
  (await readBody(await reply)).chunks.join('|');

describe('the same reply', () => {
  const steps = ['a', 'é\u2028\n', Buffer.from([0xc3]), Buffer.from([0xa9]), '{"x":"y"}'];

  test('comes chunk by chunk, with status and headers', async () => {
    const { ask } = await play(await recorded([steps]));
    const reply = await ask();
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain' } });
    const chunks = steps.map((step) => Buffer.from(step).toString('latin1'));
    expect(await readBody(reply)).toEqual({ chunks, error: undefined });
  });

  test.each([
    ['UND_ERR_SOCKET', 'the reply was cut: the connection was closed'],
    ['ECONNRESET', 'the reply was cut: the connection was reset (ECONNRESET)'],
  ])('ends as it was recorded: %s', async (code, message) => {
    const { ask } = await play(await recorded([['a', Object.assign(new Error('gone'), { code })]]));
    const { chunks, error } = await readBody(await ask());
    expect(chunks).toEqual(['a']);
    expect(error).toMatchObject({ class: 'incomplete', message, cause: { code } });
  });
});

test('answers equal requests in the recorded order, then always with the last one', async () => {
  const folder = await recorded(Array.from({ length: 12 }, (_, index) => [String(index)]));
  const { ask } = await play(folder);
  const got: string[] = [];
  for (let i = 0; i < 14; i++) got.push(await text(ask()));
  expect(got).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '11', '11']);
});

test('passes over a recording that is torn where another one of the same request is whole', async () => {
  const folder = await recorded([['a'], ['b'], ['c']]);
  const names = recordedFiles(folder);
  for (const name of [names[0], names[2]] as string[]) {
    const path = join(folder, name);
    writeFileSync(path, readFileSync(path).subarray(0, -30));
  }
  const { ask } = await play(folder);
  expect([await text(ask()), await text(ask())]).toEqual(['b', 'b']);
  expect(await Promise.all([text(ask()), text(ask())])).toEqual(['b', 'b']);
});

test('gives each of many concurrent requests its own recording', async () => {
  const { ask } = await play(await recorded([['a'], ['b'], ['c']]));
  expect((await Promise.all([text(ask()), text(ask()), text(ask())])).toSorted()).toEqual(['a', 'b', 'c']);
});

describe('a request with no recording', () => {
  const known = [
    { model: 'm', messages: [{ role: 'user', content: 'one' }] },
    { model: 'm', messages: [{ role: 'user', content: `${'long '.repeat(50)}tail` }], stream: true },
  ];

  test.each<[string, object, string[]]>([
    [
      'one word',
      { model: 'm', messages: [{ role: 'user', content: 'two' }] },
      ['body.messages.0.content: recorded "one", asked "two"'],
    ],
    ['what is missing', { model: 'm' }, ['body.messages: recorded [{"content":"one","role":"user"}], asked nothing']],
    [
      'the place where long texts part',
      { model: 'm', messages: [{ role: 'user', content: `${'long '.repeat(50)}end` }], stream: true },
      ['body.messages.0.content: recorded …', 'long tail", asked …', 'long end"'],
    ],
  ])('names the nearest and %s', async (_name, body, expected) => {
    const folder = await recorded([['a'], ['b']], known);
    const { ask } = await play(folder);
    const error: unknown = await ask(body).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ class: 'usage', details: { sent: 'no' } });
    const { message } = error as Error;
    expect(message).toContain(`no recording in ${folder} fits POST /v1/messages; the nearest is messages-m-`);
    for (const part of expected) expect(message).toContain(part);
  });

  test('names at most five differences', async () => {
    const { ask } = await play(await recorded([['a']], [{ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 }]));
    await expect(ask({})).rejects.toThrow(/body\.a: .*body\.e: .*; and 2 more$/);
  });
});

test('a recording with the name of another request does not answer, and is told as what it is', async () => {
  const folder = await recorded([['a']]);
  const [name = ''] = readdirSync(folder);
  renameSync(join(folder, name), join(folder, `login-${'0'.repeat(32)}`));
  const { ask } = await play(folder);
  await expect(ask()).rejects.toThrow(
    `the nearest is login-${'0'.repeat(32)}: it asks the same, but its name is that of another request`,
  );
});

test('says what to do if nothing is recorded', async () => {
  const facts = { class: 'usage', details: { reason: 'no-recordings' } };
  await expect(openReplay('/no/such/folder')).rejects.toMatchObject(facts);
  const { folder } = await recorderFor();
  await expect(openReplay(folder)).rejects.toMatchObject(facts);
});

test('ends when the signal aborts', async () => {
  const folder = await recorded([['a', 'b']]);
  const stop = new AbortController();
  const fetch = await openReplay(folder);
  const { body } = await fetch(messagesRequest(), stop);
  const chunks: string[] = [];
  const reading = (async () => {
    for await (const chunk of body) {
      chunks.push(Buffer.from(chunk).toString());
      stop.abort(new Error('enough'));
    }
  })();
  await expect(reading).rejects.toThrow('enough');
  expect(chunks).toEqual(['a']);
});

describe('a damaged recording is a bad reply', () => {
  test.each<[string, (text: string) => string, string]>([
    ['without an end', (all) => all.slice(0, all.lastIndexOf('{"ended"')), 'it has no end'],
    ['with a line that is none', (all) => all.replace('"text":"a"', '"text":'), 'line 3 is not one of a recording'],
    ['without a head', (all) => `${all.split('\n')[0]}\n{"delay":0,"text":"a"}\n`, 'line 2 is not one of a recording'],
  ])('%s', async (_name, change, reason) => {
    const folder = await recorded([['a']]);
    const path = join(folder, recordedFiles(folder)[0] ?? '');
    writeFileSync(path, change(readFileSync(path, 'utf8')));
    const { ask } = await play(folder);
    const thrown: unknown = await ask().then(
      async (reply) => (await readBody(reply)).error,
      (error: unknown) => error,
    );
    expect(thrown).toMatchObject({ class: 'bad-reply', message: `cannot replay ${path}: ${reason}` });
  });

  test('except an empty line at its end', async () => {
    const folder = await recorded([['a']]);
    appendFileSync(join(folder, recordedFiles(folder)[0] ?? ''), '\n');
    const { ask } = await play(folder);
    expect(await text(ask())).toBe('a');
  });
});

test('a recording that was added after the start answers too', async () => {
  const folder = await recorded([['a']]);
  const { ask } = await play(folder);
  await expect(ask({ n: 2 })).rejects.toThrow('no recording');
  const { recorder } = await recorderFor({ folder });
  const fetch = recorder.record(answers(['later']));
  await readBody(await fetch(messagesRequest({ n: 2 }), calm));
  expect(await text(ask({ n: 2 }))).toBe('later');
});

test('a caller that leaves before it reads its reply does not keep equal requests waiting', async () => {
  const folder = join(scratchFolder(), 'cache');
  const onFailure = (error: unknown): never => {
    throw error;
  };
  const mask = { hide: (text: string) => text, reach: 0 };
  const isComplete = async (_path: string, reply: HttpReply) => (await readBody(reply)).error === undefined;
  const cache = await openCache({ folder, mask, onFailure, now: () => 5, isComplete });
  const fetch = cache.record(answers(['first'], ['second']));
  const left = new AbortController();
  await fetch(messagesRequest(), { signal: left.signal });
  const waiting = fetch(messagesRequest(), calm);
  left.abort();
  expect(await text(waiting)).toBe('second');
});

describe('a large folder', () => {
  const many = (count: number): Promise<string> =>
    recorded(
      Array.from({ length: count }, (_, at) => [String(at)]),
      Array.from({ length: count }, (_, at) => ({ model: 'm', prompt: `recorded ${at}` })),
    );

  test('is not read for a request that is in it: its own folder is', async () => {
    const folder = await many(30);
    const { ask } = await play(folder);
    const opens = vi.spyOn(fs, 'openSync');
    syncBuiltinESMExports();
    onTestFinished(() => {
      opens.mockRestore();
      syncBuiltinESMExports();
    });
    expect(await text(ask({ model: 'm', prompt: 'recorded 7' }))).toBe('7');
    expect(opens.mock.calls.map(([path]) => String(path)).filter((path) => path.startsWith(folder))).toHaveLength(1);
  });

  test('is compared with in part: the error says of how many', async () => {
    const { ask } = await play(await many(201));
    await expect(ask({ model: 'm', prompt: 'other' })).rejects.toThrow(
      /; the nearest of 200 that were compared is messages-m-[0-9a-f]{32}: body\.prompt: recorded "recorded /,
    );
  });

  test('is compared in pieces: a search ends with its signal', async () => {
    const fetch = await openReplay(await many(200));
    const stop = new AbortController();
    setImmediate(() => stop.abort(new Error('the time is over')));
    const other = messagesRequest({ model: 'm', prompt: 'other' });
    const waiting = fetch(other, { ...calm, signal: stop.signal });
    await expect(waiting).rejects.toThrow('the time is over');
    await expect(fetch(other, calm)).rejects.toThrow('no recording in');
  });
});
