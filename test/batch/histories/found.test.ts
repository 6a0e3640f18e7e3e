import { expect, test } from 'vitest';
import type { Behaviour } from './gateway.ts';
import type { History, HistoryStep } from './history.ts';
import { playHistory } from './oracle.ts';

/** Histories that random ones were shrunk to: each broke a promise once. */

type Steps = readonly (Partial<Omit<HistoryStep, 'policy'>> & { policy?: Partial<HistoryStep['policy']> })[];

const plain: HistoryStep['policy'] = {
  acceptChanges: false,
  retry: [],
  redo: undefined,
  onlyNamed: false,
  limit: undefined,
  lane: 'live',
  noWait: false,
  concurrency: 1,
};

function play(table: Partial<Omit<History, 'steps'>>, steps: Steps): Promise<void> {
  const undisturbed = { edits: [], choice: undefined, isAgain: false, kill: undefined, losesPower: false, tear: 0 };
  return playHistory({
    isNumbered: false,
    shards: 1,
    rows: 2,
    kinds: 4,
    links: 0,
    ...table,
    steps: steps.map((step) => ({
      ...undisturbed,
      replies: [] as Behaviour[],
      random: 0,
      ...step,
      policy: { ...plain, ...step.policy },
    })),
  });
}

test('an answer that was replaced counts again, and its row is made once more: each payment has its word', async () => {
  const retry = { retry: ['incomplete' as const] };
  const played = play({ rows: 1 }, [
    { replies: ['cut'] },
    { policy: retry, replies: ['cut'] },
    { policy: retry, replies: ['broken'] },
    { choice: { place: 0, answer: 1 }, policy: { redo: [0] } },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('a row that stays with what it made of an earlier answer keeps that from no row that asks for it now', async () => {
  const played = play({ rows: 6, links: 4 }, [
    { policy: { limit: 1 } },
    { policy: { limit: 1 } },
    { edits: [{ op: 'used', at: 0, to: 1 }], kill: 1 },
    { policy: { redo: [0] } },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('a line that a kill left, and that the power took before a run could sync it, was no promise', async () => {
  const played = play({ rows: 3 }, [
    { kill: 10, random: -339_555_073 },
    { kill: 1, losesPower: true },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('--redo is over when a row that it named got the free answer of an equal one: the same words mean it once more', async () => {
  const played = play({ rows: 2 }, [
    {},
    { edits: [{ op: 'double', at: 0, to: 2 }], policy: { redo: [1, 2], limit: 1 } },
    { edits: [{ op: 'used', at: 0, to: 1 }], policy: { redo: [1, 2] } },
    { policy: { redo: [1, 2] } },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('--redo is over when an answer is chosen, whether all that it named was made or not', async () => {
  const choice = { place: 0, answer: 1 };
  const played = play({ rows: 2, links: 2 }, [
    {},
    { policy: { redo: [0, 1] }, replies: ['ok', 'broken'] },
    { choice, policy: { redo: [0, 1] } },
    { choice, policy: { redo: [0, 1] } },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('of shards of which one has an older table, no answer is in two rows of the report', async () => {
  const steps: Steps = [{}, { edits: [{ op: 'add', at: 8, to: 2 }], kill: 1 }, {}];
  await expect(play({ shards: 2, rows: 5 }, steps)).resolves.toBeUndefined();
});

test('of jobs whose batch the service does not list, no more go again than the limit of the run leaves', async () => {
  const policy = { retry: ['unknown'], redo: [0], limit: 1, lane: 'batch' } satisfies Steps[number]['policy'];
  await expect(play({ rows: 2 }, [{ policy }, { policy, kill: 9 }, { policy }])).resolves.toBeUndefined();
});

test.each([
  ['with an id', false],
  ['whose id is its number', true],
])('an edit of a row %s is asked for before it is paid', async (_, isNumbered) => {
  const played = play({ rows: 2, isNumbered }, [{}, { edits: [{ op: 'used', at: 0, to: 1 }] }, {}]);
  await expect(played).resolves.toBeUndefined();
});

test('a row that may have been billed, and that a killed redo was to make again, is asked for no more once it is edited', async () => {
  const played = play({ rows: 1 }, [
    { replies: ['silent'] },
    { policy: { redo: [0] }, kill: 2 },
    { edits: [{ op: 'used', at: 0, to: 1 }] },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('--redo of the numbers of other rows than those that the last one left makes them at once', async () => {
  const played = play({ rows: 2, isNumbered: true }, [
    {},
    { policy: { redo: [0] }, replies: ['refused'] },
    { edits: [{ op: 'reverse', at: 0, to: 0 }], policy: { redo: [0] } },
    {},
    { policy: { redo: [0] } },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('a journal of which the power left only a hole is begun anew', async () => {
  const played = play({ rows: 1 }, [{ kill: 2, losesPower: true, random: -306 }, {}]);
  await expect(played).resolves.toBeUndefined();
});

test('a row that failed has the answer of an equal one that left meanwhile, at the end of the same run', async () => {
  const lane = 'batch';
  const played = play({ rows: 2, kinds: 1 }, [
    { policy: { lane, noWait: true }, replies: ['ok', 'broken'] },
    { edits: [{ op: 'remove', at: 0, to: 0 }], policy: { lane } },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('an end that a kill left out is in the journal only once its result is synced: the power takes neither alone', async () => {
  const played = play({ rows: 1 }, [{ kill: 13 }, { kill: 2, losesPower: true, random: 1 }]);
  await expect(played).resolves.toBeUndefined();
});

test('a folder whose first record two power cuts took goes on', async () => {
  const policy = { acceptChanges: true };
  const played = play({ rows: 1, kinds: 1 }, [
    { policy, kill: 2, losesPower: true, random: -642_689 },
    { policy, kill: 2, tear: 3 },
    { policy },
    { policy },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('a folder whose first record a power cut took goes on, and again', async () => {
  const policy = { acceptChanges: true };
  const played = play({ rows: 1, kinds: 1 }, [
    { policy: { ...policy, redo: [0] }, kill: 2, losesPower: true, random: -296_062_421 },
    { policy },
    { policy },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('an edited row that the service still has is not what batch retry unknown names', async () => {
  const played = play({ rows: 1, kinds: 1 }, [
    { policy: { acceptChanges: true, lane: 'batch', noWait: true } },
    { edits: [{ op: 'template', at: 0, to: 1 }], policy: { retry: ['unknown'], onlyNamed: true } },
  ]);
  await expect(played).resolves.toBeUndefined();
});

test('a failed row that batch retry names is sent with the new answer that it uses', async () => {
  const policy = { retry: ['failed' as const], redo: [0], onlyNamed: true };
  await expect(play({ kinds: 1, links: 2 }, [{ replies: ['ok', 'refused'] }, { policy }])).resolves.toBeUndefined();
});

test.each([
  ['failed to get', 'refused', 'failed'],
  ['may have been billed for', 'silent', 'unknown'],
] as const)(
  'an edited row that asks what another one %s is asked for, also where --retry names that',
  async (_, reply, word) => {
    const edits = [
      { op: 'used' as const, at: 0, to: 2 },
      { op: 'used' as const, at: 1, to: 0 },
    ];
    for (const onlyNamed of [false, true]) {
      const played = play({ kinds: 2 }, [{ replies: [reply] }, { edits, policy: { retry: [word], onlyNamed } }]);
      await expect(played).resolves.toBeUndefined();
    }
  },
);

test.each<['incomplete' | 'unknown', string, Steps]>([
  ['incomplete', 'was cut', [{ replies: ['cut'] }]],
  ['unknown', 'was to be made again', [{}, { policy: { redo: [0] }, replies: ['silent'] }]],
])('batch retry %s does not pay for an edited row whose answer %s', async (word, _, before) => {
  const edit: Steps = [{ edits: [{ op: 'used', at: 0, to: 1 }], policy: { retry: [word], onlyNamed: true } }];
  await expect(play({ rows: 1, kinds: 1 }, [...before, ...edit])).resolves.toBeUndefined();
});

test('a row keeps its answer where the service brings a newer one of the row that it uses, after a try without an end', async () => {
  const played = play({ rows: 2, links: 2 }, [
    {},
    { policy: { redo: [0] }, replies: ['silent'] },
    { policy: { retry: ['unknown'], lane: 'batch', noWait: true } },
    { policy: { lane: 'batch' } },
    {},
  ]);
  await expect(played).resolves.toBeUndefined();
});
