import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import { run } from '../../helpers/run.ts';
import { createFolder, manyJobs } from '../with-batch.ts';
import { test } from './with-lane.ts';

const interrupted = () => new GatewayError('interrupted', 'ended by SIGINT');

test('Ctrl-C between two looks for a batch ends the run, and the next one looks again', async ({ open }) => {
  const { batch, folder, server } = await open('completions');
  server.fault = (kind) => (kind === 'create' ? 'busy' : undefined);
  folder.jobs(...manyJobs(2));
  const stop = new AbortController();
  // Asked just before the wait.
  const elapsed = (): number => {
    if (server.requests.some((line) => line.startsWith('list'))) queueMicrotask(() => stop.abort(interrupted()));
    return 0;
  };
  const ran = await batch([], { signal: stop.signal, clock: { elapsed, after: () => () => undefined } });
  expect(ran.code).toBe(130);
  expect(folder.lines('journal.jsonl').at(-1)).toMatchObject({ t: 'batch', step: 'creating' });
});

test('Ctrl-C ends an upload, and no batch is created', { timeout: 10_000 }, async ({ open }) => {
  const { batch, folder, server } = await open('completions');
  server.fault = (kind, count) => (kind === 'upload' && count === 1 ? 'hold' : undefined);
  folder.jobs(...manyJobs(2));
  const stop = new AbortController();
  const running = batch([], { signal: stop.signal });
  await server.seen('upload');
  stop.abort(interrupted());
  expect((await running).code).toBe(130);
  expect(folder.lines('summary.json')).toMatchObject([{ unknown: 0, pending: 2 }]);
  expect((await batch()).code).toBe(0);
  expect(server.batches).toHaveLength(1);
});

test('Ctrl-C during a creation waits for its answer', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  const stop = new AbortController();
  server.fault = (kind) => {
    if (kind === 'create') stop.abort(interrupted());
    return undefined;
  };
  folder.jobs(...manyJobs(2));
  const ran = await batch([], { signal: stop.signal });
  expect(ran.code).toBe(130);
  // It is told at once: the answer may never come, and the jobs are at the service.
  expect(ran.stderr).toContain(
    '2 jobs may be at the service, and be billed; gateway-cli batch again out --lane batch finds out\n',
  );
  expect(folder.lines('journal.jsonl').at(-1)).toMatchObject({ step: 'created', batch: 'msgbatch_1' });
});

test('Ctrl-C while results are read is seen between two of them, and the next run reads the others', async ({
  open,
}) => {
  const { batch, folder } = await open('messages');
  folder.jobs(...manyJobs(250));
  const results = join(folder.cwd, 'out/results.jsonl');
  const stop = new AbortController();
  const looking = setInterval(() => {
    if (existsSync(results) && statSync(results).size > 5000) stop.abort(interrupted());
  });
  const ran = await batch([], { signal: stop.signal }).finally(() => clearInterval(looking));
  expect(ran.code).toBe(130);
  expect(folder.lines('results.jsonl').length).toBeLessThan(250);
  expect((await batch()).code).toBe(0);
  expect(folder.lines('results.jsonl')).toHaveLength(250);
});

test('what an offline run leaves at its own gateway ended with it: the same command sends it again, and --no-wait waits', async () => {
  const folder = createFolder();
  folder.jobs(...manyJobs(2));
  const offline = (argv: string[], options = {}) => run(['batch', ...argv], { ...options, cwd: folder.cwd });
  const same = ['jobs.jsonl', '-o', 'out', '--offline', '--lane', 'batch'];
  const interrupt = (argv: string[]) => {
    const stop = new AbortController();
    const journal = join(folder.cwd, 'out/journal.jsonl');
    const created = () => (existsSync(journal) ? folder.read('out/journal.jsonl').split('"step":"created"').length : 0);
    const before = created();
    const elapsed = (): number => {
      if (created() > Math.max(1, before)) queueMicrotask(() => stop.abort(interrupted()));
      return 0;
    };
    return offline(argv, { signal: stop.signal, clock: { elapsed, after: () => () => undefined } });
  };
  const first = await interrupt(same);
  expect(first).toMatchObject({ code: 130, stderr: expect.not.stringContaining('at the service,') });
  expect(first.stderr).toContain('0 done, 2 not sent yet\n2 not sent yet: gateway-cli batch again out\n');
  expect((await offline(['status', 'out'])).stdout).toMatch(
    /^2 jobs: 0 done, 2 not sent yet\n.*\n2 not sent yet: gateway-cli batch again out\n/,
  );
  expect((await offline(['cancel', 'out', '--offline'])).stderr).toContain('no jobs of out are at the service');
  expect(await offline([...same, '--no-wait'])).toMatchObject({ code: 0 });
  expect(folder.lines('results.jsonl')).toHaveLength(2);
  // A job that has an answer keeps it.
  expect((await interrupt([...same, '--redo', 'p1'])).stderr).toContain('\n2 done (1 to make again)\n');
  expect(await offline(same)).toMatchObject({ code: 0, stderr: expect.stringContaining('1 is sent again') });
});

test('--redo of jobs that are at the service collects them, and sends those that use them once', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  folder.jobs({ id: 'o', prompt: 'Plan' }, { id: 'l', prompt: 'Letter {{@o.text}}' }, { id: 'x', prompt: 'Other' });
  await batch();
  const redo = ['--redo', 'o,l,x'];
  const left = await batch([...redo, '--no-wait']);
  expect([left.code, left.stderr]).toEqual([
    0,
    expect.stringContaining('gateway-cli batch again out --lane batch collects the results\n'),
  ]);
  expect(await batch(redo)).toMatchObject({ code: 0 });
  expect([...server.counts.values()]).toEqual([2, 2, 2]);
  await batch([...redo, '--no-wait']);
  // Without --redo, it collects what is there.
  expect(await batch()).toMatchObject({ code: 0 });
  expect(server.counts.get('Plan')).toBe(3);
});
