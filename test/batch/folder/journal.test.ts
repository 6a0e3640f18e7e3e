import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readJournal } from '../../../src/batch/folder/journal.ts';
import type { SlotRecord } from '../../../src/batch/folder/records.ts';
import { addUsage, unanswered } from '../../../src/batch/folder/spending.ts';
import { bootMark } from '../../../src/library/files/process-mark.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const [a, b] = ['a', 'b'].map((digit) => digit.repeat(32)) as [string, string];
const run: SlotRecord = { t: 'run', schema: 'gateway-cli/batch@2', tool: 't', boot: bootMark(), at: 1000 };
const done = { t: 'done', off: 0, len: 10, at: 3000 } as const;

function folderOf(...lines: (object | string)[]): string {
  const folder = scratchFolder();
  const texts = lines.map((line) => (typeof line === 'string' ? line : `${JSON.stringify(line)}\n`));
  writeFileSync(join(folder, 'journal.jsonl'), texts.join(''));
  return folder;
}

describe('a journal', () => {
  test('that is not there knows nothing', async () => {
    const state = await readJournal(scratchFolder());
    expect([state.run, state.beganAt, state.slots.size, state.usage]).toEqual([undefined, undefined, 0, {}]);
  });

  test('adds up the time, the tokens and the costs of all runs, whatever became of their rows', async () => {
    const cost = { amount: '0.5', currency: 'USD' };
    const state = await readJournal(
      folderOf(
        run,
        { t: 'sent', slot: a, at: 2000 },
        { ...done, slot: a, usage: { totalTokens: 5 }, cost },
        { ...run, at: 10_000 },
        { t: 'redo', slots: [a] },
        { t: 'sent', slot: a, at: 11_000 },
        { ...done, slot: a, off: 10, at: 12_000, usage: { totalTokens: 7 }, cost },
      ),
    );
    expect(state).toMatchObject({ beganAt: 1000, lastAt: 12_000, durationMs: 4000, usage: { totalTokens: 12 } });
    expect(state.spending.costs).toEqual([{ amount: '1', currency: 'USD' }]);
    expect(state.slots.answersOf(0)).toBe(2);
  });

  test('counts what was sent and has no end with the most that it can cost, until its end is known', async () => {
    const bounds = [{ amount: '2', isMost: true }, null];
    const sent = [run, { t: 'ready', slots: [a, b], bounds }, { t: 'sent', slot: a }, { t: 'sent', slot: b }];
    const open = await readJournal(folderOf(...sent));
    expect(open.spending).toMatchObject({ unknown: 2, held: '2' });
    expect([...open.failures.values()]).toEqual([unanswered, unanswered]);
    const late = { ...done, slot: a, cost: { amount: '1', currency: 'USD' } };
    const known = await readJournal(folderOf(...sent, run, late));
    expect(known.spending).toMatchObject({ unknown: 1, held: '0', costs: [{ amount: '1' }] });
    expect([...known.failures.keys()]).toEqual([known.slots.findNamed(b)]);
  });

  test('counts nothing for a request that was not billed', async () => {
    const error = { class: 'rejected', message: 'no', billed: 'no' };
    const state = await readJournal(folderOf(run, { t: 'sent', slot: a }, { ...done, t: 'failed', slot: a, error }));
    expect(state.spending).toMatchObject({ unknown: 0, costs: [] });
    expect([...state.failures.values()]).toEqual([error]);
  });

  test('may be torn at its end, or have zeros where the power failed', async () => {
    const state = await readJournal(
      folderOf(run, `\0\0\0${JSON.stringify({ ...done, slot: a })}\n`, '\0\0\n', '{"t":"sent","sl'),
    );
    expect([state.torn, state.slots.stateOf(0)]).toEqual([true, 'done']);
  });

  test('may have zeros inside a line, or the rest of a record after them: nothing was done on its word', async () => {
    const lines = ['{"t":"sent","slot":"48\0\0\0":5}\n', '\0\0","id":"7","at":2}\n', { ...done, slot: a }];
    const state = await readJournal(folderOf(run, ...lines));
    expect([state.torn, state.slots.size, state.slots.stateOf(0)]).toEqual([false, 1, 'done']);
  });

  test.each([
    ['a diary', 'my diary\n', ':1: no record that this version knows'],
    ['a record before any run', { t: 'sent', slot: a }, ':1: no record that this version knows'],
    ['a later schema', { ...run, schema: 'gateway-cli/batch@9' }, ':1: no record that this version knows'],
  ])('that begins with %s is refused', async (_, line, message) => {
    await expect(readJournal(folderOf(line))).rejects.toMatchObject({
      class: 'batch-locked',
      message: expect.stringContaining(message) as string,
    });
  });

  test.each([
    ['an unknown record', { t: 'later' }],
    ['a slot that is none', { t: 'sent', slot: 'x' }],
    ['a step of a provider batch that was not planned', { t: 'batch', mark: 'm', step: 'creating' }],
    ['half a line', '{"t":"sent"\n'],
  ])('with %s is refused: to pass over a line could pay twice', async (_, line) => {
    await expect(readJournal(folderOf(run, line))).rejects.toMatchObject({
      message: expect.stringContaining(':2: no record that this version knows') as string,
      details: { hint: expect.stringContaining('every row is paid for again') as string },
    });
  });
});

test('a sum of usages takes what is no number for nothing', () => {
  expect(addUsage({}, { inputTokens: Number.NaN, outputTokens: 2 })).toEqual({ outputTokens: 2 });
});
