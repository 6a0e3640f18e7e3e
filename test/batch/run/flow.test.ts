import { describe, expect, test } from 'vitest';
import { describeTimes } from '../../../src/batch/index.ts';
import { parseRate } from '../../../src/cli/commands/batch/flags.ts';
import { createPacer, openThrottle } from '../../../src/batch/run/pace.ts';
import { paceRetries } from '../../../src/batch/run/live.ts';
import type { SharedGate } from '../../../src/library/transport/gate.ts';
import { progressText } from '../../../src/cli/commands/batch/progress.ts';
import { describeNext, describeStates, listStates } from '../../../src/cli/commands/batch/states.ts';
import { summaryDocument } from '../../../src/cli/commands/batch/summary.ts';
import { countRows } from '../../../src/batch/counts.ts';
import { hostOf } from './with-runner.ts';
import { addUsage, totalTokens } from '../../../src/batch/folder/spending.ts';
import { newBatchState } from '../../../src/batch/folder/state.ts';
import { addRow, newRowTable } from '../../../src/batch/run/table.ts';

/** A clock that only sleeping moves. */
function clock() {
  let time = 1000;
  const slept: number[] = [];
  return {
    slept,
    move: (ms: number) => void (time += ms),
    elapsed: () => time,
    async sleep(ms: number, signal: AbortSignal) {
      signal.throwIfAborted();
      slept.push(ms);
      time += ms;
    },
  };
}

const { signal } = new AbortController();

describe('--rate', () => {
  test.each([
    ['5/s', 200],
    ['60/m', 1000],
    ['60/min', 1000],
    ['3600/h', 1000],
    ['0.5/s', 2000],
  ])('%s leaves %d ms between requests', (word, expected) => {
    expect(parseRate(word)).toBe(expected);
  });

  test.each(['', '5', '0/s', '-1/s', '5/d', '5 / s', 'many/s', '1e9/s'])('refuses %j', (word) => {
    expect(() => parseRate(word)).toThrow('--rate takes <n>/<s|m|h>');
  });

  test('spaces requests evenly', async () => {
    const at = clock();
    const pace = createPacer(200, at);
    for (let i = 0; i < 4; i++) await pace(signal);
    expect(at.slept).toEqual([200, 200, 200]);
  });

  test('does not make up for idle time by a burst', async () => {
    const at = clock();
    const pace = createPacer(200, at);
    await pace(signal);
    at.move(10_000);
    await pace(signal);
    await pace(signal);
    expect(at.slept).toEqual([200]);
  });

  test('a retry waits for its turn, then for the pause that another job received meanwhile, and each attempt looks at the lock last', async () => {
    const log: string[] = [];
    const inner: Pick<SharedGate, 'enter' | 'close' | 'allowRetry'> = {
      enter: async () => void log.push('gate'),
      close: () => undefined,
      allowRetry: () => true,
    };
    const lock = { check: () => void log.push('lock') };
    const gate = paceRetries(inner, async () => void log.push('turn'), lock);
    await gate.enter(signal);
    await gate.enter(signal);
    expect(log).toEqual(['gate', 'lock', 'turn', 'gate', 'lock']);
  });

  test('without a rate no job waits', async () => {
    expect((await openThrottle({}, 1, hostOf(signal))).pace).toBeUndefined();
  });
});

describe('the live line', () => {
  const facts = { toSend: 100, ended: 0, failed: 0, tokens: 0, elapsedMs: 0, pausedMs: 0 };
  test.each([
    ['at the start', {}, '0/100'],
    ['under way', { ended: 20, elapsedMs: 10_000, tokens: 1234 }, '20/100, 2.0/s, 1.2k tokens, 40 s left'],
    ['fast', { ended: 50, elapsedMs: 1000 }, '50/100, 50/s, 1 s left'],
    ['slow', { ended: 1, elapsedMs: 30_000 }, '1/100, 2.0/min, 49 min 30 s left'],
    ['very slow', { ended: 1, elapsedMs: 600_000 }, '1/100, 0.1/min, 16 h 30 min left'],
    ['with failures', { ended: 10, failed: 2, elapsedMs: 10_000 }, '10/100, 2 failed, 1.0/s, 1 min 30 s left'],
    ['paused', { ended: 10, elapsedMs: 10_000, pausedMs: 4200 }, '10/100, 1.0/s, paused for 5 s'],
    [
      'after a slow start',
      { ended: 60, elapsedMs: 130_000, before: { ended: 30, elapsedMs: 100_000 } },
      '60/100, 1.0/s, 40 s left',
    ],
    ['stalled', { ended: 60, elapsedMs: 130_000, before: { ended: 60, elapsedMs: 100_000 } }, '60/100, 0.0/min'],
    [
      'after another run',
      { ended: 20, elapsedMs: 10_000, tokens: 1234, cost: '$0.10', hasEarlier: true },
      '20/100, 2.0/s, 40 s left; in all runs: 1.2k tokens, $0.10',
    ],
    ['at the end', { ended: 100, elapsedMs: 10_000, tokens: 2_500_000 }, '100/100, 10/s, 2.5M tokens'],
  ])('%s', (_, more, expected) => {
    expect(progressText({ ...facts, ...more })).toBe(expected);
  });
});

test.each([
  ['under way', 23, 'submitted 1 h 0 min ago, expires in 23 h 0 min'],
  ['past its day', -2, 'submitted 26 h 0 min ago, expired 2 h 0 min ago'],
])('a batch of the service says when it expires, or that it has: %s', (_, left, expected) => {
  const hour = 3_600_000;
  expect(describeTimes([{ at: 0, lastsMs: 24 * hour }], (24 - left) * hour)).toBe(expected);
});

describe('the summary', () => {
  const none = { jobs: 0, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  const counts = { ...none, jobs: 5, done: 2, failed: 1, unknown: 1, pending: 1 };

  test('counts rows by the state of their slots', () => {
    const { slots } = newBatchState();
    const table = newRowTable();
    const rows = ['done', 'incomplete', 'failed', 'sent', 'pending', 'pending'] as const;
    for (const [at, state] of rows.entries()) {
      const place = addRow(table, { id: String(at) }, slots.add(String(at).repeat(32)));
      const slot = table.slots[place] as number;
      slots.setState(slot, state);
      slots.setFlag(slot, 'cut', state === 'incomplete');
      if (state === 'done' || state === 'incomplete') slots.addAnswer(slot);
    }
    // It is to be made again: until then its answer counts.
    slots.setState(0, 'pending');
    slots.setFlag(0, 'again');
    const found = { done: 2, incomplete: 1, failed: 1, unknown: 1, pending: 2, again: 1 };
    expect(countRows(table, { slots, links: new Map(), atService: new Map() })).toEqual({
      ...none,
      jobs: 6,
      ...found,
    });
    expect(countRows(table, { slots, links: new Map(), atService: new Map([[3, 'mark']]) })).toMatchObject({
      unknown: 0,
      submitted: 1,
    });
    expect(countRows(table, { slots, links: new Map(), atService: new Map() }, (place) => place === 2)).toEqual({
      ...none,
      jobs: 1,
      failed: 1,
    });
  });

  test('is the document of the contract', () => {
    const failures = new Map([['x', { class: 'quota', message: 'too many' }]]);
    const facts = {
      counts,
      states: listStates(counts),
      skipped: 1,
      spending: { costs: [{ amount: '0.1', currency: 'USD' }], unknown: 2, held: '0', dearest: '0.1' },
      usage: { totalTokens: 9 },
      durationMs: 12.6,
      outdir: 'out',
      failures,
      exitCode: 13,
    };
    expect(summaryDocument(facts)).toEqual({
      schema: 'gateway-cli/batch@1',
      ok: false,
      exitCode: 13,
      ...counts,
      states: listStates(counts),
      skipped: 1,
      cost: [{ amount: '0.1', currency: 'USD' }],
      costUnknown: 2,
      usage: { totalTokens: 9 },
      durationMs: 13,
      outdir: 'out',
      failures: [{ id: 'x', error: { class: 'quota', message: 'too many' } }],
    });
    expect(summaryDocument({ ...facts, exitCode: 130 })).toMatchObject({ ok: false, exitCode: 130 });
  });

  test('the table of states says how many rows are in each, what sends them, and what may be billed twice', () => {
    const all = { ...counts, incomplete: 1, pending: 3, waiting: 2, submitted: 4, again: 1 };
    const told = {
      folder: { outdir: 'my out' },
      billing: { kept: 1, failed: true, again: false },
      leftToRedo: ['7'],
    };
    const states = listStates(all, told);
    expect(describeStates(states)).toBe(
      '2 done (1 incomplete, 1 to make again), 1 failed, 1 unknown (1 paid and kept), 4 at the service, 3 not sent yet (2 wait for results of other jobs)',
    );
    expect(describeNext(states)).toEqual([
      "1 incomplete: gateway-cli batch retry 'my out' incomplete  # billed again; give these jobs more maxTokens before",
      "1 to make again: gateway-cli batch redo 'my out' 7",
      "1 failed: gateway-cli batch retry 'my out'  # may be billed twice",
      "1 unknown: gateway-cli batch retry 'my out' unknown  # may be billed twice",
      "4 at the service: gateway-cli batch again 'my out' --lane batch",
      "3 not sent yet: gateway-cli batch again 'my out'",
    ]);
    expect(
      describeNext(
        listStates({ ...none, jobs: 1, pending: 1 }, { folder: { outdir: 'out' }, spent: '--max-cost <more>' }),
      ),
    ).toEqual(['1 not sent yet: gateway-cli batch again out --max-cost <more>']);
    // Jobs that came one by one.
    expect(listStates({ ...none, jobs: 3, failed: 1, pending: 2, waiting: 2 })).toEqual([
      { state: 'done', rows: 0 },
      { state: 'failed', rows: 1, next: 'the same command with --retry failed' },
      { state: 'not sent yet', rows: 2 },
      { state: 'waiting', of: 'not sent yet', rows: 2 },
    ]);
    expect(describeStates(listStates(counts))).toBe(
      '2 done, 1 failed, 1 unknown (may have been billed), 1 not sent yet',
    );
    expect(describeNext(listStates({ ...none, jobs: 2, done: 2 }))).toEqual([]);
  });

  test('usage adds up what is known', () => {
    expect(addUsage({ inputTokens: 1 }, { inputTokens: 2, outputTokens: 5 })).toEqual({
      inputTokens: 3,
      outputTokens: 5,
    });
    expect(addUsage({ inputTokens: 1 }, undefined)).toEqual({ inputTokens: 1 });
    const withTotal = { inputTokens: 2, totalTokens: 3 };
    expect(addUsage({ ...withTotal }, { inputTokens: 4, outputTokens: 5 }).totalTokens).toBe(12);
    expect(addUsage({ inputTokens: 4, outputTokens: 5 }, withTotal).totalTokens).toBe(12);
    expect(addUsage({}, withTotal).totalTokens).toBe(3);
    expect(totalTokens({ inputTokens: 1, outputTokens: 2 })).toBe(3);
    expect(totalTokens({ inputTokens: 1, outputTokens: 2, totalTokens: 9 })).toBe(9);
  });
});
