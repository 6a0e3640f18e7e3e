import { beforeAll, describe, expect } from 'vitest';
import { startBatchServer } from './lane/batch-server.ts';
import { childProgram } from './start-child.ts';
import { type BatchFolder, createFolder, environmentFor, test } from './with-batch.ts';
import { run } from '../helpers/run.ts';

let start: Awaited<ReturnType<typeof childProgram>>;

beforeAll(async () => {
  start = await childProgram();
});

const families = ['a', 'b', 'c'];

/** Each family has a child, and a grandchild that comes first in the file. */
function writeJobs(folder: BatchFolder): void {
  const jobs = families.map((name) => [
    { id: `${name}3`, prompt: `third {{@${name}2.text}}` },
    { id: `${name}1`, prompt: `first ${name}` },
    { id: `${name}2`, prompt: `second {{@${name}1.text}}` },
  ]);
  folder.jobs(...jobs.flat());
}

const steps = ['taken', 'ready-synced', 'sent-written', 'answered', 'result-written', 'result-synced', 'ended-synced'];

describe('jobs that use results of others, killed and run again', () => {
  test.for(steps.flatMap((step) => [2, 5, 8].map((nth) => [step, String(nth)] as const)))(
    'at %s, time %s: each is paid once, and with the text of the one before it',
    { timeout: 60_000 },
    async ([step, nth], { server, folder, batch }) => {
      writeJobs(folder);
      expect(await start(folder, server, { argv: [step, nth] }).ended).toBe('SIGKILL');
      await batch();
      // What was under way may have been billed: what waits for it goes on with it.
      expect(await batch(['--retry', 'unknown'])).toMatchObject({ code: 0 });
      const prompts = families.flatMap((name) => [
        `first ${name}`,
        `second answer to first ${name}`,
        `third answer to second answer to first ${name}`,
      ]);
      expect([...server.counts.keys()].toSorted()).toEqual(prompts.toSorted());
      const results = folder.lines('results.jsonl');
      expect(results).toHaveLength(9);
      expect(await batch()).toMatchObject({ code: 0 });
      // Nothing is sent twice but what nobody can know of, and that at the user's word.
      const twice = [...server.counts.values()].filter((count) => count > 1);
      expect(twice.length).toBeLessThanOrEqual(4);
      expect(Math.max(...server.counts.values())).toBeLessThanOrEqual(2);
    },
  );

  test.for([
    ['part-created', '1'],
    ['part-answered', '2'],
    ['part-downloaded', '1'],
    ['ended-synced', '4'],
    ['part-created', '2'],
    ['part-ended', '2'],
  ])('in the lane batch at %s, time %s: each is submitted once', { timeout: 60_000 }, async ([step = '', nth = '']) => {
    const server = await startBatchServer('messages');
    try {
      const folder = createFolder();
      writeJobs(folder);
      const env = { ...environmentFor(server), GATEWAY_FORMAT: 'messages' };
      expect(
        await start(folder, server, { argv: [step, nth, 'lane'], env: { GATEWAY_FORMAT: 'messages' } }).ended,
      ).toBe('SIGKILL');
      const argv = ['batch', 'jobs.jsonl', '-o', 'out', '--lane', 'batch'];
      expect(await run(argv, { cwd: folder.cwd, env })).toMatchObject({ code: 0 });
      expect(server.batches.map(({ entries }) => entries.length)).toEqual([3, 3, 3]);
      expect([...server.counts.values()]).toEqual(Array.from({ length: 9 }, () => 1));
      expect(folder.lines('results.jsonl')).toHaveLength(9);
    } finally {
      await server.close();
    }
  });
});
