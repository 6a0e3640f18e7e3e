import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { maxFailures } from '../../../src/batch/folder/state.ts';
import { readJournal } from '../../../src/batch/folder/journal.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

describe('the journal', () => {
  const run = {
    type: 'run',
    schema: 'gateway-cli/journal@1',
    tool: 't',
    origin: 'o',
    jobs: 3,
    total: 3,
    list: 'x',
    at: 5,
  };
  const record = (type: string, id: string, more: object = {}) => ({
    type,
    id,
    request: '00000000000000aa',
    at: 9,
    ...more,
  });
  const write = (records: readonly object[], tail = '') => {
    const path = scratchFolder();
    writeFileSync(join(path, 'journal.jsonl'), records.map((one) => `${JSON.stringify(one)}\n`).join('') + tail);
    return path;
  };
  const stateOf = async (path: string, id: string) => {
    const { index } = await readJournal(path);
    const row = index.find(id);
    return row < 0 ? undefined : index.stateOf(row);
  };

  test('the last record of an id counts', async () => {
    const path = write([
      run,
      record('sent', 'a'),
      record('done', 'a'),
      record('sent', 'b'),
      record('sent', 'c'),
      record('unsent', 'c'),
    ]);
    expect([
      await stateOf(path, 'a'),
      await stateOf(path, 'b'),
      await stateOf(path, 'c'),
      await stateOf(path, 'd'),
    ]).toEqual(['done', 'sent', 'new', undefined]);
  });

  test.each(['failed', 'unknown', 'done', 'sent'])(
    'a job that was to be sent again, and was not, is %s as before',
    async (type) => {
      const before = record(type, 'a', type === 'failed' ? { error: { class: 'quota', message: 'm' } } : {});
      const again = { request: '00000000000000bb' };
      const path = write([
        run,
        before,
        run,
        record('ready', 'a', again),
        record('sent', 'a', again),
        record('unsent', 'a', again),
      ]);
      const { index, failures } = await readJournal(path);
      const row = index.find('a');
      expect([index.stateOf(row), index.requestOf(row)]).toEqual([type, '00000000000000aa']);
      expect(failures.get('a')?.class).toBe({ failed: 'quota', unknown: 'unknown', sent: 'no-reply' }[type]);
    },
  );

  test('a torn last line is ignored', async () => {
    const path = write([run, record('sent', 'a')], JSON.stringify(record('done', 'a')).slice(0, -3));
    expect(await stateOf(path, 'a')).toBe('sent');
    // Whole but for its line feed: it may have been torn all the same.
    appendFileSync(join(path, 'journal.jsonl'), '9}');
    expect(await stateOf(path, 'a')).toBe('sent');
  });

  test('adds up usage and keeps the failures that still hold', async () => {
    const error = { class: 'quota', message: 'm' };
    const path = write([
      run,
      record('failed', 'a', { error, usage: { totalTokens: 2 } }),
      record('failed', 'b', { error }),
      record('done', 'b', { usage: { totalTokens: 3 } }),
    ]);
    const state = await readJournal(path);
    expect(state.usage).toEqual({ totalTokens: 5 });
    expect([...state.failures]).toEqual([['a', error]]);
    expect(state).toMatchObject({ run: { jobs: 3 }, lastAt: 9 });
  });

  test('a job that a run left without an end is reported as such, whatever it was before, until it has one', async () => {
    const error = { class: 'quota', message: 'm' };
    const killed = [run, record('failed', 'a', { error }), run, record('sent', 'a'), record('sent', 'b')];
    const classes = async (records: readonly object[]) =>
      [...(await readJournal(write(records))).failures].map(([id, { class: name, billed }]) => [id, name, billed]);
    expect(await classes(killed)).toEqual([
      ['a', 'no-reply', 'unknown'],
      ['b', 'no-reply', 'unknown'],
    ]);
    expect(await classes([...killed, run, record('sent', 'a'), record('done', 'a')])).toEqual([
      ['b', 'no-reply', 'unknown'],
    ]);
  });

  test('the journal keeps no more failures than the maximum', async () => {
    const many = Array.from({ length: maxFailures + 1 }, (_, i) => record('sent', `${i}`));
    expect((await readJournal(write([run, ...many]))).failures.size).toBe(maxFailures);
  });

  test('adds up the time of all runs without the time between them', async () => {
    const at = (when: number, state: string) => record(state, 'a', { at: when });
    const runAt = (when: number) => ({ ...run, at: when });
    const path = write([runAt(100), at(130, 'sent'), at(150, 'failed'), runAt(9000), at(9007, 'done'), runAt(20_000)]);
    expect(await readJournal(path)).toMatchObject({ durationMs: 57, lastAt: 20_000 });
  });

  test.each([
    ['a line that is not JSON', 'hello\n'],
    ['a record of another version', `${JSON.stringify({ ...run, schema: 'gateway-cli/journal@2' })}\n`],
    ['a record of no known type', `${JSON.stringify(record('maybe', 'a'))}\n`],
    ['a record without id', '{"type":"done"}\n'],
  ])('%s is code 14', async (_, text) => {
    await expect(readJournal(write([run], text))).rejects.toMatchObject({ class: 'batch-locked' });
  });

  test('no folder, no journal: everything is new', async () => {
    const state = await readJournal(join(scratchFolder(), 'missing'));
    expect(state.run).toBeUndefined();
    expect(state.index.size).toBe(0);
  });
});
