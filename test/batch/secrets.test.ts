import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { canaryKey, imageReply, textReply } from '../helpers/with-server.ts';
import { test } from './with-batch.ts';

const named = (...ids: readonly string[]) => ids.map((id) => ({ id, prompt: id }));
const once = (...ids: readonly string[]) => Object.fromEntries(ids.map((id) => [id, 1]));

describe('secrets that are ordinary words leave the books of a batch as they are', () => {
  test('a header value that is in ids: three runs send each job once', async ({ server, folder, batch }) => {
    folder.jobs(...named('cat', 'dog', 'docs', 'docs-2'));
    folder.write('headers', 'X-Team: docs\nX-Api-Key: cat\n');
    for (let run = 0; run < 3; run++)
      expect((await batch(['--header', `@${join(folder.cwd, 'headers')}`])).code).toBe(0);
    expect(Object.fromEntries(server.counts)).toEqual(once('cat', 'dog', 'docs', 'docs-2'));
    expect(
      folder
        .lines('results.jsonl')
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(['cat', 'docs', 'docs-2', 'dog']);
  });

  test('a short key that is in ids: three runs send each job once', async ({ server, folder, batch }) => {
    folder.jobs(...named('unit-test', 'test', 'other'));
    for (let run = 0; run < 3; run++) expect((await batch([], { env: { GATEWAY_API_KEY: 'test' } })).code).toBe(0);
    expect(Object.fromEntries(server.counts)).toEqual(once('unit-test', 'test', 'other'));
    const ids = folder.lines('journal.jsonl').flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect([...new Set(ids)].toSorted()).toEqual(['other', 'test', 'unit-test']);
  });

  test.for(['true', 'text', 'id', '5', 'null'])(
    'a header value %s: a resumed batch with one more job keeps its results',
    async (value, { server, folder, batch }) => {
      folder.write('headers', `X-Internal: ${value}\nX-Auth: ${value}\n`);
      const argv = ['--header', `@${join(folder.cwd, 'headers')}`];
      folder.jobs(...named('a', 'b'));
      expect((await batch(argv)).code).toBe(0);
      folder.jobs(...named('a', 'b', 'c'));
      const ran = await batch([...argv, '--json']);
      expect(ran.code).toBe(0);
      expect(JSON.parse(ran.stdout)).toMatchObject({ ok: true, jobs: 3, done: 3 });
      expect(Object.fromEntries(server.counts)).toEqual(once('a', 'b', 'c'));
      const byId = (a: { id?: unknown }, b: { id?: unknown }) => String(a.id).localeCompare(String(b.id));
      expect(folder.lines('results.jsonl').toSorted(byId)).toMatchObject([
        { id: 'a', ok: true, text: 'answer to a', usage: { totalTokens: 5 } },
        { id: 'b', ok: true },
        { id: 'c', ok: true },
      ]);
    },
  );
});

test('the key is in no file of a batch, wherever the gateway repeats it', async ({ server, folder, batch }) => {
  server.answer = (prompt) =>
    prompt === 'told'
      ? { headers: { 'request-id': canaryKey }, status: 400, body: { error: { message: `no ${canaryKey}` } } }
      : { body: textReply(`it is ${canaryKey}`, { responseId: canaryKey }) };
  folder.jobs(...named('told', 'said'));
  const ran = await batch(['--json', '-v']);
  expect(ran.code).toBe(13);
  const results = folder.lines('results.jsonl');
  expect(results.find(({ id }) => id === 'said')).toMatchObject({ text: 'it is (redacted)', responseId: '(redacted)' });
  const books = ['results.jsonl', 'journal.jsonl', 'summary.json'].map((name) => folder.lines(name));
  for (const text of [ran.stdout, ran.stderr, JSON.stringify(books)]) expect(text).not.toContain(canaryKey);
});

test('the key is in no result where a row or a prompt has it', async ({ folder, batch }) => {
  folder.write('rows.jsonl', JSON.stringify({ a: canaryKey, more: { b: [`x ${canaryKey}`] } }));
  const flags = ['run', '--data', 'rows.jsonl', '--defaults', '{"prompt":"say {{a}}"}', '-o', 'out'];
  expect((await batch(flags)).code).toBe(0);
  expect(folder.lines('results.jsonl')).toMatchObject([
    { vars: { a: '(redacted)', more: { b: ['x (redacted)'] } }, prompt: 'say (redacted)' },
  ]);
});

test('a key that is also the id of a job leaves the names of its pictures as they are', async ({
  folder,
  server,
  batch,
}) => {
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  server.answer = () => ({ body: imageReply({ mimeType: 'image/png', data: dot }) });
  folder.jobs({ id: 'abc-1234', command: 'image gen', prompt: 'a' });
  expect((await batch([], { env: { GATEWAY_API_KEY: 'abc-1234' } })).code).toBe(0);
  expect(folder.ls('out/images')).toEqual(['abc-1234.png']);
  expect(folder.lines('results.jsonl')).toMatchObject([{ id: 'abc-1234', images: [{ path: 'images/abc-1234.png' }] }]);
});
