import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type FakeReply, startFakeServer } from '../fake-servers/start.ts';
import { summarizeLedger } from '../../src/library/cost/ledger-sums.ts';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const json = { 'content-type': 'application/json' };
const reply = (status: number, body: object): FakeReply => ({ status, headers: json, body: JSON.stringify(body) });
const busy = reply(429, { error: { message: 'Rate limit reached', type: 'rate_limit_error', code: null } });
const completion = reply(200, {
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 1000, total_tokens: 1010 },
});

/** A batch at a server that answers by model. The models that were asked come back beside what the run said. */
async function runBatch(
  argv: readonly string[],
  { format, jobs, answer }: { format: string; jobs: readonly object[]; answer: (model: string) => FakeReply },
) {
  const asked: string[] = [];
  const server = await startFakeServer(({ body }) => {
    const { model } = JSON.parse(body) as { model: string };
    asked.push(model);
    return answer(model);
  });
  onTestFinished(() => server.close());
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'jobs.jsonl'), jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_FORMAT: format, GATEWAY_API_KEY: 'key-0123456789' };
  const line = ['batch', 'jobs.jsonl', '-o', 'out', '--retries', '0', '--concurrency', '1', ...argv];
  const again = async (next: readonly string[]) => ({ ...(await run(next, { env, cwd })), asked });
  return { asked, again, ...(await run(line, { env, cwd })) };
}

const withFallback = (fallback: string) =>
  [1, 2].map((id) => ({ id: `${id}`, prompt: 'x', model: 'busy', fallback, maxTokens: 1000 }));
const prices = JSON.stringify({ busy: { input: '1', output: '1' }, dear: { input: '1', output: '100000' } });
const limit = ['--max-cost', '0.01', '--prices', prices];
const byModel = (model: string): FakeReply => (model === 'busy' ? busy : completion);

test('a limit of costs counts with the model that may answer in place of another', async () => {
  const ran = await runBatch(limit, { format: 'completions', jobs: withFallback('dear'), answer: byModel });
  expect(ran).toMatchObject({ code: 13, asked: [] });
  expect(ran.stderr).toContain('--max-cost 0.01');
});

test('with a limit of costs a model that may answer in place of another needs a price', async () => {
  const ran = await runBatch(limit, { format: 'completions', jobs: withFallback('unpriced'), answer: byModel });
  expect(ran).toMatchObject({ code: 2, asked: [] });
  expect(ran.stderr).toContain('the model unpriced has no price');
});

test('a model with the name of a member of every object has no price, either', async () => {
  const ran = await runBatch(limit, { format: 'completions', jobs: withFallback('constructor'), answer: byModel });
  expect(ran).toMatchObject({ code: 2, asked: [] });
  expect(ran.stderr).toContain('the model constructor has no price');
});

/** A server that fails at each request of a list, counted from 1: what it was asked may be billed. */
const failingAt = (numbers: readonly number[]) => {
  let count = 0;
  const failed = reply(500, { error: { message: 'oops', type: 'server_error', code: null } });
  failed.headers = { ...json, 'retry-after': '0' };
  return (): FakeReply => (numbers.includes(++count) ? failed : completion);
};

const threeJobs = ['1', '2', '3'].map((id) => ({ id, prompt: 'x', model: 'busy', maxTokens: 1000 }));

// Each request can cost a little more than 0.001, and an answer costs 0.00101.
test.each(['--max-cost', '--budget'])(
  '%s counts an attempt that may have been billed beside the answer that came after it',
  async (flag) => {
    const value = flag === '--budget' ? `${join(scratchFolder(), 'team.jsonl')}:0.0035` : '0.0035';
    const argv = ['--retries', '1', '--prices', prices, flag, value];
    const ran = await runBatch(argv, { format: 'completions', jobs: threeJobs, answer: failingAt([1]) });
    expect(ran.stderr).toContain('2 done, 1 not sent yet');
    expect([ran.code, ran.asked.length]).toEqual([13, 3]);
    if (flag === '--budget') return;
    const same = ['batch', 'jobs.jsonl', '-o', 'out', '--prices', prices, '--concurrency', '1'];
    // The folder knows it, too.
    expect((await ran.again([...same, flag, value])).asked).toHaveLength(3);
    expect(await ran.again([...same, flag, '0.0042'])).toMatchObject({ code: 0, asked: { length: 4 } });
  },
);

test.each([
  [0.0025, ['gateway'], 2],
  [0.0015, ['over-budget'], 1],
])('with --max-cost %s a request that may have been billed is sent again only within it', async (most, told, asked) => {
  const argv = ['--retries', '1', '--prices', prices, '--max-cost', `${most}`, '--json'];
  const ran = await runBatch(argv, { format: 'completions', jobs: threeJobs, answer: failingAt([1, 2, 3]) });
  expect([ran.code, ran.asked.length]).toEqual([13, asked]);
  const { failures } = JSON.parse(ran.stdout) as { failures: { error: { class: string } }[] };
  expect(failures.map(({ error }) => error.class)).toEqual(told);
});

const paused = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'a' }],
  stop_reason: 'pause_turn',
};

test('a limit of costs counts what the requests of an answer cost that goes on, searches too', async () => {
  const usage = { input_tokens: 10, output_tokens: 100, server_tool_use: { web_search_requests: 1 } };
  const ran = await runBatch(
    ['--max-cost', '0.035', '--prices', JSON.stringify({ '*': { input: '1', output: '10', search: '0.01' } })],
    {
      format: 'messages',
      jobs: [{ id: '1', prompt: 'x', model: 'm', maxTokens: 100, search: true }],
      answer: () => reply(200, { ...paused, usage }),
    },
  );
  // Each costs 0.01101: a third would be the last within the limit, and a fourth could pass it.
  expect(ran.asked).toHaveLength(3);
  expect(ran.code).toBe(13);
});

test('a shared budget is paid for each request of an answer that goes on', async () => {
  const usage = { input_tokens: 10, output_tokens: 100 };
  let left = 2;
  const budget = join(scratchFolder(), 'team.jsonl');
  const ran = await runBatch(
    ['--budget', `${budget}:1`, '--prices', JSON.stringify({ '*': { input: '1', output: '10' } })],
    {
      format: 'messages',
      jobs: [{ id: '1', prompt: 'x', model: 'm', maxTokens: 100 }],
      answer: () => reply(200, { ...paused, usage, ...(left-- === 0 && { stop_reason: 'end_turn' }) }),
    },
  );
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.asked).toHaveLength(3);
  const { spent, sums } = (await summarizeLedger(budget, Date.now())) ?? {};
  expect([spent, sums?.map(({ requests }) => requests)]).toEqual(['0.00303', [3]]);
  const lines = readFileSync(budget, 'utf8').trimEnd().split('\n');
  const written = lines.map((line) => JSON.parse(line) as { type: string; amount: string });
  const amounts = written.filter(({ type }) => type === 'reserved').map(({ amount }) => Number(amount));
  // Each sends what came before it, too.
  expect(amounts[1]).toBeGreaterThan(amounts[0] ?? NaN);
  expect(amounts[2]).toBeGreaterThan(amounts[1] ?? NaN);
});

test('the tokens of an answer count where the reply that goes on with it cannot be read', async () => {
  const usage = { input_tokens: 10, output_tokens: 100 };
  let times = 0;
  const cut = { status: 200, headers: json, body: '{"type":"mess' };
  const ran = await runBatch(['--json'], {
    format: 'messages',
    jobs: [{ id: '1', prompt: 'x', model: 'm', maxTokens: 100 }],
    answer: () => (times++ === 0 ? reply(200, { ...paused, usage }) : cut),
  });
  expect(ran.asked).toHaveLength(2);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    failed: 1,
    usage: { inputTokens: 10, outputTokens: 100 },
    failures: [{ error: { class: 'incomplete', billed: 'yes' } }],
  });
});
