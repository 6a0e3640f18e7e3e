import { expect } from 'vitest';
import { eventStream, messageEvents } from '../helpers/with-server.ts';
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

test('a profile that is not there, or has not the format, is told with its line', async ({
  server,
  folder,
  batch,
  env,
}) => {
  folder.jobs({ prompt: 'hi' }, { profile: 'tlak', prompt: 'hi' }, { ...chat, profile: 'pics' });
  const ran = await batch([], { env });
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('jobs.jsonl:2: no profile "tlak" ("profile" of the job)');
  expect(ran.stderr).toContain('jobs.jsonl:3: Google Gemini');
  folder.jobs({ profile: 'tlak', prompt: 'hi' });
  expect((await batch([], { env })).stderr).toContain('did you mean "profile":"talk"?');
  expect(server.bodies).toEqual([]);
});

test('--record keeps the exchanges of both without either key', async ({ folder, batch, env }) => {
  folder.jobs({ id: 'text', prompt: 'hi' }, chat);
  expect(await batch(['--record', 'kept'], { env })).toMatchObject({ code: 0 });
  expect(folder.ls('kept')).toHaveLength(2);
  const kept = folder.ls('kept').map((name) => folder.read(`kept/${name}`));
  for (const key of Object.values(keys)) expect(kept.join('')).not.toContain(key);
  expect(await batch(['--replay', 'kept', '-o', 'again'], { env })).toMatchObject({ code: 0 });
});

test('offline the local gateway answers the jobs of every profile', async ({ server, folder, batch, env }) => {
  folder.jobs({ id: 'text', prompt: 'hi' }, chat);
  expect(await batch(['--offline'], { env })).toMatchObject({ code: 0 });
  expect(server.bodies).toEqual([]);
});
