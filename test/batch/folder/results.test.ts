import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readJournal } from '../../../src/batch/folder/journal.ts';
import { noLock } from '../../../src/batch/folder/lock.ts';
import { openRecorder } from '../../../src/batch/folder/recorder.ts';
import { findLostEnds, openResults } from '../../../src/batch/folder/results.ts';
import { bootMark } from '../../../src/library/files/process-mark.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(32)) as [string, string, string];
const asLines = (...all: readonly object[]): string => all.map((one) => `${JSON.stringify(one)}\n`).join('');
const resultOf = (slot: string): object => ({ slot, t: 'done', ok: true, text: `of ${slot[0]}` });

test('an answer behind a hole that the power left in the results is one like any other, and the hole is looked at once', async () => {
  const folder = scratchFolder();
  const journal = join(folder, 'journal.jsonl');
  const run = { t: 'run', schema: 'gateway-cli/batch@2', tool: 't', boot: bootMark(), at: 1 };
  writeFileSync(journal, asLines(run, ...[a, b, c].map((slot) => ({ t: 'sent', slot }))));
  const [ofA, ofB, ofC] = [a, b, c].map((slot) => asLines(resultOf(slot)));
  const results = `\0\0\0${ofA}\0\0\n${ofA?.slice(0, 50)}\0\0${ofB}\0${ofC}\0\0${ofA?.slice(50)}`;
  writeFileSync(join(folder, 'results.jsonl'), results);
  const state = await readJournal(folder);
  const { lostEnds, unreadable, torn } = await findLostEnds(folder, state);
  expect([unreadable, torn]).toEqual([0, false]);
  const reader = await openResults(folder, state.slots);
  const texts = [a, b, c].map(async (slot) => (await reader.read(state.slots.findNamed(slot)))?.['text']);
  expect(await Promise.all(texts)).toEqual(['of a', 'of b', 'of c']);
  await reader.close();
  // Any of these records can be the last one that the power leaves.
  for (const end of lostEnds) {
    const between = await readJournal(folder);
    await findLostEnds(folder, between);
    expect([a, b, c].map((slot) => between.slots.stateOf(between.slots.findNamed(slot)))).toEqual(
      Array(3).fill('done'),
    );
    appendFileSync(journal, asLines(end));
  }
  const next = await readJournal(folder);
  expect(next.covered).toEqual({ end: results.length, beyond: new Map() });
  expect(await findLostEnds(folder, next)).toEqual({ lostEnds: [], unreadable: 0, torn: false });
});

test('an end that a kill left out of the journal keeps how many other requests may have been billed', async () => {
  const folder = scratchFolder();
  const run = { t: 'run', schema: 'gateway-cli/batch@2', tool: 't', boot: bootMark(), at: 1 };
  const ready = { t: 'ready', slots: [a], bounds: [{ amount: '2', isMost: true }] };
  writeFileSync(join(folder, 'journal.jsonl'), asLines(run, ready, { t: 'sent', slot: a }));
  const cost = { amount: '1', currency: 'USD' };
  const entry = { job: { id: 'a' }, slot: 0, bound: { amount: '2', isMost: true } };
  const outcome = { state: 'done' as const, document: { ok: true, cost }, cost, doubtful: 3 };
  const before = await readJournal(folder);
  const recorder = await openRecorder({
    folder,
    run: { ...run, t: 'run', schema: 'gateway-cli/batch@2' },
    lock: noLock,
    state: before,
    lostEnds: [],
    planned: [],
    now: () => 2,
  });
  const journal = readFileSync(join(folder, 'journal.jsonl'));
  await recorder.ended(entry, outcome);
  await recorder.close();
  writeFileSync(join(folder, 'journal.jsonl'), journal);
  const state = await readJournal(folder);
  const { lostEnds } = await findLostEnds(folder, state);
  expect(lostEnds).toMatchObject([{ t: 'done', doubtful: 3 }]);
  expect(state.spending.held).toBe(before.spending.held);
});
