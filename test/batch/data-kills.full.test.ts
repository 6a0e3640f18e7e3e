import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'vitest';
import { bareEnv, bin } from '../helpers/spawn.ts';
import type { CountingServer } from './counting-server.ts';
import { type BatchFolder, environmentFor, test } from './with-batch.ts';

const ids = Array.from({ length: 500 }, (_, i) => `r${i}`);
/** Rows that another batch has recorded before. */
const recorded = new Set(ids.slice(200, 260));
const concurrency = 8;
const dearest = 299;
/** Tokens of output; only they cost something: a token is 25 ten-millionths of a dollar. */
const tokensOf = (id: string): number => 100 + ((Number(id.slice(1)) * 37) % 200);
const sum = (some: Iterable<string>): bigint => [...some].reduce((all, id) => all + BigInt(tokensOf(id)), 0n);
const inDollars = (tokens: bigint): string => {
  const digits = String(tokens * 25n).padStart(8, '0');
  return `${digits.slice(0, -7)}.${digits.slice(-7)}`;
};

type Row = Record<string, unknown> & { id: string; attempts: number; cost?: { amount: string } };
type Summary = Record<string, number> & { cost: [{ amount: string }] };

interface Run {
  kill: () => void;
  ended: Promise<{ end: NodeJS.Signals | number; stderr: string }>;
}

function begin(server: CountingServer, { cwd }: BatchFolder, data: string, argv: readonly string[]): Run {
  const common = ['--template', 'ask.md', '--id-column', 'key', '--concurrency', `${concurrency}`];
  const cache = ['--record', 'cache', '--replay', 'cache'];
  const prices = ['--prices', '{"m":{"input":0,"output":"2.50"}}'];
  const child = spawn(process.execPath, [bin, 'batch', '--data', data, ...common, ...cache, ...prices, ...argv], {
    cwd,
    env: bareEnv(cwd, environmentFor(server)),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text));
  return {
    kill: () => void child.kill('SIGKILL'),
    ended: once(child, 'close').then(([code, signal]) => ({
      end: (signal ?? code) as NodeJS.Signals | number,
      stderr,
    })),
  };
}

test('kill -9 at twenty moments of 500 rows with cache, prices and a budget: no row is lost, doubled or paid twice', async ({
  server,
  folder,
}) => {
  server.answer = (prompt) => {
    const tokens = tokensOf(prompt);
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: tokens, totalTokenCount: tokens + 3 };
    return { body: { candidates: [{ content: { parts: [{ text: prompt }] }, finishReason: 'STOP' }], usageMetadata } };
  };
  const table = (some: Iterable<string>): string => `key,of\n${[...some].map((id) => `${id},${id}\n`).join('')}`;
  folder.write('ask.md', '{{of}}');
  folder.write('some.csv', table(recorded));
  folder.write('all.csv', table(ids));
  const first = await begin(server, folder, 'some.csv', ['-o', 'other']).ended;
  expect(first).toMatchObject({ end: 0 });
  expect(server.bodies).toHaveLength(recorded.size);

  const goOn = (...argv: string[]): Run => begin(server, folder, 'all.csv', ['-o', 'out', ...argv]);
  const rows = (): Row[] => folder.lines('results.jsonl') as Row[];
  const summary = (): Summary => (folder.lines('summary.json') as Summary[])[0] as Summary;
  const killAfterMoreRequests = async (count: number, limit: string): Promise<void> => {
    const run = goOn('--max-cost', limit);
    await Promise.race([server.received(server.bodies.length + count), run.ended]);
    for (let i = 0; i < count % 7; i++) await new Promise((resolve) => setImmediate(resolve));
    run.kill();
    expect(await run.ended).toMatchObject({ end: 'SIGKILL' });
  };

  // What a kill leaves unknown counts as dear as the dearest row.
  const ofKills = BigInt(12 * concurrency * dearest);
  const limit = (sum(ids) * 42n) / 100n + ofKills;
  for (let kill = 0; kill < 12; kill++) await killAfterMoreRequests(1 + ((kill * 11) % 23), inDollars(limit));
  expect(await goOn('--max-cost', inDollars(limit)).ended).toMatchObject({ end: 13 });
  const paid = new Set(rows().flatMap(({ id, attempts }) => (attempts > 0 ? [id] : [])));
  expect(summary().cost[0].amount).toBe(inDollars(sum(paid)).replace(/0+$/, ''));
  expect(sum(paid)).toBeGreaterThan(limit - ofKills - BigInt((concurrency + 1) * dearest));
  expect(sum(paid)).toBeLessThanOrEqual(limit + BigInt(concurrency * dearest));
  expect(summary()).toMatchObject({ costUnknown: summary()['unknown'] });

  for (let kill = 0; kill < 8; kill++) await killAfterMoreRequests(1 + ((kill * 5) % 11), '1000');
  const last = await goOn('--max-cost', '1000').ended;
  const done = rows();
  const doneIds = new Set(done.map(({ id }) => id));
  expect(doneIds.size).toBe(done.length);
  expect(summary()).toMatchObject({ jobs: ids.length, done: done.length, failed: 0, pending: 0 });
  expect(summary()['unknown']).toBe(ids.length - done.length);
  expect(last.end).toBe(done.length === ids.length ? 0 : 13);
  // The server's word: no row came twice, whatever was killed, and those in the cache by the other batch alone.
  expect(Math.max(...server.counts.values())).toBe(1);
  expect(done.filter(({ id }) => !server.counts.has(id))).toEqual([]);
  for (const { id, attempts } of done) if (recorded.has(id)) expect([id, attempts]).toEqual([id, 0]);

  const cost = (): bigint => sum(rows().flatMap(({ id, attempts }) => (attempts > 0 ? [id] : [])));
  expect(summary().cost[0].amount).toBe(inDollars(cost()).replace(/0+$/, ''));
  const asked = server.bodies.length;
  expect(await goOn('--max-cost', '1000', '--retry', 'unknown').ended).toMatchObject({ end: 0 });
  expect(
    rows()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(ids.toSorted());
  expect(summary()).toMatchObject({ done: ids.length, unknown: 0 });
  expect(summary().cost[0].amount).toBe(inDollars(cost()).replace(/0+$/, ''));
  // What had been recorded before the kill is not asked again.
  const again = rows().filter(({ id, attempts }) => !doneIds.has(id) && attempts > 0);
  expect(server.bodies.length - asked).toBe(again.length);
  expect([...server.counts].filter(([, count]) => count > 1).every(([id]) => again.some((row) => row.id === id))).toBe(
    true,
  );
}, 600_000);
