import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { startOllama } from '../../../fake-servers/ollama.ts';
import { run } from '../../../helpers/run.ts';
import { reset, startScriptedServer } from '../../../helpers/scripted-server.ts';
import { canaryKey, test } from '../../../helpers/with-server.ts';
import type { Check } from '../../../../src/cli/commands/doctor/checks.ts';

/** What the HEAD of the examination is answered with. */
const head = { status: 404, headers: { date: new Date().toUTCString(), connection: 'close' } };
/** What a list of models is asked with, by which the key is tried. */
const noList = { status: 404, body: 'there is none' };
const someList = { body: { models: [{ name: 'models/m' }] } };

test.for([
  ['a key that both lists refuse', [{ status: 401 }, { status: 401 }], 'FAILED', 3],
  ['lists that are not there', [noList, noList], 'skipped', 0],
  ['one list that is not there, and a refusal', [{ status: 401 }, noList], 'skipped', 0],
] as const)(
  '%s decides what is said about the key, with the mistakes first',
  async ([, replies, state, code], { server, cli }) => {
    server.reply(head);
    for (const reply of replies) server.reply(reply);
    const ran = await cli(['doctor']);
    expect(ran.code).toBe(code);
    expect(ran.stdout).toMatch(new RegExp(`^${state} +key taken`));
    expect(ran.stdout).not.toContain('baseUrl =');
  },
);

test('a list that does not come costs nothing', async ({ server, cli }) => {
  server.reply(head);
  server.reply({ raw: [reset] });
  expect((await cli(['doctor'])).stdout).toContain('run the same command again: a list costs nothing\n');
});

test('a service that takes requests without a key needs none', async ({ server }) => {
  server.reply(head);
  server.reply({ body: { object: 'list', data: [{ id: 'llama3.2:latest', object: 'model' }] } });
  const ran = await run(['doctor', '--service', 'ollama', '--base-url', server.url, '-m', 'llama3.2']);
  expect(ran.code).toBe(0);
  expect(ran.stdout).toMatch(/^ok +key +none is needed$/m);
  expect(ran.stdout).toMatch(/^ok +key taken +the list of one model came without one: llama3\.2:latest$/m);
});

test('a certificate is trusted through --cacert, and without it the fix names that flag', async () => {
  const folder = join(import.meta.dirname, '../../../fixtures/tls');
  const pem = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const tls = { key: pem('server.key'), cert: pem('server.pem') };
  const server = await startScriptedServer({ tls });
  onTestFinished(() => server.close());
  server.reply(head);
  server.reply(someList);
  const env = {
    GATEWAY_API_KEY: canaryKey,
    GATEWAY_MODEL: 'm',
    GATEWAY_IMAGE_MODEL: 'm',
    GATEWAY_BASE_URL: `https://localhost:${server.port}`,
  };
  const trusted = await run(['doctor', '--json', '--cacert', join(folder, 'ca.pem')], { env });
  const { checks } = JSON.parse(trusted.stdout) as { checks: Check[] };
  expect(checks.findLast(({ name }) => name === 'connection')?.state).toBe('ok');
  const unknown = await run(['doctor', '--json'], { env });
  expect(unknown.code).toBe(7);
  const found = (JSON.parse(unknown.stdout) as { checks: Check[] }).checks.find(({ name }) => name === 'connection');
  expect(found).toMatchObject({ state: 'failed', fix: expect.stringContaining('--cacert') as string });
});

test('doctor without models says how to name one, how to list them, and how to set one for each use', async ({
  server,
}) => {
  server.reply(head);
  server.reply({ body: { models: Array.from({ length: 7 }, (_, n) => ({ name: `models/m${n}` })) } });
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: canaryKey };
  const ran = await run(['doctor', '--json'], { env });
  expect(ran.code).toBe(2);
  const { checks } = JSON.parse(ran.stdout) as { checks: Check[] };
  const set = ['text', 'image'].map((use) => `gateway-cli config set models.${use} <model>`).join('\n');
  expect(checks.find(({ name }) => name === 'models')).toMatchObject({
    fix: `name one each time: -m <model>; to see them: gateway-cli models\nor for good: ${set}`,
  });
  expect(checks.find(({ name }) => name === 'key taken')?.text).toMatch(/^the list of 7 .*: m0, m1, m2, m3, m4, …$/);
});

test('doctor without models says also how to set the service that a flag names', async ({ server }) => {
  server.reply(head);
  server.reply({ body: { data: [{ id: 'llama3.2:latest' }] } });
  const flags = `--service groq --base-url ${server.url}`;
  const env = { GATEWAY_API_KEY: 'key-0123456789' };
  const ran = await run(['doctor', '--json', ...flags.split(' ')], { env });
  const { checks } = JSON.parse(ran.stdout) as { checks: Check[] };
  const set = ['service groq', 'models.text <model>'].map((setting) => `gateway-cli config set ${setting}`).join('\n');
  expect(checks.find(({ name }) => name === 'models')).toMatchObject({
    fix: `name one each time: -m <model>; to see them: gateway-cli models ${flags}\nor for good: ${set}`,
  });
});

test("doctor says that a server of one's own answers with a model of its list", async ({ server }) => {
  server.reply(head);
  server.reply({ body: { data: [{ id: 'llama3.2:latest' }] } });
  const ran = await run(['doctor', '--service', 'ollama', '--base-url', server.url]);
  expect(ran.code).toBe(0);
  expect(ran.stdout).toMatch(
    /^ok +models +text the newest of its list, image .*, edit .*, chat the newest of its list$/m,
  );
});

test("doctor --live asks the model of its list that a server of one's own answers with", async () => {
  const server = await startOllama();
  onTestFinished(() => server.close());
  const ran = await run(['doctor', '--live', '--service', 'ollama', '--base-url', server.url]);
  expect(ran.code).toBe(0);
  expect(ran.stdout).toMatch(/^ok +completions +accepted$/m);
  const asked = server.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body) as object);
  expect(asked).toEqual([expect.objectContaining({ model: 'llama3.2:latest' })]);
});
