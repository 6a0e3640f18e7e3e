import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { resultLine } from '../../src/batch/large-result.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { textReply } from '../helpers/with-server.ts';
import { manyJobs, test } from './with-batch.ts';

const mebibyte = 1024 * 1024;

describe('the line of a result', () => {
  const record = {
    id: 'a',
    request: '00000000000000aa',
    ok: true,
    images: [{ path: 'images/a.png' }],
    warnings: ['w'],
  };

  test('is its JSON where a reader takes it', async () => {
    const folder = scratchFolder();
    expect(await resultLine(folder, { ...record, text: 'short' })).toBe(JSON.stringify({ ...record, text: 'short' }));
    expect(existsSync(join(folder, 'large'))).toBe(false);
  });

  test.for([
    ['plain', 'x'.repeat(3 * mebibyte)],
    ['escaped', '\u0001\n"'.repeat(mebibyte)],
    ['cut within pairs', `x${'\u{1f431}'.repeat(2 * mebibyte)}`],
    ['with half a pair', `\ud83d${'y'.repeat(2 * mebibyte)}`],
  ])('leaves long values to a file of its own, which holds all of it: %s', async ([, text]) => {
    const folder = scratchFolder();
    const whole = {
      ...record,
      text,
      candidates: [{ index: 0, text }],
      toolCalls: [undefined, { input: { deep: [] } }],
    };
    const line = await resultLine(folder, whole as typeof record, { mostBytes: mebibyte });
    const document = JSON.parse(line) as Record<string, unknown>;
    expect(document).toMatchObject({ ...record, warnings: ['w', expect.stringContaining('too long for a line')] });
    expect([document['text'], document['candidates']]).toEqual([undefined, undefined]);
    const kept = readFileSync(join(folder, document['wholeResult'] as string), 'utf8');
    expect(JSON.parse(kept)).toEqual(JSON.parse(JSON.stringify(whole)));
  });
});

test('a text that makes a line too long is read again by every command of batch', async ({ server, folder, batch }) => {
  const text = 'a line of text\n'.repeat(2.4 * mebibyte);
  server.answer = (prompt) => (prompt === 'p1' ? { body: textReply(text) } : undefined);
  folder.jobs(...manyJobs(1));
  const shard = ['--shard', '1/1'];
  expect((await batch(['jobs.jsonl', '-o', 'out', ...shard])).code).toBe(0);
  const [result] = folder.lines('results.jsonl');
  expect(result).toMatchObject({ id: 'p1', ok: true, exitCode: 0 });
  const whole = readFileSync(join(folder.cwd, 'out', result?.['wholeResult'] as string), 'utf8');
  expect((JSON.parse(whole) as { text: string }).text === text).toBe(true);
  for (const argv of [
    ['status', 'out'],
    ['gallery', 'out'],
    ['merge', 'out', '-o', 'all'],
    ['jobs.jsonl', '-o', 'out', ...shard],
  ]) {
    const { code, stderr } = await batch(argv);
    expect({ argv, code, warned: stderr.includes('warning') }).toEqual({ argv, code: 0, warned: false });
  }
  expect(folder.lines('results.jsonl', 'all')[0]?.['wholeResult']).toBe(result?.['wholeResult']);
  expect(readFileSync(join(folder.cwd, 'all', result?.['wholeResult'] as string), 'utf8') === whole).toBe(true);
  expect(server.bodies).toHaveLength(1);
});
