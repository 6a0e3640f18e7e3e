import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/index.ts';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { canaryKey } from '../helpers/with-server.ts';
import { runWith, workFolder } from './vendor-run.ts';
import { startVendors, type Vendors } from './vendors.ts';

// Google keeps requests that do not say `store: false`. They say so at its own host, and nowhere else.

let vendors: Vendors;
beforeAll(async () => void (vendors = await startVendors()));
afterAll(() => vendors.close());

const gemini = ['--service', 'gemini'];
const relay = [...gemini, '--base-url', 'https://relay.example'];

/** The member `store` of the body that a command would send; `missing` if it has none. */
async function storeOf(argv: readonly string[], config?: object): Promise<unknown> {
  const folder = scratchFolder();
  const env = { GATEWAY_API_KEY: canaryKey, GATEWAY_CONFIG: join(folder, 'config.json') };
  writeFileSync(env.GATEWAY_CONFIG, JSON.stringify(config ?? {}), { mode: 0o600 });
  const ran = await run([...argv, '--dry-run', '--json', '-m', 'm'], { env });
  expect(ran).toMatchObject({ code: 0 });
  const { body } = JSON.parse(ran.stdout) as { body: Record<string, unknown> };
  return body['store'] ?? 'missing';
}

test.for([
  ['a text', ['text', 'hi', ...gemini], false],
  ['a streamed text', ['text', 'hi', '--stream', ...gemini], false],
  ['a chat', ['chat', 'hi', ...gemini], false],
  ['a picture', ['image', 'gen', 'hi', ...gemini], false],
  ['a text with --store', ['text', 'hi', '--store', ...gemini], 'missing'],
  ['a text whose body says it', ['text', 'hi', '--body', '{"store":true}', ...gemini], true],
  ['a text whose --set says it', ['text', 'hi', '--set', 'store=true', ...gemini], true],
  ['a text to a relay', ['text', 'hi', ...relay], 'missing'],
  ['a text to a gateway', ['text', 'hi', '--base-url', 'https://gateway.example'], 'missing'],
  ['a text to Anthropic', ['text', 'hi', '--service', 'anthropic'], 'missing'],
  ['a picture of OpenAI with --store', ['image', 'gen', 'hi', '--service', 'openai', '--store'], 'missing'],
] as const)('%s says of being kept what it is to say', async ([, argv, store]) => {
  expect(await storeOf(argv)).toBe(store);
});

test('a profile can allow that its requests are kept', async () => {
  const profiles = { work: { service: 'gemini', store: true } };
  expect(await storeOf(['text', 'hi'], { profile: 'work', profiles })).toBe('missing');
});

test('a count of tokens does not say it: nothing of it is kept', async () => {
  const client = createClient({ service: 'gemini', apiKey: canaryKey });
  const prepared = await client.prepare({ model: 'm', prompt: 'hi' });
  expect(prepared.post.body).toMatchObject({ store: false });
  const kept = await client.prepare({ model: 'm', prompt: 'hi', store: true });
  expect(kept.post.body).not.toHaveProperty('store');
  await client.close();
});

test('a batch that was begun without it goes on: a job is the same request with it and without', async () => {
  const cwd = workFolder();
  writeFileSync(join(cwd, 'jobs.jsonl'), '{"id":"a","prompt":"hi","store":true}\n');
  const begun = await runWith(vendors, 'gemini', 'batch jobs.jsonl -o out', { cwd });
  expect(begun).toMatchObject({ code: 0 });
  // A batch looks at the list of models first.
  const posted = begun.requests.filter(({ method }) => method === 'POST');
  expect(posted.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ]);
  writeFileSync(join(cwd, 'jobs.jsonl'), '{"id":"a","prompt":"hi"}\n');
  expect(await runWith(vendors, 'gemini', 'batch jobs.jsonl -o out', { cwd })).toMatchObject({ code: 0, requests: [] });
});

test('a recording that was made without it answers a request with it', async () => {
  const cwd = workFolder();
  mkdirSync(join(cwd, 'calls'));
  const recorded = await runWith(vendors, 'gemini', 'text hi --store --record calls', { cwd });
  expect(recorded).toMatchObject({ code: 0, requests: [{}] });
  const replayed = await runWith(vendors, 'gemini', 'text hi --replay calls', { cwd });
  expect(replayed).toMatchObject({ code: 0, stdout: recorded.stdout, requests: [] });
});
