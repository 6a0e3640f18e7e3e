import { expect, test } from 'vitest';
import { offBy, unshare } from '../../helpers/processes.ts';
import { type Child, childProgram } from '../start-child.ts';
import { createFolder } from '../with-batch.ts';
import { type ApiName, apiNames, type BatchServer, startBatchServer } from './batch-server.ts';

const rowCount = 2000;
/** Of many models: each has a batch of its own. */
const rows = Array.from({ length: rowCount }, (_, at) => ({ id: `r${at}`, prompt: `row ${at}`, model: `m${at % 16}` }));
/** One row costs (3 * 1 + 2 * 10) / 1,000,000 / 2: what the server counts, at half the price. */
const costOfAll = [{ amount: '0.023', currency: 'USD' }];

const staleMs = 1500;
const lateHost = offBy('+3d');
const earlyHost = offBy('-3d');

/** A run that kills itself when it comes to a step for the nth time; its clock may be off. */
type StepKill = readonly [step: string, nth: number, before?: readonly string[]];
/** A run on another host that is killed while the server works on a request. */
type RequestKill = readonly [step: 'request', kind: string, before?: undefined];

const creation: StepKill[] = [
  ['part-planned', 1],
  ['part-uploaded', 1, lateHost],
  ['part-creating', 1],
  ['part-sent', 1, earlyHost],
  ['part-answered', 1],
  ['part-created', 1, lateHost],
];

/** Moments before, during and after creation, upload, polling and download, in the order in which one batch meets them. */
const moments: (StepKill | RequestKill)[] = [
  ...creation,
  ['request', 'create'],
  ['request', 'upload'],
  ...creation,
  ['request', 'create'],
  ...creation,
  ['part-polled', 1],
  ['part-polled', 2, earlyHost],
  ['request', 'poll'],
  ['part-downloaded', 1],
  ['result-written', 1],
  ['request', 'results'],
  ['result-written', 60, lateHost],
  ['result-synced', 3],
  ['ended-written', 5],
  ['ended-synced', 12, earlyHost],
  ['result-written', 201],
  ['result-synced', 40, lateHost],
  ['ended-written', 90],
  ['part-ended', 1],
  ['request', 'poll'],
  ['part-downloaded', 1, earlyHost],
  ['ended-synced', 33],
  ['part-ended', 1, lateHost],
  ['result-synced', 1],
  ['request', 'results'],
  ['ended-written', 150, lateHost],
  ['part-ended', 1],
  ['part-polled', 1],
  ['result-written', 77, earlyHost],
  ['ended-synced', 250],
];

/** One of the APIs takes its rows in the request that creates the batch. */
function momentsOf(api: ApiName): (StepKill | RequestKill)[] {
  if (api !== 'messages') return moments;
  return moments.filter(([first, second]) => first !== 'part-uploaded' && second !== 'upload');
}

type Run = (step: string, nth: number, before: readonly string[], flags?: readonly string[]) => Child;

/**
 * Runs again as long as the lock of one that was killed on another host is not stale; the last one's end. Of a run that was killed
 * right before a creation nobody can tell whether the batch exists: the user says that its jobs are sent again.
 */
async function untilFree(run: (flags: readonly string[]) => Child): Promise<NodeJS.Signals | number | null> {
  let flags: readonly string[] = [];
  for (;;) {
    const child = run(flags);
    const end = await child.ended;
    if (end === 8 && flags.length === 0) {
      expect(child.stderr()).toContain('the service does not list it');
      flags = ['unknown'];
      continue;
    }
    if (end !== 14) return end;
    expect(child.stderr()).toContain('works in this folder');
  }
}

async function killAt(moment: StepKill | RequestKill, run: Run, server: BatchServer): Promise<void> {
  const [step, nth, before = []] = moment;
  if (typeof nth === 'number') {
    expect([moment, await untilFree((flags) => run(step, nth, before, flags))]).toEqual([moment, 'SIGKILL']);
    return;
  }
  // The first process of a namespace cannot kill itself.
  let wasKilled = false;
  await untilFree((flags) => {
    const child = run('none', 1, [...unshare, ...earlyHost], flags);
    server.fault = (kind) => {
      if (kind !== nth || wasKilled) return undefined;
      wasKilled = true;
      child.kill();
      return 'drop';
    };
    return child;
  });
  server.fault = () => undefined;
  expect([moment, wasKilled]).toEqual([moment, true]);
}

test.for(apiNames)(
  '%s: 2,000 rows, killed at forty moments on hosts whose clocks differ: none is submitted twice, lost or mixed up',
  { timeout: 600_000 },
  async (api) => {
    const start = await childProgram();
    const server = await startBatchServer(api);
    const folder = createFolder();
    folder.write('none.json', '{"prices":{"*":{"input":"1","output":"10","batch":"0.5"}}}');
    folder.jobs(...rows);
    const run: Run = (step, nth, before, flags = []) => {
      const argv = [step, `${nth}`, 'lane', `${staleMs}`, ...flags];
      return start(folder, server, { argv, before, env: { GATEWAY_FORMAT: api } });
    };
    try {
      const due = momentsOf(api);
      for (const moment of due) await killAt(moment, run, server);
      expect(due.length).toBeGreaterThanOrEqual(40);
      expect(await untilFree((flags) => run('none', 1, lateHost, flags))).toBe(0);
      expect([...server.counts.values()].filter((count) => count !== 1)).toEqual([]);
      expect(server.counts.size).toBe(rowCount);
      const results = folder.lines('results.jsonl').map(({ id, text }) => `${String(id)}: ${String(text)}`);
      expect(results.toSorted()).toEqual(rows.map(({ id, prompt }) => `${id}: answer to ${prompt}`).toSorted());
      expect(folder.lines('summary.json')[0]).toMatchObject({ done: rowCount, unknown: 0, cost: costOfAll });
    } finally {
      await server.close();
    }
  },
);
