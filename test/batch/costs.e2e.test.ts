import { beforeAll, expect } from 'vitest';
import { childProgram } from './start-child.ts';
import { manyJobs, test } from './with-batch.ts';
import { join } from 'node:path';

let start: Awaited<ReturnType<typeof childProgram>>;

beforeAll(async () => {
  start = await childProgram();
});

const price = { m: { input: '0.30', output: '2.50' } };

/** One token of output for the first job, two for the second, and so on: each costs 0.0000025 more. */
const tokensOf = (prompt: string): number => Number(prompt.slice(1));

const moments = [
  ['sent-written', '5'],
  ['answered', '9'],
  ['result-written', '4'],
  ['ended-written', '7'],
];

test.for(moments)(
  'after kill -9 at %s, time %s, the sum is that of all results',
  { timeout: 120_000 },
  async ([step, nth], { server, folder, batch }) => {
    server.answer = (prompt) => ({
      body: {
        candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
        usageMetadata: {
          promptTokenCount: 0,
          candidatesTokenCount: tokensOf(prompt),
          totalTokenCount: tokensOf(prompt),
        },
      },
    });
    folder.jobs(...manyJobs(12));
    folder.write('config.json', JSON.stringify({ prices: price }));
    const env = { GATEWAY_CONFIG: join(folder.cwd, 'config.json') };
    expect(await start(folder, server, { argv: [step as string, nth as string], env }).ended).toBe('SIGKILL');
    const ran = await batch([], { env });
    const done = folder.lines('results.jsonl').map(({ id }) => id as string);
    const [summary] = folder.lines('summary.json') as Record<string, unknown>[];
    expect(summary).toMatchObject({ done: done.length, unknown: 12 - done.length, costUnknown: 12 - done.length });
    expect(ran.code).toBe(done.length === 12 ? 0 : 13);
    // 25 ten-millionths for a token.
    const sum = done.reduce((all, id) => all + BigInt(tokensOf(id)) * 25n, 0n);
    const [{ amount }] = (summary as { cost: [{ amount: string }] }).cost;
    const [whole = '', part = ''] = amount.split('.');
    expect(BigInt(whole + part.padEnd(7, '0'))).toBe(sum);
    for (const id of done) expect([id, server.counts.get(id)]).toEqual([id, 1]);
  },
);
