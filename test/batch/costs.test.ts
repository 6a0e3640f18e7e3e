import { describe, expect } from 'vitest';
import type { BatchFolder } from './with-batch.ts';
import { manyJobs, test } from './with-batch.ts';

/** A reply with these counts of tokens. */
function reply(input: number, output: number, more: object = {}): object {
  const content = { role: 'model', parts: [{ text: 'x' }] };
  const usageMetadata = { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output };
  return { candidates: [{ content, finishReason: 'STOP' }], usageMetadata, ...more };
}

/** 0.30 for a million tokens of input, 2.50 of output. */
const prices = ['--prices', '{"m":{"input":"0.30","output":2.5}}'];

/** The same in millionths of a hundredth: whole numbers, so that the check has nothing to round. */
const costOf = (input: number, output: number): bigint => BigInt(input) * 30n + BigInt(output) * 250n;

function inHundredMillionths(amount: string): bigint {
  const [whole = '', part = ''] = amount.split('.');
  return BigInt(whole + part.padEnd(8, '0'));
}

type Line = Record<string, unknown> & { cost?: { amount: string; currency: string } };

function sumOfRows(folder: BatchFolder): bigint {
  const rows = folder.lines('results.jsonl') as Line[];
  return rows.reduce((sum, { cost }) => sum + inHundredMillionths(cost?.amount ?? '0'), 0n);
}

function sumOfSummary(folder: BatchFolder): bigint {
  const [summary] = folder.lines('summary.json') as { cost: { amount: string }[] }[];
  return inHundredMillionths(summary?.cost[0]?.amount ?? '');
}

test('each row has its cost, and the summary their sum, to the last digit', async ({ server, folder, batch }) => {
  const counts = new Map(manyJobs(30).map((_, at) => [`p${at + 1}`, [at * 7 + 1, at * 1013 + 3] as const]));
  server.answer = (prompt) => ({ body: reply(...(counts.get(prompt) as [number, number])) });
  folder.jobs(...manyJobs(30));
  const ran = await batch(['--concurrency', '7', ...prices]);
  const wanted = [...counts.values()].reduce((sum, [input, output]) => sum + costOf(input, output), 0n);
  expect(ran.code).toBe(0);
  for (const { id, cost } of folder.lines('results.jsonl') as Line[])
    expect([id, inHundredMillionths(cost?.amount ?? '')]).toEqual([
      id,
      costOf(...(counts.get(id as string) as [number, number])),
    ]);
  expect([sumOfRows(folder), sumOfSummary(folder)]).toEqual([wanted, wanted]);
  const [summary] = folder.lines('summary.json') as { cost: { amount: string }[] }[];
  expect(ran.stderr).toBe(`30 done\ncost: ${summary?.cost[0]?.amount} USD\n`);
  expect((await batch(['status', 'out'])).stdout).toBe(`30 jobs: 30 done\ncost: ${summary?.cost[0]?.amount} USD\n`);
});

test('failed requests count only if they were billed; unknown costs are reported', async ({
  server,
  folder,
  batch,
}) => {
  const stopped = {
    candidates: [{ finishReason: 'SAFETY' }],
    usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 },
  };
  const answers: Record<string, object> = {
    p1: { body: reply(10, 1) },
    p2: { body: stopped },
    p3: { status: 400, body: {} },
    p4: { body: reply(1, 1, { usageMetadata: undefined }) },
    p5: { drop: true },
  };
  server.answer = (prompt) => answers[prompt];
  folder.jobs(...manyJobs(5));
  const ran = await batch(prices);
  expect(ran.code).toBe(13);
  expect(ran.stderr).toContain('cost: 0.0000085 USD; the cost of 2 requests is unknown\n');
  expect(sumOfSummary(folder)).toBe(costOf(20, 1));
  expect(folder.lines('summary.json')).toMatchObject([{ costUnknown: 2 }]);
});

test('the journal and the row of a job name another model that answered', async ({ server, folder, batch }) => {
  server.answer = () => ({ body: reply(1, 1, { modelVersion: 'big' }) });
  folder.jobs(...manyJobs(1));
  expect((await batch()).code).toBe(0);
  const names = { requestedModel: 'm', model: 'big' };
  expect(folder.lines('journal.jsonl').at(-1)).toMatchObject({ t: 'done', ...names });
  expect(folder.lines('results.jsonl')).toMatchObject([{ ...names, warnings: ['another model answered: big, not m'] }]);
});

test('without prices nothing is said of costs', async ({ folder, batch }) => {
  folder.jobs(...manyJobs(1));
  expect((await batch()).stderr).toBe('1 done\n');
  expect(folder.read('out/summary.json')).not.toContain('cost');
});

test('the cost of a result whose end the journal lacks is known from the result', async ({ server, folder, batch }) => {
  server.answer = () => ({ body: reply(10, 10) });
  folder.jobs(...manyJobs(3));
  await batch(prices);
  const { slot: lost } = folder.lines('results.jsonl').find(({ id }) => id === 'p2') ?? {};
  const journal = folder.lines('journal.jsonl').filter(({ t, slot }) => t !== 'done' || slot !== lost);
  expect(journal).toHaveLength(folder.lines('journal.jsonl').length - 1);
  folder.writeLines('out/journal.jsonl', journal);
  for (const argv of [prices, prices]) {
    expect((await batch(argv)).code).toBe(0);
    expect([sumOfRows(folder), sumOfSummary(folder)]).toEqual([costOf(30, 30), costOf(30, 30)]);
    expect(folder.lines('summary.json')).toMatchObject([{ costUnknown: 0, usage: { inputTokens: 30 } }]);
  }
  expect(server.bodies).toHaveLength(3);
});

test('a request whose run was killed has an unknown cost also once its job was sent again', async ({
  server,
  folder,
  batch,
}) => {
  server.answer = () => ({ body: reply(10, 10) });
  folder.jobs(...manyJobs(2).map((job) => ({ ...job, maxTokens: 100 })));
  await batch(prices);
  for (const name of ['journal.jsonl', 'results.jsonl']) {
    const lines = folder.lines(name).filter(({ t }) => t !== 'done');
    folder.writeLines(`out/${name}`, name === 'results.jsonl' ? [] : lines);
  }
  for (const argv of [['--retry', 'unknown'], []]) {
    expect((await batch([...prices, ...argv])).code).toBe(0);
    expect(folder.lines('summary.json')).toMatchObject([{ costUnknown: 2, usage: { inputTokens: 20 } }]);
  }
  // What they may have cost counts.
  folder.jobs(...manyJobs(3).map((job) => ({ ...job, maxTokens: 100 })));
  expect((await batch([...prices, '--max-cost', '0.0006'])).stderr).toContain('2 done, 1 not sent yet');
});

describe('--max-cost', () => {
  test('sends what fits with its limit of tokens, and goes on with a higher budget, each job paid once', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ body: reply(5, 100) });
    folder.jobs(...manyJobs(20).map((job) => ({ ...job, maxTokens: 100 })));
    // A job costs 0.0002515, and can cost 0.00025 with its bytes as input.
    const ran = await batch([...prices, '--max-cost', '0.001', '--concurrency', '4']);
    expect(ran.code).toBe(13);
    expect(ran.stderr).toContain('stopped before a request that could pass --max-cost 0.001: 3 done, 17 not sent yet');
    expect(ran.stderr).toContain('17 not sent yet: gateway-cli batch again out --max-cost <more>\n');
    expect(server.bodies).toHaveLength(3);
    expect(sumOfSummary(folder)).toBe(costOf(15, 300));
    expect((await batch(['status', 'out'])).stdout).toContain(
      '17 not sent yet: gateway-cli batch again out --max-cost <more>\n',
    );
    expect((await batch([...prices, '--max-cost', '0.001'])).code).toBe(13);
    expect(server.bodies).toHaveLength(3);
    expect((await batch([...prices, '--max-cost', '0.00575'])).code).toBe(0);
    expect([...server.counts.values()]).toEqual(Array(20).fill(1));
    expect([sumOfRows(folder), sumOfSummary(folder)]).toEqual([costOf(100, 2000), costOf(100, 2000)]);
  });

  test.for([
    ['an answer without counts', { body: reply(1, 1, { usageMetadata: undefined }) }],
    ['no answer', { drop: true }],
  ] as const)(
    '%s counts with what it could cost, in every later run',
    async ([, answer], { server, folder, batch }) => {
      server.answer = () => answer;
      const images = manyJobs(8).map((job) => ({ ...job, maxTokens: 100 }));
      folder.jobs(...images);
      const flags = ['--prices', '{"m":{"input":"0","output":"10000"}}', '--max-cost', '2', '--concurrency', '1'];
      // A request can cost 1.
      for (let run = 0; run < 4; run++)
        expect((await batch([...flags, '--retries', '0', '--retry', 'unknown'])).code).toBe(13);
      expect(server.bodies).toHaveLength(2);
      const told = (await batch(['status', 'out'])).stdout;
      expect(told).toContain('--max-cost');
    },
  );

  test('requests that were sent before the run was killed count with their highest possible cost', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ body: reply(0, 100) });
    folder.jobs(...manyJobs(3).map((job) => ({ ...job, maxTokens: 100 })));
    const flags = ['--prices', '{"m":{"input":"0","output":"10000"}}', '--concurrency', '1'];
    expect((await batch([...flags, '--max-cost', '2'])).code).toBe(13);
    folder.loseEnds('p1', 'p2');
    expect((await batch([...flags, '--max-cost', '2', '--retry', 'unknown'])).code).toBe(13);
    expect(server.bodies).toHaveLength(2);
    expect((await batch([...flags, '--max-cost', '3'])).code).toBe(13);
    expect(server.bodies).toHaveLength(3);
  });

  test('without a limit of tokens, the requests under way are all that can go over --max-cost', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ body: reply(0, 100) });
    folder.jobs(...manyJobs(20));
    const ran = await batch([...prices, '--max-cost', '0.001', '--concurrency', '3']);
    expect(ran.code).toBe(13);
    expect(server.bodies).toHaveLength(4);
    expect(sumOfSummary(folder)).toBe(costOf(0, 400));
  });

  test('answers from a cache use nothing of --max-cost and have no unknown cost, also in the next run', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ body: reply(0, 100) });
    const cache = ['--record', 'cache', '--replay', 'cache', '--concurrency', '1'];
    folder.jobs(...manyJobs(10));
    await batch(['jobs.jsonl', '-o', 'other', ...cache]);
    folder.jobs(...manyJobs(14));
    const limited = [...prices, ...cache, '--max-cost', '0.0005'];
    expect((await batch(limited)).code).toBe(13);
    expect(folder.lines('summary.json')).toMatchObject([{ done: 12, pending: 2, costUnknown: 0 }]);
    expect((await batch([...limited, '--max-cost', '0.001'])).code).toBe(0);
    expect(folder.lines('summary.json')).toMatchObject([{ done: 14, costUnknown: 0 }]);
    expect(sumOfSummary(folder)).toBe(costOf(0, 400));
  });

  test.for([
    [
      'no price',
      [{ prompt: 'a' }],
      ['--prices', '{"other":{"input":1}}'],
      [
        'the model m has no price',
        `  set it, for a million tokens: --prices '{"m":{"input":"<amount>","output":"<amount>"}}'`,
        `  or for good: gateway-cli config set prices.m '{"input":"<amount>","output":"<amount>"}'`,
      ].join('\n'),
    ],
    [
      'half a price',
      [{ prompt: 'a' }],
      ['--prices', '{"m":{"input":1}}'],
      'the model m has no price for input, or none for output',
    ],
    [
      'two currencies',
      [{ prompt: 'a' }, { prompt: 'b', model: 'n' }],
      ['--prices', '{"*":{"input":1,"output":1},"n":{"input":1,"output":1,"currency":"EUR"}}'],
      'several currencies: USD, EUR',
    ],
  ] as const)('%s is exit 2, before anything is sent', async ([, jobs, flags, message], { server, folder, batch }) => {
    folder.jobs(...jobs);
    const ran = await batch([...flags, '--max-cost', '1']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(message);
    expect(server.bodies).toHaveLength(0);
    expect(folder.ls('.')).toEqual(['jobs.jsonl']);
  });
});

test('the status of shards has what they cost together, known and unknown', async ({ server, folder, batch }) => {
  server.answer = (prompt) => ({ body: prompt === 'p4' ? reply(1, 1, { usageMetadata: undefined }) : reply(100, 10) });
  folder.jobs(...manyJobs(4));
  for (const index of [1, 2]) {
    const ran = await batch(['jobs.jsonl', '-o', `out-${index}`, '--shard', `${index}/2`, ...prices]);
    expect(ran.code).toBe(0);
  }
  const both = ['status', 'out-1', 'out-2'];
  const costs = { cost: [{ amount: '0.000165', currency: 'USD' }], costUnknown: 1 };
  expect(JSON.parse((await batch([...both, '--json'])).stdout)).toMatchObject(costs);
  expect((await batch(both)).stdout).toContain('cost: 0.000165 USD; the cost of 1 request is unknown\n');
});

test('the summary says how many costs are unknown where all of them are', async ({ server, batch, folder }) => {
  server.answer = () => ({ body: reply(1, 1, { usageMetadata: undefined }) });
  folder.jobs(...manyJobs(2));
  await batch(prices);
  const [summary] = folder.lines('summary.json');
  expect(summary).toMatchObject({ done: 2, costUnknown: 2 });
  expect(summary).not.toHaveProperty('cost');
  // A run that is refused leaves it so.
  folder.jobs(...manyJobs(1), { id: 'p2', prompt: 'edited' });
  await batch(prices);
  expect(folder.lines('summary.json')).toMatchObject([{ exitCode: 14, done: 2, costUnknown: 2 }]);
});
