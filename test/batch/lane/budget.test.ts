import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { ownMark } from '../../../src/library/files/process-mark.ts';
import { deadPid, markOf } from '../../helpers/processes.ts';
import { run } from '../../helpers/run.ts';
import { manyJobs } from '../with-batch.ts';
import { type Ending } from './batch-server.ts';
import { hurriedClock, type Lane, test } from './with-lane.ts';

/** Jobs that can cost more than 0.0005 and less than 0.0006 each, and cost 0.0000115. */
const jobs = (count: number) => manyJobs(count).map((job) => ({ ...job, maxTokens: 100 }));

interface Line extends Record<string, unknown> {
  type: string;
}

/** A budget in the folder of a lane. */
function budgetOf({ folder, env }: Lane) {
  const path = join(folder.cwd, 'far/team.jsonl');
  const lines = () =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  const costs = async () => {
    const { stdout } = await run(['costs', '--budget', './far/team.jsonl', '--json'], { cwd: folder.cwd, env });
    return (JSON.parse(stdout) as { budgets: Record<string, string>[] }).budgets[0];
  };
  const report = async () => {
    const argv = ['costs', 'report', '--budget', './far/team.jsonl', '--by', 'lane', '--json'];
    return (JSON.parse((await run(argv, { cwd: folder.cwd, env })).stdout) as { rows: object[] }).rows;
  };
  /** The process that reserved has ended. */
  const endProcess = async () =>
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replaceAll(JSON.stringify(ownMark()), JSON.stringify(markOf(await deadPid()))),
    );
  return {
    path,
    lines,
    costs,
    report,
    endProcess,
    flag: (amount: string) => ['--budget', `./far/team.jsonl:${amount}`],
  };
}

test('a batch keeps its reservation until its results are collected, also by another run', async ({ open }) => {
  const lane = await open('messages');
  const { batch, folder, server, env } = lane;
  const { lines, costs, report, endProcess, flag } = budgetOf(lane);
  server.pollsToEnd = 3;
  folder.jobs(...jobs(3));
  expect((await batch([...flag('0.002'), '--no-wait'])).code).toBe(0);
  await endProcess();
  expect(lines()[2]).toMatchObject({ type: 'reserved', held: 3, lane: 'batch' });
  expect(await costs()).toMatchObject({ spent: '0', inFlight: lines()[2]?.['amount'] });
  // Nobody waits for a batch: it can take a day.
  const live = await run(
    ['text', 'hi', '--max-tokens', '100', ...flag('0.002'), '--prices', '{"m":{"input":"1","output":"10"}}'],
    { cwd: folder.cwd, env },
  );
  expect([live.code, live.stderr]).toEqual([13, expect.stringContaining('could pass the budget ./far/team.jsonl')]);
  // The batch settles what it reserved even where the budget is not named again.
  expect((await batch()).code).toBe(0);
  expect(lines().at(-1)).toMatchObject({ type: 'spent', amount: '0.0000345', requests: 3 });
  expect(await costs()).toMatchObject({ spent: '0.0000345', inFlight: '0' });
  expect(await report()).toMatchObject([{ lane: 'batch', requests: 3, unknown: 0, amount: '0.0000345' }]);
});

test('refused and unprocessed jobs cost nothing; jobs without a result count with their highest possible cost', async ({
  open,
}) => {
  const lane = await open('completions');
  const { batch, folder, server } = lane;
  const { lines, flag } = budgetOf(lane);
  const endings: Record<string, Ending> = { p1: { error: 'bad field' }, p2: 'expired', p3: 'missing' };
  server.endingOf = (prompt) => endings[prompt] ?? { text: 'fine' };
  folder.jobs(...jobs(5));
  expect((await batch(flag('1'))).code).toBe(13);
  const [reserved, spent] = lines().slice(2);
  expect(spent).toMatchObject({ type: 'spent', requests: 3, unknown: 1, dearest: '0.0000115' });
  const amount = Number(spent?.['amount']);
  expect(amount).toBeGreaterThan(0.0005);
  expect(amount).toBeLessThan(Number(reserved?.['amount']) / 4);
});

test('jobs that could pass the budget are not submitted, and go with a greater one', async ({ open }) => {
  const lane = await open('messages');
  const { batch, folder, server } = lane;
  const { costs, flag } = budgetOf(lane);
  folder.jobs(...jobs(4));
  const ran = await batch(flag('0.0012'));
  expect([ran.code, ran.stderr]).toEqual([
    13,
    expect.stringContaining('stopped: the next request could pass the budget'),
  ]);
  expect(ran.stderr).toContain('2 done, 2 not sent');
  expect(server.batches.map(({ entries }) => entries.length)).toEqual([2]);
  expect((await batch(flag('1'))).code).toBe(0);
  expect(await costs()).toMatchObject({ spent: '0.000046', inFlight: '0' });
});

test('a batch that another run has left no room for is not created', async ({ open }) => {
  const lane = await open('messages');
  const { batch, folder, server } = lane;
  const { path, flag } = budgetOf(lane);
  folder.jobs(...jobs(1));
  const day = new Date().toISOString();
  const entry = { command: 'text', service: 'gateway', model: 'm', lane: 'live', currency: 'USD' };
  const sum = {
    type: 'sum',
    day: day.slice(0, 10),
    requests: 1,
    unknown: 0,
    told: '0',
    savedRequests: 0,
    saved: '0',
    amount: '1',
  };
  mkdirSync(dirname(path));
  writeFileSync(
    path,
    `{"type":"budget","schema":"gateway-cli/budget@2","id":"b"}\n${JSON.stringify({ ...sum, ...entry })}\n`,
  );
  expect((await batch(flag('1.0001'))).stderr).toContain('1 of 1.0001 USD are spent');
  expect(server.batches).toEqual([]);
});

test.for<[string, (lane: Lane, flag: string[]) => Promise<void>]>([
  [
    'its creation was refused',
    async ({ batch, server }, flag) => {
      server.fault = (kind) => (kind === 'create' ? 'refuse' : undefined);
      expect((await batch(flag)).code).toBe(4);
    },
  ],
  [
    'its run ended before the creation',
    async ({ batch, folder, server }, flag) => {
      expect((await batch([...flag, '--no-wait'])).code).toBe(0);
      const journal = folder.lines('journal.jsonl');
      const kept = journal.slice(
        0,
        journal.findIndex(({ step }) => step === 'creating'),
      );
      folder.writeLines('out/journal.jsonl', kept);
      server.batches.length = 0;
      expect((await batch()).code).toBe(0);
    },
  ],
])('a batch that was not created gives back what it reserved: %s', async ([, prevent], { open }) => {
  const lane = await open('messages');
  const { lines, flag } = budgetOf(lane);
  lane.folder.jobs(...jobs(2));
  await prevent(lane, flag('1'));
  expect(lines().map(({ type }) => type)).toEqual(['budget', 'limit', 'reserved', 'freed']);
});

test('a batch that the service does not list keeps what it reserved, and counts as spent once it is given up', async ({
  open,
}) => {
  const lane = await open('messages');
  const { batch, folder, server } = lane;
  const { lines, flag } = budgetOf(lane);
  folder.jobs(...jobs(2));
  expect((await batch([...flag('1'), '--no-wait'])).code).toBe(0);
  const journal = folder.lines('journal.jsonl');
  folder.writeLines(
    'out/journal.jsonl',
    journal.slice(
      0,
      journal.findIndex(({ step }) => step === 'created'),
    ),
  );
  server.batches.length = 0;
  expect((await batch([], { clock: hurriedClock() })).code).toBe(8);
  expect(lines().at(-1)?.type).toBe('reserved');
  expect((await batch(['--retry', 'unknown'])).code).toBe(0);
  expect(lines().at(-1)).toMatchObject({ type: 'spent', amount: lines().at(-2)?.['amount'], unknown: 2 });
});

test('a run that was killed while it collected has its results counted once', async ({ open }) => {
  const lane = await open('messages');
  const { batch, folder } = lane;
  const { path, lines, flag } = budgetOf(lane);
  folder.jobs(...jobs(3));
  expect((await batch(flag('1'))).code).toBe(0);
  // The journal has the end of one job, results.jsonl those of two.
  const journal = folder.lines('journal.jsonl');
  const kept = journal.slice(0, journal.findIndex(({ t }) => t === 'done') + 1);
  folder.writeLines('out/journal.jsonl', kept);
  const results = readFileSync(join(folder.cwd, 'out/results.jsonl'), 'utf8').split('\n').slice(0, 2);
  folder.write('out/results.jsonl', `${results.join('\n')}\n`);
  const reserved = readFileSync(path, 'utf8').split('\n').slice(0, 3);
  writeFileSync(path, `${reserved.join('\n')}\n`);
  expect((await batch(flag('1'))).code).toBe(0);
  expect(lines().slice(3)).toMatchObject([{ type: 'spent', amount: '0.0000345', requests: 3 }]);
});

test('a batch whose budget is not there any more is collected, with a warning', async ({ open }) => {
  const lane = await open('messages');
  const { path, flag } = budgetOf(lane);
  lane.folder.jobs(...jobs(1));
  expect((await lane.batch([...flag('1'), '--no-wait'])).code).toBe(0);
  rmSync(path);
  const ran = await lane.batch();
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('team.jsonl is not on this machine')]);
});

test('a batch that was not created gives back what it reserved where the folder goes on in the live lane', async ({
  open,
}) => {
  const lane = await open('messages');
  const { batch, folder, server, env } = lane;
  const { lines, flag } = budgetOf(lane);
  folder.jobs(...jobs(1));
  expect((await batch([...flag('1'), '--no-wait'])).code).toBe(0);
  const journal = folder.lines('journal.jsonl');
  const creating = journal.findIndex(({ step }) => step === 'creating');
  folder.writeLines('out/journal.jsonl', journal.slice(0, creating));
  server.batches.length = 0;
  await run(['batch', 'jobs.jsonl', '-o', 'out'], { cwd: folder.cwd, env });
  expect(lines().map(({ type }) => type)).toEqual(['budget', 'limit', 'reserved', 'freed']);
});
