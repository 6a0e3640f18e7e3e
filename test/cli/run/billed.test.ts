import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../../src/library/client/client.ts';
import { isGatewayError } from '../../../src/library/errors.ts';
import { type FakeReply, type FakeServer, startFakeServer } from '../../fake-servers/start.ts';
import { listenOnLoopback } from '../../helpers/loopback.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/*
 * A first attempt that may have been billed, and a last one that was not: whether the request may have been billed is one value, and
 * each word that is told of it says the same.
 */

const json = { 'content-type': 'application/json', 'retry-after': '0' };
const refusal = (status: number): FakeReply => ({
  status,
  headers: json,
  body: JSON.stringify({ error: { message: 'no', type: 'error', code: null, param: null } }),
});

/** A server that fails once, and then refuses. */
async function failThen(status: number): Promise<FakeServer> {
  let requests = 0;
  const server = await startFakeServer(({ path }) => {
    if (path.endsWith('/models')) return { status: 200, headers: json, body: '{"data":[{"id":"m"}]}' };
    return requests++ % 2 === 0 ? refusal(500) : refusal(status);
  });
  onTestFinished(() => server.close());
  return server;
}

const environment = (url: string): Record<string, string> => ({
  GATEWAY_BASE_URL: url,
  GATEWAY_FORMAT: 'completions',
  GATEWAY_API_KEY: 'key-0123456789',
  GATEWAY_MODEL: 'm',
  GATEWAY_IMAGE_MODEL: 'm',
});

/** What the budget of a folder counts. */
function ledgerOf(folder: string): string[] {
  const lines = readFileSync(join(folder, 'b.jsonl'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { type: string }).type).slice(2);
}

const price = JSON.stringify({ m: { input: '1', output: '10' } });

describe.each([400, 401, 404, 429])('after a 500, a %i', (status) => {
  test('is told as maybe billed in the JSON document, where each attempt was sent, as the ledger counts it', async () => {
    const server = await failThen(status);
    const cwd = scratchFolder();
    const argv = ['text', 'hi', '--max-tokens', '100', '--prices', price, '--budget', './b.jsonl:1', '--retries', '1'];
    const ran = await run([...argv, '--json'], { env: environment(server.url), cwd });
    expect(JSON.parse(ran.stdout)).toMatchObject({ attempts: 2, error: { status, sent: 'yes', billed: 'unknown' } });
    expect(ledgerOf(cwd)).toEqual(['reserved', 'spent', 'reserved', 'freed']);
  });

  test('counts against --max-cost of a chat: another attempt that could pass it is not sent', async () => {
    const server = await failThen(status);
    // An attempt can cost 0.0011.
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'tools.json'), '[{"name":"look"}]');
    const tools = ['--tools', 'tools.json', '--tool-exec', 'look=true', '--max-cost', '0.0015'];
    const argv = ['chat', 'hi', '--max-tokens', '100', '--prices', price, '--retries', '1', '--json', ...tools];
    const env = { ...environment(server.url), PATH: '/usr/bin:/bin' };
    const ran = await run(argv, { env, cwd });
    expect(ran.code).toBe(13);
    expect(JSON.parse(ran.stdout)).toMatchObject({ attempts: 1, error: { class: 'over-budget', billed: 'unknown' } });
    expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  test('is maybe billed in journal and results of a batch, and counts against --max-cost', async () => {
    const server = await failThen(status);
    const cwd = scratchFolder();
    const job = { prompt: 'x', maxTokens: 100 };
    writeFileSync(
      join(cwd, 'jobs.jsonl'),
      [1, 2, 3].map((id) => `${JSON.stringify({ id: `${id}`, ...job })}\n`).join(''),
    );
    const argv = ['batch', 'jobs.jsonl', '-o', 'out', '--concurrency', '1', '--retries', '1', '--prices', price];
    // An attempt can cost 0.0011: with that of the first job, the second one is not sent again after its 500.
    const ran = await run([...argv, '--max-cost', '0.0026'], { env: environment(server.url), cwd });
    expect(ran.code).toBe(13);
    expect(server.requests).toHaveLength(3);
    const read = (name: string) =>
      readFileSync(join(cwd, 'out', name), 'utf8')
        .trimEnd()
        .split('\n');
    expect(JSON.parse(read('results.jsonl')[0] ?? '')).toMatchObject({ error: { status, billed: 'unknown' } });
    const ended = read('journal.jsonl').map((line) => JSON.parse(line) as { t: string });
    expect(ended.find(({ t }) => t === 'failed')).toMatchObject({ error: { billed: 'unknown' } });
  });

  test('is maybe billed to the library, in the error and in what is known of a stream', async () => {
    const server = await failThen(status);
    const client = createClient({ baseUrl: server.url, format: 'completions', retries: 1 });
    onTestFinished(() => client.close());
    const stream = client.stream({ model: 'm', prompt: 'hi' });
    const error = await stream.reply().catch((thrown: unknown) => thrown);
    expect(isGatewayError(error) && [error.details.status, error.billed, error.details.sent]).toEqual([
      status,
      'unknown',
      'yes',
    ]);
    expect(stream.received()).toMatchObject({ attempts: 2, sent: 'yes', billed: 'unknown' });
  });
});

test('a retry that cannot connect does not take back that the attempt before may have been billed', async () => {
  const { url, http } = await listenOnLoopback((request, response) => {
    request.resume();
    // Nobody listens any more when the reply comes.
    http.close();
    response.writeHead(500, { ...json, connection: 'close' }).end('{}');
  });
  const cwd = scratchFolder();
  const argv = ['text', 'hi', '--max-tokens', '100', '--prices', price, '--budget', './b.jsonl:1', '--retries', '1'];
  const ran = await run([...argv, '--json'], { env: environment(url), cwd });
  const error = { class: 'not-sent', sent: 'yes', billed: 'unknown' };
  expect(JSON.parse(ran.stdout)).toMatchObject({ attempts: 2, error });
  expect(ledgerOf(cwd)).toEqual(['reserved', 'spent', 'reserved', 'freed']);
});

test('several pictures of which one was refused and another may have been billed are told so', async () => {
  const waiting: ServerResponse[] = [];
  const { url, close } = await listenOnLoopback((_, response) => {
    waiting.push(response);
    if (waiting.length < 2) return;
    for (const [at, status] of [400, 500].entries()) waiting[at]?.writeHead(status, json).end('{}');
  });
  onTestFinished(close);
  const argv = ['image', 'gen', 'hi', '-n', '2', '--concurrency', '2', '--retries', '0', '--json'];
  const ran = await run(argv, { env: environment(url), cwd: scratchFolder() });
  expect(JSON.parse(ran.stdout)).toMatchObject({ attempts: 2, error: { sent: 'yes', billed: 'unknown' } });
});

test.each([
  ['with a key', { GATEWAY_API_KEY: 'key-0123456789' }, 'unknown'],
  ['without a key', { GATEWAY_API_KEY: '' }, 'no'],
])('a 500 of Ollama at another host %s', async (_, key, billed) => {
  const server = await startFakeServer(() => refusal(500));
  onTestFinished(() => server.close());
  const env = { ...environment(server.url), GATEWAY_SERVICE: 'ollama', ...key };
  const ran = await run(['text', 'hi', '--retries', '0', '--json'], { env });
  expect(JSON.parse(ran.stdout)).toMatchObject({ error: { status: 500, billed } });
});
