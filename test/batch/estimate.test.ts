import { expect } from 'vitest';
import type { CountingServer } from './counting-server.ts';
import { test } from './with-batch.ts';

/** A service that counts: as many tokens as a prompt's name says, and a window of 1,000. */
function counts(server: CountingServer, { window = { inputTokenLimit: 1000 } as object | undefined } = {}): void {
  server.answer = (_prompt, _count, path) => {
    if (/^\/v1(?:beta)?\/models\/[^:]+$/.test(path)) return window ? { body: window } : { status: 404, body: '' };
    const text = JSON.stringify(server.bodies.at(-1)?.body);
    const tokens = Number(/tokens-(\d+)/.exec(text)?.[1]);
    if (path.endsWith(':countTokens')) return { body: { totalTokens: tokens } };
    return { body: { input_tokens: tokens } };
  };
}

const job = (id: string, tokens: number, more: object = {}) => ({ id, prompt: `tokens-${tokens}`, ...more });
const args = ['jobs.jsonl', '--estimate'];
const prices = { m: { input: '1', output: '10', flex: '0.5', batch: { input: '0.4', output: '4' } } };

test('counts at the service and prints tokens and the cost of each lane; nothing that is paid for is sent', async ({
  batch,
  server,
  folder,
}) => {
  folder.jobs(job('a', 100, { maxTokens: 50 }), job('b', 300, { maxTokens: 20, system: 's' }));
  counts(server);
  const { code, stdout, stderr } = await batch([...args, '--prices', JSON.stringify(prices), '--concurrency', '1']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(`2 jobs to send
m: 2 jobs, 400 input tokens, at most 70 output tokens
live: 0.0004 USD for the input, at most 0.0011 USD
batch: 0.00016 USD for the input, at most 0.00044 USD
flex: 0.0002 USD for the input, at most 0.00055 USD
`);
  const count = '/v1beta/models/m:countTokens';
  expect(server.bodies.map(({ path }) => path)).toEqual(['/v1beta/models/m', count, count]);
  expect(server.bodies[2]?.body).toEqual({
    generateContentRequest: {
      model: 'models/m',
      contents: [{ role: 'user', parts: [{ text: 'tokens-300' }] }],
      systemInstruction: { parts: [{ text: 's' }] },
      generationConfig: { maxOutputTokens: 20 },
    },
  });
  expect(folder.ls('.')).toEqual(['jobs.jsonl']);
});

test('an estimate counts all output at the price of thinking if that is higher', async ({ batch, server, folder }) => {
  folder.jobs(job('a', 100, { maxTokens: 50 }));
  counts(server);
  const thinking = { m: { input: '1', output: '10', thinking: '30' } };
  const { code, stdout } = await batch([...args, '--prices', JSON.stringify(thinking)]);
  expect(code).toBe(0);
  expect(stdout).toContain('live: 0.0001 USD for the input, at most 0.0016 USD\n');
});

test('an estimate in the messages format sends the fields that count, and no others', async ({
  batch,
  server,
  folder,
}) => {
  folder.jobs({ ...job('a', 12), command: 'chat', system: 's', temperature: 0.5 });
  counts(server, { window: { max_input_tokens: 10 } });
  const { code, stdout } = await batch([...args, '--format', 'messages']);
  expect(code).toBe(0);
  expect(stdout).toContain('m: 1 job, 12 input tokens, at most 4096 output tokens\n');
  expect(stdout).toContain('a (line 1) is too long: 12 tokens, m takes 10\n');
  expect(server.bodies.map(({ path }) => path)).toEqual(['/v1/models/m', '/v1/messages/count_tokens']);
  expect(server.bodies[1]?.body).toEqual({
    model: 'm',
    system: 's',
    messages: [{ role: 'user', content: 'tokens-12' }],
  });
});

test('names the jobs that do not fit the window of their model', async ({ batch, server, folder }) => {
  folder.jobs(job('a', 1000), job('b', 1001), job('c', 5));
  counts(server);
  const { stdout } = await batch([...args, '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    schema: 'gateway-cli/batch-estimate@1',
    due: 3,
    models: [{ model: 'm', jobs: 3, inputTokens: 2006, countedByBytes: 0, window: 1000, hasPrice: false }],
    lanes: {},
    tooLong: [{ id: 'b', line: 2, model: 'm', tokens: 1001, window: 1000 }],
    tooLongJobs: 1,
  });
});

test('an estimate counts by bytes if the service cannot count, and asks the service once', async ({
  batch,
  server,
  folder,
}) => {
  folder.jobs(job('a', 1), job('b', 2));
  server.answer = () => ({ status: 404, body: '' });
  const { code, stdout } = await batch([...args, '--concurrency', '1']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^m: 2 jobs, about \d+ input tokens, no limit of output tokens; 2 jobs counted by bytes$/m);
  expect(stdout).toContain('no price is set for m: see gateway-cli help costs\n');
  expect(server.bodies).toHaveLength(2);
});

test('the completions format has no count: nothing is asked', async ({ batch, server, folder }) => {
  folder.jobs(job('a', 1));
  const { stdout } = await batch([...args, '--format', 'completions']);
  expect(stdout).toContain('1 job counted by bytes');
  expect(server.bodies).toEqual([]);
});

test('a job that the service refuses to count is named, and the others are counted', async ({
  batch,
  server,
  folder,
}) => {
  folder.jobs(job('a', 1), job('b', 2));
  counts(server);
  const { answer } = server;
  server.answer = (prompt, count, path) =>
    JSON.stringify(server.bodies.at(-1)?.body).includes('tokens-1')
      ? { status: 400, body: { error: { message: 'not this one' } } }
      : answer(prompt, count, path);
  const { code, stdout, stderr } = await batch(args);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/a: the service did not count it: .*not this one/)]);
  expect(stdout).toContain('1 job counted by bytes');
});

test('a key that is refused ends the estimate', async ({ batch, server, folder }) => {
  folder.jobs(job('a', 1));
  server.answer = () => ({ status: 401, body: { error: { message: 'no such key' } } });
  expect(await batch(args)).toMatchObject({ code: 3, stdout: '' });
});

test('an estimate with a folder counts the jobs that would be sent now, and leaves the folder as it is', async ({
  batch,
  server,
  folder,
}) => {
  folder.jobs(job('a', 1));
  await batch();
  const before = `${folder.read('out/journal.jsonl')}{"type":"se`;
  folder.write('out/journal.jsonl', before);
  folder.jobs(job('a', 1), job('b', 2));
  counts(server);
  const { stdout, stderr } = await batch([...args, '-o', 'out']);
  expect(stderr).toContain('the last line of journal.jsonl is torn');
  expect(stdout).toContain('1 job to send, 1 done\nm: 1 job, 2 input tokens');
  expect(folder.read('out/journal.jsonl')).toBe(before);
  expect(folder.ls()).not.toContain('lock.json');
});
