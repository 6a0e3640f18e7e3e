import { expect, onTestFinished } from 'vitest';
import { type ScriptedServer, startScriptedServer } from '../helpers/scripted-server.ts';
import { eventStream, messageEvents, textReply } from '../helpers/with-server.ts';
import { type CountingServer, startCountingServer } from './counting-server.ts';
import { test as base } from './with-batch.ts';

const keys = { pics: 'canary-of-pics-5510', talk: 'canary-of-talk-8841' };
const chat = { id: 'talk', command: 'chat', prompt: 'hello' };

/** Two services on this machine, and a config that has a profile of each. */
const test = base.extend<{ talk: CountingServer; env: Record<string, string> }>({
  talk: async ({}, use) => {
    const server = await startCountingServer();
    server.answer = () => ({
      headers: { 'content-type': 'text/event-stream' },
      body: eventStream(...messageEvents('hi')),
    });
    await use(server);
    await server.close();
  },
  env: async ({ server, talk, folder }, use) => {
    const profiles = {
      pics: { service: 'gemini', baseUrl: server.url, apiKey: keys.pics, models: { text: 't' } },
      talk: { service: 'anthropic', baseUrl: talk.url, apiKey: keys.talk, models: { chat: 'c' } },
    };
    folder.write('config.json', JSON.stringify({ profile: { text: 'pics', chat: 'talk' }, profiles }));
    const unset = { GATEWAY_BASE_URL: '', GATEWAY_API_KEY: '', GATEWAY_MODEL: '', GATEWAY_IMAGE_MODEL: '' };
    await use({ ...unset, GATEWAY_CONFIG: `${folder.cwd}/config.json` });
  },
});

const keysAt = ({ headers }: CountingServer) => headers.map((one) => one['x-goog-api-key'] ?? one['x-api-key']);

test('jobs go to the profile of their use, each with its own key, and are not sent again', async ({
  server,
  talk,
  folder,
  batch,
  env,
}) => {
  folder.jobs({ id: 'text', prompt: 'hi' }, chat);
  expect(await batch([], { env })).toMatchObject({ code: 0 });
  expect([keysAt(server), keysAt(talk)]).toEqual([[keys.pics], [keys.talk]]);
  // In another order too, and beside a new job.
  folder.jobs(chat, { id: 'text', prompt: 'hi' }, { ...chat, id: 'new' });
  expect(await batch([], { env })).toMatchObject({ code: 0 });
  expect([server.bodies.length, talk.bodies.length]).toEqual([1, 2]);
});

test('no key and no header of a profile reaches the other service', async ({ server, talk, folder, batch, env }) => {
  const profiles = {
    pics: {
      service: 'gemini',
      baseUrl: server.url,
      models: { text: 't' },
      headers: { 'x-corp': 'corp-of-pics-90210' },
    },
    talk: {
      service: 'anthropic',
      baseUrl: talk.url,
      models: { chat: 'c' },
      headers: { 'x-corp': 'corp-of-talk-41122' },
    },
  };
  folder.write('config.json', JSON.stringify({ profile: { text: 'pics', chat: 'talk' }, profiles }));
  folder.jobs(
    ...['1', '2', '3'].flatMap((n) => [
      { id: `p${n}`, prompt: n },
      { ...chat, id: `t${n}` },
    ]),
  );
  // The second time each asks again after a 429: what waited goes to its own too.
  server.answer = (_, count) => (count === 1 ? { status: 429, headers: { 'retry-after': '0' } } : undefined);
  const vendor = { GEMINI_API_KEY: keys.pics, ANTHROPIC_API_KEY: keys.talk };
  const ran = await batch(['--verbose'], { env: { ...env, ...vendor } });
  expect(ran.code).toBe(0);
  expect(ran.stdout + ran.stderr).not.toContain('canary');
  const came = ({ headers, bodies }: CountingServer) => headers.map((one, at) => JSON.stringify([one, bodies[at]]));
  for (const [own, key, corp, other, count] of [
    [server, keys.pics, 'corp-of-pics-90210', /of-talk|x-api-key|anthropic/, 6],
    [talk, keys.talk, 'corp-of-talk-41122', /of-pics|x-goog/, 3],
  ] as const) {
    expect(came(own)).toHaveLength(count);
    for (const request of came(own)) {
      expect(request).toContain(key);
      expect(request).toContain(corp);
      expect(request).not.toMatch(other);
    }
  }
});

test('each profile goes through its own proxy, with its own key', async ({ folder, batch, env }) => {
  const profiles: Record<string, object> = {};
  const proxies: Record<string, ScriptedServer> = {};
  for (const [name, service, reply] of [
    ['pics', 'gemini', { body: textReply('hi') }],
    [
      'talk',
      'anthropic',
      { headers: { 'content-type': 'text/event-stream' }, body: eventStream(...messageEvents('hi')) },
    ],
  ] as const) {
    const proxy = await startScriptedServer();
    onTestFinished(() => proxy.close());
    proxy.reply(reply);
    const models = { text: 't', chat: 'c' };
    const way = { baseUrl: `http://${name}.test`, allowHttp: true, proxy: proxy.url };
    profiles[name] = { service, ...way, apiKey: keys[name], models };
    proxies[name] = proxy;
  }
  folder.write('config.json', JSON.stringify({ profile: { text: 'pics', chat: 'talk' }, profiles }));
  folder.jobs({ id: 'text', prompt: 'hi' }, chat);
  expect(await batch([], { env })).toMatchObject({ code: 0 });
  for (const [name, other] of [
    ['pics', 'talk'],
    ['talk', 'pics'],
  ] as const) {
    const { requests } = proxies[name] as ScriptedServer;
    expect(requests.map(({ method, headers }) => [method, headers['host']])).toEqual([['POST', `${name}.test`]]);
    const [request] = requests.map(({ headers }) => JSON.stringify(headers));
    expect(request).toContain(keys[name]);
    expect(request).not.toContain(keys[other]);
  }
});

test('the profile of a job wins over the flag', async ({ server, talk, folder, batch, env }) => {
  folder.jobs({ id: 'a', profile: 'pics', prompt: 'hi' }, chat);
  expect(await batch(['--profile', 'talk'], { env })).toMatchObject({ code: 0 });
  expect([server.bodies.length, talk.bodies.length]).toEqual([1, 1]);
});

test('a job that goes to another gateway is another request', async ({ server, talk, folder, batch, env }) => {
  const job = { ...chat, profile: 'talk' };
  folder.jobs({ id: 'text', prompt: 'hi' }, job);
  expect(await batch([], { env })).toMatchObject({ code: 0 });
  const config = JSON.parse(folder.read('config.json')) as { profiles: { talk: { baseUrl: string } } };
  config.profiles.talk.baseUrl = server.url;
  folder.write('config.json', JSON.stringify(config));
  const ran = await batch([], { env });
  expect(ran).toMatchObject({ code: 14 });
  expect(ran.stderr).toContain('talk');
  expect([server.bodies.length, talk.bodies.length]).toEqual([1, 1]);
});

test('a profile that does not exist, or whose service lacks the command, is named with its line', async ({
  server,
  folder,
  batch,
  env,
}) => {
  folder.jobs(
    { prompt: 'hi' },
    { profile: 'tlak', prompt: 'hi' },
    { command: 'image gen', profile: 'talk', prompt: 'hi' },
  );
  const ran = await batch([], { env });
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('jobs.jsonl:2: no profile "tlak" ("profile" of the job)');
  expect(ran.stderr).toContain('jobs.jsonl:3: Anthropic');
  folder.jobs({ profile: 'tlak', prompt: 'hi' });
  expect((await batch([], { env })).stderr).toContain('did you mean "profile":"talk"?');
  expect(server.bodies).toEqual([]);
});

test('--record keeps the exchanges of both profiles without either key', async ({ folder, batch, env }) => {
  folder.jobs({ id: 'text', prompt: 'hi' }, chat);
  expect(await batch(['--record', 'kept'], { env })).toMatchObject({ code: 0 });
  expect(folder.ls('kept')).toHaveLength(2);
  const kept = folder.ls('kept').map((name) => folder.read(`kept/${name}/1.jsonl`));
  for (const key of Object.values(keys)) expect(kept.join('')).not.toContain(key);
  expect(await batch(['--replay', 'kept', '-o', 'again'], { env })).toMatchObject({ code: 0 });
});

test('offline the local gateway answers the jobs of every profile', async ({ server, folder, batch, env }) => {
  folder.jobs({ id: 'text', prompt: 'hi' }, chat);
  expect(await batch(['--offline'], { env })).toMatchObject({ code: 0 });
  expect(server.bodies).toEqual([]);
});

test.for([
  ['GATEWAY_API_KEY', { GATEWAY_API_KEY: 'canary-of-nobody-1' }, []],
  ['GATEWAY_API_KEY_FILE', { GATEWAY_API_KEY_FILE: 'loose.key' }, []],
  ['--api-key-file', {}, ['--api-key-file', 'loose.key']],
  ['x-corp', {}, ['--header', '@loose.headers']],
] as const)(
  'what belongs to no origin goes to none of several: %s',
  async ([name, more, flags], { server, talk, folder, batch, env }) => {
    folder.write('loose.key', 'canary-of-nobody-2');
    folder.write('loose.headers', 'x-corp: canary-of-nobody-3');
    folder.jobs({ id: 'text', prompt: 'hi' }, chat);
    const ran = await batch(['jobs.jsonl', '-o', 'out', ...flags], { env: { ...env, ...more } });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(name);
    expect(ran.stderr).toContain(talk.url);
    expect(ran.stderr).toContain('gateway-cli config set');
    expect(ran.stderr).not.toContain('canary');
    expect([server.bodies.length, talk.bodies.length]).toEqual([0, 0]);
    // Of one origin it is the key.
    folder.jobs({ id: 'text', prompt: 'hi' });
    expect(await batch(['jobs.jsonl', '-o', 'one', ...flags], { env: { ...env, ...more } })).toMatchObject({ code: 0 });
  },
);
