import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../src/gateway/app.ts';
import { listen, type Listening } from '../../src/gateway/listen.ts';
import { createUpstreamHandler } from '../../src/gateway/upstream.ts';
import { openHttpConnection } from '../../src/library/transport/connection.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { shell } from '../helpers/spawn.ts';
import { packages, runScript as run } from './installed.ts';

const folder = import.meta.dirname;
const dotPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const key = 'local-sdk-key';

describe("the vendors' clients (test/sdk, installed by the full run)", { timeout: 300_000 }, () => {
  const transport = openHttpConnection({ env: {} });
  let direct: Listening;
  let passing: Listening;
  beforeAll(async () => {
    direct = await listen(createApp({ key }));
    const handler = createUpstreamHandler({
      fetch: transport.fetch,
      localHeaders: ['anthropic-version'],
      address: ({ format, headers, path }) => ({
        url: new URL(path, direct.url),
        headers: {
          authorization: `Bearer ${key}`,
          ...(format.name === 'messages' && { 'vendor-b-version': String(headers['anthropic-version']) }),
        },
      }),
    });
    passing = await listen(createApp({ key: 'another-key', handler, everyPath: true }));
  });
  afterAll(async () => {
    await passing.close(0);
    await direct.close(0);
    await transport.close();
  });

  const places = [
    ['serve', () => ({ url: direct.url, key })],
    ['serve --upstream', () => ({ url: passing.url, key: 'another-key' })],
  ] as const;

  describe.each(places)('against %s', (_name, place) => {
    test.each(['anthropic-0', 'anthropic-1'])('%s completes text, streams, tools, images and errors', async (name) => {
      const got = await runScript('anthropic.js', [name], place());
      expect(got).toMatchObject({
        listed: ['local-text', 'local-chat'],
        one: 'local-chat',
        counted: 2,
        foreign: 'local-chat',
        text: { text: expect.stringContaining('“hello”'), stop: 'end_turn', usage: { input_tokens: 2 } },
        stream: { text: expect.stringContaining('“a long tale”'), stop: 'end_turn' },
        tool: { stop: 'tool_use', call: { name: 'get_weather', input: { city: expect.any(String) } } },
        streamTool: { stop: 'tool_use', calls: [{ name: 'get_weather', input: { city: expect.any(String) } }] },
        after: 'text',
        image: expect.stringContaining('image/png'),
        beta: expect.stringContaining('“hello”'),
        retried: 'message',
        errors: {
          key: { name: 'AuthenticationError', status: 401, type: 'authentication_error' },
          missing: { name: 'BadRequestError', status: 400, type: 'invalid_request_error' },
          model: { name: 'NotFoundError', status: 404, type: 'not_found_error' },
          limit: { name: 'RateLimitError', status: 429, type: 'rate_limit_error' },
          overloaded: { status: 529, type: 'overloaded_error' },
          event: { type: 'overloaded_error' },
        },
      });
      const { deltas, joined, text } = got['stream'] as { deltas: number; joined: string; text: string };
      expect(joined).toBe(text);
      expect(deltas).toBeGreaterThan(5);
    });

    test('@google/genai completes text, streams, tools, schemas, images and errors', async () => {
      const got = await runScript('genai.js', [], place());
      expect(got).toMatchObject({
        listed: ['text', 'chat', 'image', 'edit'].map((use) => `models/local-${use}`),
        one: 'models/local-image',
        counted: 2,
        foreign: 'local-text',
        text: { text: expect.stringContaining('be brief'), finish: 'STOP', usage: { promptTokenCount: 4 } },
        stream: { text: expect.stringContaining('“a long tale”'), finish: 'STOP', usage: { promptTokenCount: 3 } },
        tool: [{ name: 'get_weather', args: { city: expect.any(String) } }],
        schema: { city: expect.any(String) },
        drawn: [{ mimeType: 'image/png', start: 'iVBORw0KGgoA' }],
        edited: [{ mimeType: 'image/png', start: 'iVBORw0KGgoA' }],
        errors: {
          key: { name: 'ApiError', status: 401 },
          model: { name: 'ApiError', status: 404 },
          limit: { name: 'ApiError', status: 429 },
          field: { name: 'ApiError', status: 400 },
          server: { name: 'ApiError', status: 500 },
        },
      });
      expect((got['stream'] as { chunks: number }).chunks).toBeGreaterThan(5);
    });

    test('openai completes text, streams, tools, schemas, images, edits and errors', async () => {
      const got = await runScript('openai.js', [], place());
      const call = { type: 'function', function: { name: 'get_weather', arguments: '{"city":"example city"}' } };
      const refused = { status: 400, type: 'invalid_request_error', hasId: true };
      expect(got).toMatchObject({
        listed: ['text', 'chat', 'image', 'edit'].map((use) => `local-${use}`),
        one: 'local-chat',
        foreign: 'local-chat',
        text: { texts: ['This is the offline ', 'This is the offline '], usage: { completion_tokens: 10 } },
        stream: { text: expect.stringContaining('“a long tale”'), finish: 'stop', usage: { prompt_tokens: 3 } },
        tool: { finish: 'tool_calls', call },
        streamTool: { finish: 'tool_calls', calls: [call] },
        after: expect.stringContaining('get_weather returned “rain”'),
        schema: { city: expect.any(String) },
        seen: expect.stringContaining('image/png (70 bytes)'),
        drawn: ['iVBORw0KGgoA', 'iVBORw0KGgoA'],
        edited: { start: 'iVBORw0KGgoA', usage: { input_tokens_details: { image_tokens: 516 } } },
        retried: 'chat.completion',
        errors: {
          key: { name: 'AuthenticationError', status: 401, code: 'invalid_api_key' },
          model: { name: 'NotFoundError', status: 404, code: 'model_not_found' },
          field: { ...refused, name: 'BadRequestError', code: 'invalid_value' },
          limit: { name: 'RateLimitError', status: 429, code: 'rate_limit_exceeded' },
          quota: { name: 'RateLimitError', status: 429, code: 'insufficient_quota' },
          server: { name: 'InternalServerError', status: 500, type: 'server_error' },
          event: { type: 'server_error' },
          blocked: { name: 'BadRequestError', code: 'moderation_blocked', type: 'image_generation_user_error' },
        },
      });
      expect((got['stream'] as { chunks: number }).chunks).toBeGreaterThan(5);
    });
  });
});

describe('an SDK script under serve --vendor-env', { timeout: 300_000 }, () => {
  /** What would lead the script elsewhere. */
  const env = {
    GOOGLE_API_KEY: 'real-key',
    GOOGLE_GENAI_USE_VERTEXAI: 'true',
    ANTHROPIC_AUTH_TOKEN: 'real-token',
    OPENAI_API_KEY: 'real-key',
    OPENAI_BASE_URL: 'https://example.invalid/v1',
    // Its traces go to OpenAI's own host, whatever the base URL is.
    OPENAI_AGENTS_DISABLE_TRACING: '1',
  };

  const gemini = { '@google/genai': 'genai-1' };
  const anthropic = { '@anthropic-ai/sdk': 'anthropic-0' };
  const vercel = { ai: 'ai', '@ai-sdk/anthropic': '@ai-sdk/anthropic', '@ai-sdk/google': '@ai-sdk/google' };
  const openai = { openai: 'openai' };
  const vercelOpenAi = { ai: 'ai', '@ai-sdk/openai': '@ai-sdk/openai' };
  const langchain = { '@langchain/openai': '@langchain/openai' };
  const agents = { '@openai/agents': '@openai/agents' };
  const rows: [script: string, installed: Record<string, string>, flags: string][] = [
    ['gemini.mjs', gemini, ''],
    ['gemini.mjs', { '@google/genai': '@google/genai' }, ''],
    ['gemini.mjs', gemini, '--service gemini'],
    ['anthropic.mjs', anthropic, ''],
    ['anthropic.mjs', { '@anthropic-ai/sdk': 'anthropic-1' }, ''],
    ['anthropic.mjs', anthropic, '--service anthropic'],
    ['anthropic.mjs', { '@anthropic-ai/sdk': 'anthropic-1' }, '--service anthropic'],
    ['vercel.mjs', vercel, ''],
    ['openai.mjs', openai, ''],
    ['openai.mjs', openai, '--service openai'],
    ['openai-responses.mjs', openai, ''],
    ['openai-responses.mjs', openai, '--service openai'],
    ['vercel-openai.mjs', vercelOpenAi, ''],
    ['vercel-openai.mjs', vercelOpenAi, '--service openai'],
    ['vercel-openai.mjs responses', vercelOpenAi, ''],
    ['vercel-openai.mjs responses', vercelOpenAi, '--service openai'],
    ['langchain-openai.mjs', langchain, ''],
    ['langchain-openai.mjs', langchain, '--service openai'],
    ['langchain-openai.mjs responses', langchain, ''],
    ['langchain-openai.mjs responses', langchain, '--service openai'],
    ['openai-agents.mjs', agents, ''],
    ['openai-agents.mjs', agents, '--service openai'],
  ];
  test.each(rows)('%s with %j %s runs unchanged', async (words, installed, flags) => {
    const [script = ''] = words.split(' ');
    const cwd = folderWith(script, installed);
    const ran = await shell(`$BIN serve --vendor-env ${flags} -q -- node ${words}`, { cwd, env });
    // @google/genai warns of the second variable, though both have the same key.
    const warned = ran.stderr.replaceAll(/^Both GOOGLE_API_KEY and GEMINI_API_KEY are set.*\n/gm, '');
    expect([ran.code, warned]).toEqual([0, '']);
    expect(ran.stdout).toMatch(/^text: .*“Why is the sky blue\?”.*\nstream: .*“Tell me a story”/);
    expect(ran.stdout.trimEnd().split('\n').at(-1)).toMatch(lastLines[script] ?? models);
    if (/^(?:vercel|langchain)-|-responses/.test(script))
      expect(ran.stdout).toMatch(/call: .*\{"city":"example city"\}\n(?:.*returned “rain”.*\n)?city: \w/);
    if (/^(?:vercel-openai|openai-agents)/.test(script)) expect(ran.stdout).toMatch(/\nloop: 2 /);
    if (script === 'openai-responses.mjs') {
      expect(ran.stdout).toMatch(/\nthoughts: .*does not think.*\nwhole: \d{3} \d+\n/);
      expect(ran.stdout).toContain('\nbackground: completed completed true\nkept: true, counted: 3, gone: 404\n');
    }
    if (script === 'anthropic.mjs') expect(ran.stdout).toContain('image/png (70 bytes)');
    else if (!/^langchain|-responses|-agents/.test(script))
      expect(readFileSync(join(cwd, 'picture.png')).toString('latin1', 1, 4)).toBe('PNG');
  });
});

const models = /models: .*local-text .*local-chat/;
/** What scripts that list no models print at the end. */
const lastLines: Record<string, string | RegExp> = {
  'vercel.mjs': 'picture: image/png',
  'openai-responses.mjs': 'refused: 400 input',
  'vercel-openai.mjs': 'picture: image/png',
  'langchain-openai.mjs': /^city: \w/,
  // A reply with which the client is not content makes it ask again, ten times.
  'openai-agents.mjs': /^streamed loop: 2 .*returned “rain”/,
};

/** A folder with a script, in which packages are installed under their own names. */
function folderWith(script: string, installed: Record<string, string>): string {
  const cwd = scratchFolder();
  copyFileSync(join(folder, 'scripts', script), join(cwd, script));
  for (const [name, place] of Object.entries(installed)) {
    const link = join(cwd, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(packages, place), link, 'junction');
  }
  return cwd;
}

async function runScript(
  script: string,
  words: readonly string[],
  { url, key: shown }: { url: string; key: string },
): Promise<Record<string, unknown>> {
  return run([script, ...words], { SDK_BASE_URL: url, SDK_API_KEY: shown, SDK_PNG: dotPng });
}
