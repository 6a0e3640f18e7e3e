import { describe, expect, it } from 'vitest';
import { dig, key, startGateway, sharedGateway } from '../gateway-under-test.ts';
import { anthropicApi, type BatchApi, geminiApi, linesOf, openAiApi, speaker, type Spoken } from './apis.ts';

const gateway = sharedGateway({ batchDelay: 10 });
const apis: [name: string, api: BatchApi][] = [
  ['Anthropic', anthropicApi(gateway)],
  ['OpenAI', openAiApi(gateway, 'chat/completions')],
  ['OpenAI responses', openAiApi(gateway, 'responses')],
  ['Gemini inline', geminiApi(gateway, false)],
  ['Gemini by file', geminiApi(gateway, true)],
  // What the official SDKs call since their version 3.
  ['Gemini at v1', geminiApi(gateway, true, 'v1')],
];

/** Polls until a batch is over. */
async function ended(api: BatchApi, id: string): Promise<unknown> {
  let got: Spoken | undefined;
  await expect
    .poll(async () => api.isOver((got = await api.get(id)).json), { timeout: 30_000, interval: 5 })
    .toBe(true);
  return got?.json;
}

it('edits of pictures are requests of a batch too', async () => {
  const api = openAiApi(gateway, 'images/edits');
  const created = await api.create('local-edit', ['a']);
  expect(await api.results(await ended(api, api.idOf(created.json)))).toEqual(['a 200']);
});

describe.each(apis)('%s', (title, api) => {
  const name = title.replace(' responses', '');
  const ok = name === 'OpenAI' ? '200' : 'succeeded';
  const failed = name === 'OpenAI' ? '500' : name === 'Anthropic' ? 'errored' : '13';
  const run = async (model: string, ids: readonly string[]): Promise<string[]> => {
    const created = await api.create(model, ids);
    expect(created.status).toBe(200);
    return api.results(await ended(api, api.idOf(created.json)));
  };

  it('answers each request with its own id', async () => {
    expect(await run('local-text', ['a', 'b', 'c'])).toEqual([`a ${ok}`, `b ${ok}`, `c ${ok}`]);
  });

  it('a request that is refused does not end the batch', async () => {
    const refused = { OpenAI: '503', Anthropic: 'errored' }[name] ?? '14';
    expect(await run('fault-503', ['a'])).toEqual([`a ${refused}`]);
  });

  it('fault-batch-lost-answer is created though its reply is lost', async () => {
    expect((await api.create('fault-batch-lost-answer', ['a'])).status).toBe(0);
    const found = await api.list();
    expect(await api.results(await ended(api, api.idOf(found)))).toEqual([`a ${ok}`]);
  });

  it('fault-batch-partial fails every second request', async () => {
    expect((await run('fault-batch-partial', ['a', 'b', 'c'])).toSorted()).toEqual(
      [`a ${ok}`, `b ${failed}`, `c ${ok}`].toSorted(),
    );
  });

  it('fault-batch-wrong-order swaps neighbours', async () => {
    expect(await run('fault-batch-wrong-order', ['a', 'b', 'c'])).toEqual([`b ${ok}`, `a ${ok}`, `c ${ok}`]);
  });

  it('fault-batch-doubled brings each result twice', async () => {
    expect(await run('fault-batch-doubled', ['a', 'b'])).toEqual([`a ${ok}`, `a ${ok}`, `b ${ok}`, `b ${ok}`]);
  });

  it('fault-batch-404-at-first is not found twice', async () => {
    const id = api.idOf((await api.create('fault-batch-404-at-first', ['a'])).json);
    expect([(await api.get(id)).status, (await api.get(id)).status, (await api.get(id)).status]).toEqual([
      404, 404, 200,
    ]);
  });

  it('fault-batch-expired answers the first half', async () => {
    const created = await api.create('fault-batch-expired', ['a', 'b']);
    const json = await ended(api, api.idOf(created.json));
    const states: Record<string, string> = { Anthropic: 'ended', OpenAI: 'expired' };
    expect(api.stateOf(json)).toBe(states[name] ?? 'BATCH_STATE_EXPIRED');
    const results: Record<string, string[]> = {
      Anthropic: ['a succeeded', 'b expired'],
      OpenAI: ['a 200', 'b batch_expired'],
    };
    expect(await api.results(json)).toEqual(results[name] ?? []);
  });

  it('fault-batch-stuck goes on after a later batch has ended, until it is canceled', async () => {
    const id = api.idOf((await api.create('fault-batch-stuck', ['a'])).json);
    await run('local-text', ['a']);
    const states: Record<string, string> = { Anthropic: 'in_progress', OpenAI: 'in_progress' };
    expect(api.stateOf((await api.get(id)).json)).toBe(states[name] ?? 'BATCH_STATE_RUNNING');
    expect((await api.cancel(id)).status).toBe(200);
    const json = await ended(api, id);
    const results: Record<string, string[]> = { Anthropic: ['a canceled'], OpenAI: ['a batch_cancelled'] };
    expect(await api.results(json)).toEqual(results[name] ?? []);
  });

  it('an unknown batch is 404', async () => {
    expect((await api.get(name.startsWith('Gemini') ? 'batches/none' : 'none')).status).toBe(404);
  });
});

const openAi = speaker(gateway, { authorization: `Bearer ${key}` });
const gemini = speaker(gateway, { 'x-goog-api-key': key });
const anthropic = speaker(gateway, { 'x-api-key': key, 'anthropic-version': '2023-06-01' });

describe('requests that are refused', () => {
  const params = { model: 'local-chat', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] };
  const rows: [what: string, ask: () => Promise<Spoken>, status: number, words: string][] = [
    [
      'no requests',
      () => anthropic('POST', '/v1/messages/batches', { requests: [] }),
      400,
      'requests must not be empty',
    ],
    [
      'an id that is there twice',
      () =>
        anthropic('POST', '/v1/messages/batches', {
          requests: [
            { custom_id: 'a', params },
            { custom_id: 'a', params },
          ],
        }),
      400,
      "requests.1.custom_id: 'a' is there twice",
    ],
    [
      'a wrong window',
      () =>
        openAi('POST', '/v1/batches', {
          input_file_id: 'f',
          endpoint: '/v1/chat/completions',
          completion_window: '1h',
        }),
      400,
      "Invalid 'completion_window': Input should be '24h'",
    ],
    ['a form without a file', () => openAi('POST', '/v1/files', new FormData()), 400, "'file' is a required property"],
    [
      'neither requests nor file',
      () => gemini('POST', '/v1beta/models/m:batchGenerateContent', { batch: { inputConfig: {} } }),
      400,
      'exactly one of requests and fileName',
    ],
    ['an upload that nobody began', () => gemini('POST', '/upload/v1beta/files?upload_id=x', 'x'), 404, 'upload'],
    ['a file that is not there', () => gemini('GET', '/v1beta/files/none'), 403, 'may not exist'],
    ['a batch without a key', () => speaker(gateway, {})('GET', '/v1/batches'), 401, 'no API key'],
  ];
  it.each(rows)('%s', async (_what, ask, status, words) => {
    const { text, ...got } = await ask();
    expect(got.status).toBe(status);
    expect(text).toContain(words);
  });
});

describe('large batches', () => {
  it('have their results, whatever is in a line', async () => {
    const [, api] = apis[1] ?? [];
    const ids = Array.from({ length: 600 }, (_, index) => `job-${index}-ü\u2028`);
    const created = await api?.create('local-text', ids);
    const json = await ended(api as BatchApi, String(dig(created?.json, 'id')));
    expect(await api?.results(json)).toEqual(ids.map((id) => `${id} 200`));
  });

  it('are uploaded in pieces', async () => {
    const start = { 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' };
    const headers = { 'x-goog-api-key': key, 'content-type': 'application/json', ...start };
    const begun = await fetch(`${gateway.url}/upload/v1beta/files`, { method: 'POST', headers, body: '{}' });
    const place = begun.headers.get('x-goog-upload-url') ?? '';
    const line = (id: string): string =>
      `${JSON.stringify({ key: id, request: { contents: [{ parts: [{ text: 'x' }] }] } })}\n`;
    const [first, second] = [line('a').repeat(1000), line('b')];
    const send = (command: string, offset: number, body: string): Promise<Spoken> =>
      gemini('POST', place, body, { 'x-goog-upload-command': command, 'x-goog-upload-offset': String(offset) });
    expect((await send('upload', 0, first)).status).toBe(200);
    const { json } = await send('upload, finalize', first.length, second);
    expect(dig(json, 'file', 'sizeBytes')).toBe(String(first.length + second.length));
    const got = await gemini('GET', `/v1beta/${String(dig(json, 'file', 'name'))}:download?alt=media`);
    expect(linesOf(got.text)).toHaveLength(1001);
  });
});

it('lists batches, the newest first', async () => {
  const alone = await startGateway({ batchDelay: 5 });
  const api = anthropicApi(alone);
  const ids: string[] = [];
  for (const id of ['a', 'b', 'c']) ids.push(api.idOf((await api.create('local-chat', [id])).json));
  const speak = speaker(alone, { 'x-api-key': key, 'anthropic-version': '2023-06-01' });
  const { json } = await speak('GET', '/v1/messages/batches');
  expect((dig(json, 'data') as { id: string }[]).map(({ id }) => ids.indexOf(id))).toEqual([2, 1, 0]);
  await alone.close(0);
});

describe('the tier that served a request is named', () => {
  const content = [{ parts: [{ text: 'x' }] }];
  it.each([
    ['/v1beta/models/local-text:generateContent', { contents: content, serviceTier: 'flex' }, 'usageMetadata', 'flex'],
    ['/v1beta/models/local-text:generateContent', { contents: content }, 'usageMetadata', undefined],
  ])('%s %j', async (path, body, usage, tier) => {
    expect(dig((await gemini('POST', path, body)).json, usage, 'serviceTier')).toBe(tier);
  });

  it('by OpenAI and in a batch of Anthropic', async () => {
    const body = { model: 'local-chat', messages: [{ role: 'user', content: 'x' }], service_tier: 'flex' };
    expect(dig((await openAi('POST', '/v1/chat/completions', body)).json, 'service_tier')).toBe('flex');
    const [, api] = apis[0] ?? [];
    const created = await api?.create('local-chat', ['a']);
    const json = await ended(api as BatchApi, String(dig(created?.json, 'id')));
    const { text } = await anthropic('GET', String(dig(json, 'results_url')));
    expect(dig(linesOf(text)[0], 'result', 'message', 'usage', 'service_tier')).toBe('batch');
  });
});
