import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { textReply } from '../helpers/with-server.ts';
import { offBy, unshare } from '../helpers/processes.ts';
import type { CountingServer } from './counting-server.ts';
import { type Child, childProgram } from './start-child.ts';
import { type BatchFolder, test } from './with-batch.ts';
import { isFull } from '../helpers/full.ts';

const roundsEach = 5;
const episodes = 3;
const jobCount = 240;
const concurrency = 4;
const stale = ['none', '1', '1500'];

/** What happens to the runs of a round, the command in front of each of them, and the codes with which they may end. */
const kinds = {
  kills: { before: [[], [...unshare]], codes: ['SIGKILL', 0, 13, 14], padding: 0 },
  namespaces: { before: [[], [...unshare], [...unshare]], codes: [0, 13, 14], padding: 0 },
  clocks: {
    before: isFull ? [[...unshare, ...offBy('-5m')], [...unshare, ...offBy('+5m')], [...unshare]] : [],
    codes: [0, 13, 14],
    padding: 0,
  },
  'stopped holders': { before: [[], [...unshare]], codes: [0, 13, 14], padding: 0 },
  'full disks': { before: [[]], codes: [0, 2, 12, 13, 14], padding: 0 },
  // So long that a run keeps only the first of them in memory.
  'changed job files': { before: [[], [...unshare]], codes: [0, 2, 13, 14], padding: 32 * 1024 },
} as const;
type Kind = keyof typeof kinds;

/** What came out of all rounds. */
const totals = { rounds: 0, runs: 0, paid: 0, troubles: 0, unknown: 0, recovered: 0 };
let start: Awaited<ReturnType<typeof childProgram>>;

beforeAll(async () => {
  if (isFull) start = await childProgram();
});

afterAll(() => {
  if (isFull) process.stdout.write(`campaign: ${JSON.stringify(totals)}\n`);
});

interface Round {
  kind: Kind;
  server: CountingServer;
  folder: BatchFolder;
  /** From 0 to below 1, the same for the same seed. */
  random: () => number;
  lines: readonly string[];
  kills: number;
  /** Size of the disk. */
  kib: number;
}

/** Mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

function below(round: Round, limit: number): number {
  return Math.floor(round.random() * limit);
}

function run({ server, folder }: Round, before: readonly string[]): Child {
  totals.runs++;
  return start(folder, server, { before, argv: stale });
}

function runSomewhere(round: Round): Child {
  const places: readonly (readonly string[])[] = kinds[round.kind].before;
  return run(round, places[below(round, places.length)] ?? []);
}

/** Runs again as long as another run has the folder. */
async function runUntilFree(round: Round, before: readonly string[]): Promise<void> {
  for (;;) {
    const child = run(round, before);
    const code = await child.ended;
    if (code !== 14) return expectEnd(round, code, child);
    // No run found a changed file, as nothing changes it here.
    expect(child.stderr()).toMatch(/works in this folder|began in this folder|took this folder over/);
  }
}

function expectEnd({ kind }: Round, code: unknown, child: Child): void {
  expect([kinds[kind].codes.includes(code as never), code, child.stderr()]).toEqual([true, code, child.stderr()]);
}

/** Some runs at once; trouble comes when some more requests came, and in the end all of them have ended. */
async function episode(round: Round): Promise<void> {
  const { server, kind } = round;
  const runs = Array.from({ length: kind === 'stopped holders' ? 1 : 1 + below(round, 3) }, () => runSomewhere(round));
  const ended = Promise.all(runs.map((child) => child.ended));
  await Promise.race([server.received(server.bodies.length + 1 + below(round, 40)), ended]);
  totals.troubles++;
  if (kind === 'kills') for (const child of runs) kill(round, child);
  if (kind === 'stopped holders') await stop(round, runs[0] as Child);
  if (kind === 'changed job files') change(round);
  const codes = await ended;
  // How unshare ends whose first process is killed is its own matter.
  if (kind !== 'kills') codes.forEach((code, i) => expectEnd(round, code, runs[i] as Child));
  if (kind === 'changed job files') round.folder.write('jobs.jsonl', round.lines.join(''));
  if (kind === 'full disks') resize(round.folder, (round.kib += 40 + below(round, 60)));
}

/** Sends the signal to a run that may have ended. */
function signal(child: Child, name: NodeJS.Signals): boolean {
  try {
    child.kill(name);
    return true;
  } catch {
    return false;
  }
}

function kill(round: Round, child: Child): void {
  if (round.random() < 0.8 && signal(child, 'SIGKILL')) round.kills++;
}

/** Another run, which cannot see it, takes the folder over and goes to the end; then it goes on. */
async function stop(round: Round, child: Child): Promise<void> {
  if (!signal(child, 'SIGSTOP')) return;
  await runUntilFree(round, unshare);
  signal(child, 'SIGCONT');
}

/** In its place, while it is read. */
function change(round: Round): void {
  const path = join(round.folder.cwd, 'jobs.jsonl');
  const { lines } = round;
  const ways = [
    () => appendFileSync(path, lines.slice(-40).join('')),
    () => writeFileSync(path, lines.toReversed().join('')),
    () => writeFileSync(path, lines.slice(0, below(round, jobCount)).join('')),
    () => writeFileSync(path, lines.join('').slice(0, -20)),
  ];
  ways[below(round, ways.length)]?.();
}

function resize({ cwd }: BatchFolder, kib: number): void {
  execFileSync('mount', ['-o', `remount,size=${kib}k`, join(cwd, 'out')]);
}

/** What the gateway says of each job, and what the folder says. */
function check({ server, folder, kind, kills }: Round): void {
  const times = new Map<string, number>();
  for (const [prompt, count] of server.counts) times.set(prompt.split(' ')[0] as string, count);
  expect([...times].filter(([, count]) => count !== 1)).toEqual([]);
  const results = folder.lines('results.jsonl');
  const ids = new Set(results.map(({ id }) => id as string));
  expect(ids.size).toBe(results.length);
  for (const { id, text } of results) expect(text).toBe(`answer to ${id as string}`);
  for (const { t } of folder.lines('journal.jsonl')) expect(t).toBeTypeOf('string');
  const unknown = [...times.keys()].filter((id) => !ids.has(id));
  const recovered = recoveredIds(folder);
  expect(folder.lines('summary.json')).toMatchObject([
    { done: ids.size, unknown: jobCount - ids.size, pending: 0, failed: 0 },
  ]);
  // Only a process that lives to read a reply knows that it was paid for.
  if (kind === 'kills') expect(unknown.length).toBeLessThanOrEqual(concurrency * kills);
  else expect(unknown.filter((id) => !recovered.has(id))).toEqual([]);
  totals.rounds++;
  totals.paid += times.size;
  totals.unknown += unknown.length;
  totals.recovered += unknown.filter((id) => recovered.has(id)).length;
}

function recoveredIds({ cwd }: BatchFolder): Set<string> {
  const path = join(cwd, 'state/gateway-cli/recovered');
  const names = existsSync(path) ? readdirSync(path) : [];
  return new Set(names.map((name) => /answer to (p\d+)/.exec(readFileSync(join(path, name), 'utf8'))?.[1] ?? ''));
}

describe.for(Object.keys(kinds) as Kind[])('a campaign of %s (needs root, unshare, faketime, tmpfs)', (kind) => {
  test.skipIf(!isFull).for(Array.from({ length: roundsEach }, (_, i) => i + 1))(
    'round %d: no job is paid twice, and no result is lost, doubled or torn',
    { timeout: 120_000 },
    async (seed, { server, folder }) => {
      const random = randomFrom(seed);
      const padding = ' padding'.repeat(kinds[kind].padding / 8);
      const lines = Array.from(
        { length: jobCount },
        (_, i) => `${JSON.stringify({ id: `p${i}`, prompt: `p${i}${padding}` })}\n`,
      );
      const round: Round = { kind, server, folder, random, lines, kills: 0, kib: 60 };
      folder.write('jobs.jsonl', lines.join(''));
      server.answer = (prompt) => ({
        after: wait(below(round, 12)),
        body: textReply(`answer to ${prompt.split(' ')[0]}`),
      });
      if (kind === 'full disks') {
        mkdirSync(join(folder.cwd, 'out'));
        execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${round.kib}k`, 'tmpfs', join(folder.cwd, 'out')]);
      }
      try {
        for (let i = 0; i < episodes; i++) await episode(round);
        if (kind === 'full disks') resize(folder, 16 * 1024);
        await runUntilFree(round, []);
        check(round);
      } finally {
        if (kind === 'full disks') execFileSync('umount', ['-l', join(folder.cwd, 'out')]);
      }
    },
  );
});
