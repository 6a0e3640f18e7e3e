import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { summarizeLedger } from '../../src/library/cost/ledger-sums.ts';
import { type BatchServer, startBatchServer } from '../batch/lane/batch-server.ts';
import { startCountingServer } from '../batch/counting-server.ts';
import { eventStream, imageReply, messageEvents, textReply } from '../helpers/with-server.ts';
import type { Place, Ran } from './campaign.ts';

/** A server that counts what it was paid for, by prompt. */
export interface Payee {
  url: string;
  counts: Map<string, number>;
  close(): Promise<void>;
}

/** A command whose calls fail one after the other, and what must hold after each. */
export interface Task {
  argv: readonly string[];
  env?: Record<string, string>;
  /** Runs after the first do not wait for a batch that may have been created. */
  isHurried?: true;
  /** stdout is a file: its writes are calls of the file system. */
  toFile?: true;
  serve(): Promise<Payee>;
  prepare?(place: Place): void;
  /** Files that it may leave. */
  leaves: RegExp;
  /** What must be so whatever failed. `isCut`: the connection broke, so that a paid reply can be lost on its way. */
  check(after: { place: Place; ran: Ran; payee: Payee; isCut: boolean }): Promise<void>;
}

const head = Buffer.from('89504e470d0a1a0a0000000d4948445200000010000000100806000000', 'hex');
export const png = Buffer.concat([head, Buffer.alloc(3000, 7)]);
const paid = ({ counts }: Payee): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
const lines = (path: string): Record<string, unknown>[] => {
  const text = readFileSync(path, 'utf8');
  expect(text === '' || text.endsWith('\n')).toBe(true);
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, unknown>]));
};

async function serve(
  reply?: (prompt: string, path: string) => { body: object | string; headers?: Record<string, string> },
) {
  const server = await startCountingServer();
  if (reply) server.answer = (prompt, _, path) => reply(prompt, path);
  return server;
}

const jobs = [
  { id: 'a', prompt: 'one' },
  { id: 'b', prompt: 'two' },
  { id: 'c', command: 'image gen', prompt: 'draw' },
];
const answerJob = (prompt: string) => ({
  body:
    prompt === 'draw'
      ? imageReply({ mimeType: 'image/png', data: png.toString('base64') })
      : textReply(`answer to ${prompt}`),
});

const recovered = String.raw`|state/gateway-cli/recovered/gateway-cli-[^/]*\.json`;
const folders = String.raw`|(?:config|state|cache)(?:/gateway-cli(?:/(?:memory\.json|(?:recovered|sessions)(?:/[\w-]+\.json)?))?)?`;
const only = (files: string): RegExp => new RegExp(`^(?:${files}${recovered}${folders})$`);

const prices = '{"m":{"input":"1","output":"10"}}';

export const tasks: Record<string, Task> = {
  text: {
    argv: ['text', 'hi'],
    toFile: true,
    serve: () => serve(),
    leaves: only('stdout'),
    async check({ place, ran, payee, isCut }) {
      expect(paid(payee)).toBeLessThanOrEqual(1);
      if (ran.code === 0) return expect(ran.stdout).toBe('answer to hi\n');
      if (paid(payee) > 0 && !isCut) expect((await place.recover(ran)).toString()).toBe('answer to hi\n');
    },
  },
  'image gen': {
    argv: ['image', 'gen', 'draw', '-o', 'cat.png'],
    serve: () => serve(answerJob),
    leaves: only(String.raw`cat\.png`),
    async check({ place, ran, payee, isCut }) {
      expect(paid(payee)).toBeLessThanOrEqual(1);
      const isWritten = place.files().includes('cat.png');
      if (isWritten) expect(readFileSync(join(place.cwd, 'cat.png')).equals(png)).toBe(true);
      if (ran.code === 0) return expect([isWritten, ran.stdout]).toEqual([true, 'cat.png\n']);
      if (paid(payee) > 0 && !isCut && !isWritten) expect((await place.recover(ran)).equals(png)).toBe(true);
    },
  },
  chat: {
    argv: ['chat', '--session', 'trip', 'hi'],
    env: { GATEWAY_FORMAT: 'messages' },
    serve: () =>
      serve(() => ({
        body: eventStream(...messageEvents('Hello', ' there')),
        headers: { 'content-type': 'text/event-stream' },
      })),
    prepare({ cwd }) {
      mkdirSync(join(cwd, 'state/gateway-cli/sessions'), { recursive: true });
      writeFileSync(join(cwd, 'state/gateway-cli/sessions/trip.jsonl'), earlierTurn);
    },
    leaves: only(String.raw`state/gateway-cli/sessions/trip\.jsonl`),
    async check({ place, ran, payee, isCut }) {
      expect(paid(payee)).toBeLessThanOrEqual(1);
      const path = join(place.cwd, 'state/gateway-cli/sessions/trip.jsonl');
      const turns = lines(path).length;
      expect(readFileSync(path, 'utf8').startsWith(earlierTurn)).toBe(true);
      expect([2, 4]).toContain(turns);
      if (ran.code === 0) expect([turns, ran.stdout]).toEqual([4, 'Hello there\n']);
      else if (paid(payee) > 0 && !isCut) expect(ran.stdout).toBe('Hello there\n');
      expect(await place.run()).toMatchObject({ code: 0, stdout: 'Hello there\n' });
      expect(lines(path)).toHaveLength(turns + 2);
    },
  },
  batch: {
    argv: ['batch', 'jobs.jsonl', '-o', 'out'],
    serve: () => serve(answerJob),
    prepare: ({ cwd }) => writeJobs(cwd, jobs),
    leaves: only(String.raw`jobs\.jsonl|out(?:/(?:jobs|journal|results)\.jsonl|/summary\.json|/images(?:/c\.png)?)?`),
    async check({ place, ran, payee, isCut }) {
      for (const count of payee.counts.values()) expect(count).toBe(1);
      if (ran.code === 0) expectJobs(place, ['a', 'b', 'c']);
      const again = await place.run();
      for (const count of payee.counts.values()) expect(count).toBe(1);
      if (!isCut) expect(again.stderr).not.toContain('may have been billed');
      // A picture that could not be written is kept: to send its job again is the user's word.
      const kept = place.files().some((path) => /recovered\/./.test(path));
      const isPaid = payee.counts.has('draw');
      if (again.code !== 0 && !isCut) expect([again.code, kept]).toEqual([13, isPaid]);
      const last = await place.run(['--retry', 'unknown,failed']);
      expect([last.code, last.stderr]).toEqual([0, last.stderr]);
      expect(resultsOf(place)).toEqual(['a', 'b', 'c']);
      expect(readFileSync(join(place.cwd, 'out/images/c.png')).equals(png)).toBe(true);
    },
  },
  'batch --lane batch': {
    argv: ['batch', 'jobs.jsonl', '-o', 'out', '--lane', 'batch'],
    env: { GATEWAY_FORMAT: 'messages' },
    isHurried: true,
    serve: () => startBatchServer('messages'),
    prepare: ({ cwd }) => writeJobs(cwd, jobs.slice(0, 2)),
    leaves: only(String.raw`jobs\.jsonl|out(?:/(?:jobs|journal|results)\.jsonl|/summary\.json|/images)?`),
    async check({ place, ran, payee }) {
      for (const count of payee.counts.values()) expect(count).toBe(1);
      if (ran.code === 0) expectJobs(place, ['a', 'b']);
      const again = await place.run();
      for (const count of payee.counts.values()) expect(count).toBe(1);
      // A batch that may have been created is created again only at the user's word.
      const isUncertain = again.code === 8 && (payee as BatchServer).batches.length === 0;
      const last = isUncertain ? await place.run(['--retry', 'unknown']) : again;
      expect([last.code, last.stderr]).toEqual([0, last.stderr]);
      expectJobs(place, ['a', 'b']);
      for (const count of payee.counts.values()) expect(count).toBe(1);
    },
  },
  'config set': {
    argv: ['config', 'set', 'models.text', 'other'],
    env: { GATEWAY_CONFIG: './config.json' },
    serve: () => serve(),
    prepare: ({ cwd }) => writeFileSync(join(cwd, 'config.json'), earlierConfig, { mode: 0o600 }),
    leaves: only(String.raw`config\.json`),
    async check({ place, ran, payee }) {
      expect(paid(payee)).toBe(0);
      const text = readFileSync(join(place.cwd, 'config.json'), 'utf8');
      const isSet = text !== earlierConfig;
      if (isSet)
        expect(JSON.parse(text)).toEqual({ profiles: { default: { models: { text: 'other' }, timeout: 90 } } });
      if (ran.code === 0) expect(isSet).toBe(true);
    },
  },
  budget: {
    argv: ['text', 'hi', '--max-tokens', '1000', '--budget', './team.jsonl:1', '--prices', prices],
    serve: () => serve(),
    prepare: ({ cwd }) => writeFileSync(join(cwd, 'team.jsonl'), earlierSpending),
    leaves: only(String.raw`team\.jsonl`),
    async check({ place, ran, payee, isCut }) {
      expect(paid(payee)).toBeLessThanOrEqual(1);
      const path = join(place.cwd, 'team.jsonl');
      expect(readFileSync(path, 'utf8').startsWith(earlierSpending)).toBe(true);
      const { spent, inFlight } = (await summarizeLedger(path, Date.now())) ?? {};
      const counted = Number(spent) + Number(inFlight) - 0.5;
      // Each answer costs 0.000023.
      expect(counted).toBeGreaterThanOrEqual(paid(payee) * 0.000_023 - 1e-9);
      // What could not be written down counts with what it can cost, and stderr says so.
      const isTold = ran.stderr.includes('counts with what it can cost');
      if (ran.code === 0) expect([isTold || spent, ran.stdout]).toEqual([isTold || '0.500023', 'answer to hi\n']);
      else if (paid(payee) > 0 && !isCut) expect(ran.stdout).toBe('answer to hi\n');
      expect(await place.run()).toMatchObject({ code: 0, stdout: 'answer to hi\n' });
      // A line that was cut stays, and the next one begins after it.
      expect(readFileSync(path, 'utf8').endsWith('\n')).toBe(true);
      expect(await summarizeLedger(path, Date.now())).toMatchObject({ inFlight: '0' });
    },
  },
};

const earlierTurn = '{"role":"user","content":"before"}\n{"role":"assistant","content":"then"}\n';
const earlierConfig = '{ "profiles": { "default": { "models": { "text": "m" }, "timeout": 90 } } }\n';
const earlierSpending = [
  { type: 'budget', schema: 'gateway-cli/budget@2', id: 'b' },
  { type: 'limit', amount: '1' },
  {
    type: 'reserved',
    command: 'text',
    service: 'gateway',
    lane: 'live',
    id: '00000000000000aa',
    at: '2026-01-01T00:00:00.000Z',
    amount: '0.5',
    by: { host: 'elsewhere', pid: 1 },
    model: 'm',
    currency: 'USD',
  },
  { type: 'spent', id: '00000000000000aa', at: '2026-01-01T00:00:01.000Z', amount: '0.5' },
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('');

function writeJobs(cwd: string, jobs: readonly object[]): void {
  writeFileSync(join(cwd, 'jobs.jsonl'), jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
}

/** Each job has one result, and the files can be read whole. */
function expectJobs({ cwd }: Place, ids: readonly string[]): void {
  lines(join(cwd, 'out/journal.jsonl'));
  // It is a log: the last line of a slot counts.
  const results = new Map(lines(join(cwd, 'out/results.jsonl')).map(({ slot, id }) => [slot, id]));
  expect([...results.values()].toSorted()).toEqual(ids);
}

/** Ids of jobs with a result. */
function resultsOf({ cwd }: Place): string[] {
  return [...new Set(lines(join(cwd, 'out/results.jsonl')).map(({ id }) => String(id)))].toSorted();
}
