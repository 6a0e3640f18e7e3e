import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run } from '../../../helpers/run.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { type ScriptedServer, startScriptedServer } from '../../../helpers/scripted-server.ts';
import { textReply } from '../../../helpers/with-server.ts';

const keys = { pics: 'canary-of-pics-5510', talk: 'canary-of-talk-8841' };

async function start(): Promise<ScriptedServer> {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  server.reply({ headers: { date: new Date().toUTCString(), connection: 'close' } });
  return server;
}

/** A service of each vendor on this machine, and a profile of each. */
async function place(ofTalk: object = { apiKey: keys.talk, models: { chat: 'c' } }) {
  const [pics, talk] = [await start(), await start()];
  const file = join(scratchFolder(), 'config.json');
  const profiles = {
    pics: { service: 'gemini', baseUrl: pics.url, apiKey: keys.pics, models: { text: 't', image: 'i' } },
    talk: { service: 'anthropic', baseUrl: talk.url, ...ofTalk },
  };
  writeFileSync(file, JSON.stringify({ profile: { text: 'pics', image: 'pics', chat: 'talk' }, profiles }), {
    mode: 0o600,
  });
  const cli = (...argv: string[]) => run(['doctor', ...argv], { env: { GATEWAY_CONFIG: file } });
  return { pics, talk, cli };
}

test('every profile in use is examined, each with its own key', async () => {
  const { pics, talk, cli } = await place();
  pics.reply({ body: textReply('hi') });
  talk.reply({ status: 401, body: { error: { type: 'authentication_error', message: 'invalid x-api-key' } } });
  const ran = await cli('--live', '--json');
  const { checks } = JSON.parse(ran.stdout) as { checks: { name: string; profile?: string; state: string }[] };
  const stateOf = (name: string) =>
    checks.filter((check) => check.name === name).map(({ profile, state }) => [profile, state]);
  for (const name of ['base URL', 'key', 'models', 'connection']) {
    expect(stateOf(name)).toEqual([
      ['pics', 'ok'],
      ['talk', 'ok'],
    ]);
  }
  expect([stateOf('content, api-key'), stateOf('messages')]).toEqual([[['pics', 'ok']], [['talk', 'failed']]]);
  expect(ran.code).toBe(3);
  expect(pics.requests.map(({ headers }) => headers['x-goog-api-key'])).toEqual([undefined, keys.pics]);
  expect(talk.requests.map(({ headers }) => headers['x-api-key'])).toEqual([undefined, keys.talk]);
});

test('a failure names its profile, and what mends it too', async () => {
  const { pics, cli } = await place({});
  pics.reply({ body: { models: [{ name: 'models/t' }] } });
  const ran = await cli();
  expect(ran.stdout).toMatch(/^ok {6}key {15}pics: there is one/m);
  expect(ran.stdout).toMatch(/^ok {6}models {12}talk: chat claude-sonnet-5-5/m);
  expect(ran.stderr).toContain('one check failed: key of talk\n');
});

test('the key of the completions format goes out as the profile says, and the form that is taken is found', async () => {
  const server = await start();
  server.always(({ method, headers }) => {
    if (method !== 'POST') return { status: 404 };
    if (headers['authorization'] === undefined) return { status: 401, body: {} };
    return { body: { choices: [{ index: 0, message: { role: 'assistant', content: 'h' }, finish_reason: 'length' }] } };
  });
  const GATEWAY_CONFIG = join(scratchFolder(), 'config.json');
  const work = { baseUrl: server.url, apiKey: keys.talk, format: 'completions', auth: { completions: 'api-key' } };
  const profiles = { work: { ...work, models: { text: 't', chat: 'c' } } };
  writeFileSync(GATEWAY_CONFIG, JSON.stringify({ profiles }), { mode: 0o600 });
  const ran = await run(['doctor', '--live', '--json', '--profile', 'work'], { env: { GATEWAY_CONFIG } });
  expect(ran.code).toBe(3);
  const { checks } = JSON.parse(ran.stdout) as { checks: { fix?: string }[] };
  const fixes = checks.flatMap(({ fix = '' }) => (fix.includes('auth') ? [fix] : []));
  expect(fixes).toEqual(['gateway-cli config set auth.completions bearer --profile work']);
});
