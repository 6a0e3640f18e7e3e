import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServedService, serviceRules } from '../../src/gateway/service.ts';
import { anthropicKey, startAnthropic } from '../fake-servers/anthropic.ts';
import { geminiKey, startGemini } from '../fake-servers/gemini.ts';
import { openAiKey, startOpenAi } from '../fake-servers/openai.ts';
import type { FakeServer } from '../fake-servers/start.ts';
import { completion, dig, key, message, sharedGateway, startGateway, turn } from './gateway-under-test.ts';

const names = ['gemini', 'anthropic', 'openai'] as const;
const localNames = ['local-text', 'local-chat', 'local-image', 'local-edit'];
const real = new Map<ServedService, FakeServer>();
const played = {
  openai: sharedGateway({ key: openAiKey, rules: serviceRules.openai }),
  gemini: sharedGateway({ key: geminiKey, rules: serviceRules.gemini }),
  anthropic: sharedGateway({ key: anthropicKey, rules: serviceRules.anthropic }),
};
beforeAll(async () => {
  real.set('gemini', await startGemini({ models: localNames }));
  real.set('anthropic', await startAnthropic({ models: ['local-text', 'local-chat'] }));
  real.set('openai', await startOpenAi({ models: [...localNames, 'gpt-4o', 'gpt-5', 'gpt-image-1'] }));
});
afterAll(async () => {
  await Promise.all([...real.values()].map((server) => server.close()));
});

interface Asked {
  method?: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  model?: string;
  /** Further fields of the body. */
  more?: object;
}

function bodyOf({ path, model = 'local-chat', more }: Asked): object {
  if (path.startsWith('/v1/messages')) return message('hi', { model });
  if (path.startsWith('/v1/chat')) return completion('hi', { model, ...more });
  return path.startsWith('/v1/images') ? { prompt: 'hi', model, ...more } : turn('hi');
}

async function ask(server: { url: string } | undefined, asked: Asked) {
  const { method = 'POST', path, headers } = asked;
  const body = bodyOf(asked);
  const response = await fetch(`${server?.url}${path}`, {
    method,
    headers: { ...(method === 'POST' && { 'content-type': 'application/json' }), ...headers },
    ...(method === 'POST' && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const type = response.headers.get('content-type');
  return {
    status: response.status,
    type: type?.split(';')[0] ?? null,
    json: text.startsWith('{') ? JSON.parse(text) : undefined,
  };
}

const text = '/v1beta/models/local-text:generateContent';
const google = { 'x-goog-api-key': geminiKey };
/** What the vendor's client sends since its version 1.0. */
const currentClient = { authorization: `Bearer ${anthropicKey}`, 'anthropic-version': '2026-10-21' };
const chat = '/v1/chat/completions';
const images = '/v1/images/generations';
const bearer = { authorization: `Bearer ${openAiKey}` };
const gptImage = { model: 'gpt-image-1', headers: bearer };
const version = { 'anthropic-version': '2023-06-01' };
const rows: [name: ServedService, what: string, asked: Asked, status: number, words: string][] = [
  ['gemini', 'no key', { path: text }, 401, 'no API key: send x-goog-api-key'],
  ['gemini', "another service's header", { path: text, headers: { 'x-api-key': geminiKey } }, 401, 'no API key'],
  ['gemini', 'a wrong key', { path: text, headers: { 'x-goog-api-key': 'wrong' } }, 401, 'not valid'],
  [
    'gemini',
    "another service's model",
    { path: text.replace('local-text', 'claude-x'), headers: google },
    404,
    'local-text',
  ],
  ['gemini', "another service's path", { path: '/v1/messages', headers: google }, 404, 'does not have /v1/messages'],
  ['anthropic', 'no key', { path: '/v1/messages', headers: version }, 401, 'no API key: send x-api-key'],
  [
    'anthropic',
    "another service's header",
    { path: '/v1/messages', headers: { ...version, ...google } },
    401,
    'no API key',
  ],
  [
    'anthropic',
    'no version',
    { path: '/v1/messages', headers: { 'x-api-key': anthropicKey } },
    400,
    'anthropic-version: header is required',
  ],
  [
    'anthropic',
    "another service's path",
    { path: text, headers: { ...version, 'x-api-key': anthropicKey } },
    404,
    'does not have',
  ],
  ['openai', 'no key', { path: chat }, 401, 'no API key: send Authorization: Bearer'],
  [
    'openai',
    'a wrong key',
    { path: chat, headers: { authorization: 'Bearer sk-wrong-key-0123456789' } },
    401,
    'Incorrect',
  ],
  ['openai', "another service's model", { path: chat, model: 'claude-x', headers: bearer }, 404, 'claude-x'],
  [
    'openai',
    'a model that is not in its list',
    { method: 'GET', path: '/v1/models/x', headers: bearer },
    404,
    'local-chat',
  ],
];

const ofFormat = { gemini: ['error', 'status'], anthropic: ['error', 'type'], openai: ['error', 'code'] } as const;

test.each(rows)('a gateway that stands for %s refuses %s in its shape', async (name, _what, asked, status, words) => {
  const told = await ask(played[name], asked);
  expect([told.status, dig(told.json, 'error', 'message')]).toEqual([status, expect.stringContaining(words)]);
  expect(dig(told.json, ...ofFormat[name])).not.toBe(undefined);
});

describe('as one service', () => {
  test("it answers that service's own requests, and its vendor's models", async () => {
    const headers = { ...version, 'x-api-key': anthropicKey };
    const statuses = await Promise.all([
      ask(played.gemini, { path: text, headers: google }),
      ask(played.gemini, { path: `${text}?key=${geminiKey}` }),
      ask(played.gemini, { path: text.replace('local-text', 'gemini-2.5-flash'), headers: google }),
      ask(played.anthropic, { path: '/v1/messages', headers }),
      ask(played.anthropic, { path: '/v1/messages', headers: currentClient }),
      ask(played.anthropic, { method: 'GET', path: '/v1/models', headers: currentClient }),
      ask(played.anthropic, { path: '/v1/messages', model: 'claude-sonnet-4-5', headers }),
      ask(played.openai, { path: chat, headers: bearer }),
      ask(played.openai, { path: chat, model: 'gpt-5', headers: bearer }),
      ask(played.openai, { path: images, ...gptImage }),
    ]);
    for (const { status } of statuses) expect(status).toBe(200);
  });

  const lists: [ServedService, string, Record<string, string>][] = [
    ['gemini', '/v1beta/models', google],
    ['anthropic', '/v1/models', { ...version, 'x-api-key': anthropicKey }],
  ];
  test.each(lists)('a gateway that stands for %s lists the local models at %s', async (name, path, headers) => {
    const asked: Asked = { method: 'GET', path, headers };
    const [ours, theirs] = [await ask(played[name], asked), await ask(real.get(name), asked)];
    expect(ours.status).toBe(200);
    expect(listed(ours.json)).toEqual(listed(theirs.json));
  });

  test.each(names)('a gateway that stands for %s still shows that it is there', async (name) => {
    expect((await fetch(`${played[name].url}/healthz`)).status).toBe(200);
  });
});

const missing: [ServedService, path: string][] = [
  ['gemini', '/v1beta/tunedModels'],
  ['gemini', '/v1beta/interactions'],
  ['gemini', '/v1beta/corpora/c1'],
  ['gemini', '/v1beta/cachedContents'],
  ['gemini', '/v1beta/models/gemini-x:embedContent'],
  ['gemini', '/v1alpha/authTokens'],
  ['anthropic', '/v1/skills'],
  ['anthropic', '/v1/files'],
  ['openai', '/v1/assistants'],
  ['openai', '/v1/embeddings'],
  ['openai', '/v1/images/variations'],
];
test.each(missing)(
  'a gateway that stands for %s says in JSON that it does not have %s, and where its paths are',
  async (name, path) => {
    const { status, json } = await ask(played[name], { path });
    const told = dig(json, 'error', 'message');
    expect([status, told]).toEqual([
      404,
      `the local gateway does not have ${path}; its paths are in: gateway-cli help serve`,
    ]);
  },
);

describe('at a path that several vendors have', () => {
  const gateway = sharedGateway();
  const get = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(gateway.url + path, { headers });
    return { status: response.status, json: (await response.json()) as unknown };
  };

  test.each(['/v1/files', '/v1/batches'])('the key says whose %s is meant', async (path) => {
    const list = path.endsWith('files') ? 'files' : 'operations';
    expect(await get(path, { 'x-goog-api-key': key })).toEqual({ status: 200, json: { [list]: [] } });
    expect(await get(`${path}?key=${key}`, {})).toEqual({ status: 200, json: { [list]: [] } });
    expect(await get(path, { authorization: `Bearer ${key}` })).toMatchObject({ json: { object: 'list', data: [] } });
  });

  test("Anthropic's files are not found, in the words of Anthropic", async () => {
    expect(await get('/v1/files', { 'x-api-key': key, ...version })).toMatchObject({
      status: 404,
      json: {
        type: 'error',
        error: { type: 'not_found_error', message: expect.stringContaining('does not have /v1/files') },
      },
    });
  });
});

interface List {
  models?: { name: string }[];
  data?: { id: string }[];
}

/** Names and marks of a page, without what distinguishes the models. */
function listed(json: unknown): object {
  const { models, data, ...marks } = json as List;
  return { ...marks, names: models?.map(({ name }) => name) ?? data?.map(({ id }) => id) };
}

test("Vercel's client finds the messages without the version in the path", async () => {
  const gateway = await startGateway();
  expect((await gateway.post('/messages', message('hi'))).status).toBe(200);
  await gateway.close();
});
