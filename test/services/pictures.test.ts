import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { pixel } from '../fake-servers/completions.ts';
import { type FakeReply, type FakeServer, startFakeServer } from '../fake-servers/start.ts';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { receivedForm } from './requests.ts';
import { startHostProxy } from './vendors.ts';

// How the services beside OpenAI and OpenRouter are asked for pictures: the words of each are those of its own package, and each
// stand-in answers with a link, or refuses, where it is asked in the words of another.

const key = 'key-0123456789abcdef';
const url = `data:image/png;base64,${pixel}`;
const file = 'image.png image/png';

interface Row {
  env: Record<string, string>;
  host: string;
  base: string;
  /** What draws as Base64, where a link comes otherwise. */
  base64?: string;
  /** `image gen 'a cat'` with a size, and `image edit blue` with one picture, and with two. */
  sent: readonly [path: string, body: object][];
  size: readonly string[];
}

const m = { model: 'm' };
const rows: Readonly<Record<string, Row>> = {
  azure: {
    env: { AZURE_OPENAI_API_KEY: key, AZURE_OPENAI_ENDPOINT: 'https://mine.openai.azure.com/' },
    host: 'mine.openai.azure.com',
    base: '/openai/v1',
    size: ['--aspect', '3:2'],
    sent: [
      ['/images/generations', { ...m, prompt: 'a cat', size: '1536x1024' }],
      ['/images/edits', { ...m, prompt: 'blue', image: file }],
      ['/images/edits', { ...m, prompt: 'blue', 'image[]': [file, file] }],
    ],
  },
  vercel: {
    env: { AI_GATEWAY_API_KEY: key },
    host: 'ai-gateway.vercel.sh',
    base: '/v1',
    base64: 'b64_json',
    size: ['--size', '1024x1024'],
    sent: [
      ['/images/generations', { ...m, prompt: 'a cat', size: '1024x1024', response_format: 'b64_json' }],
      ['/images/edits', { ...m, prompt: 'blue', image: file, response_format: 'b64_json' }],
      ['/images/edits', { ...m, prompt: 'blue', 'image[]': [file, file], response_format: 'b64_json' }],
    ],
  },
  xai: {
    env: { XAI_API_KEY: key },
    host: 'api.x.ai',
    base: '/v1',
    base64: 'b64_json',
    size: ['--aspect', '3:2', '--size', '2K'],
    sent: [
      [
        '/images/generations',
        { ...m, prompt: 'a cat', aspect_ratio: '3:2', resolution: '2k', response_format: 'b64_json' },
      ],
      ['/images/edits', { ...m, prompt: 'blue', image: { type: 'image_url', url }, response_format: 'b64_json' }],
      [
        '/images/edits',
        {
          ...m,
          prompt: 'blue',
          images: [
            { type: 'image_url', url },
            { type: 'image_url', url },
          ],
          response_format: 'b64_json',
        },
      ],
    ],
  },
  together: {
    env: { TOGETHER_API_KEY: key },
    host: 'api.together.ai',
    base: '/v1',
    base64: 'base64',
    size: ['--size', '1K', '--seed', '7'],
    sent: [
      [
        '/images/generations',
        { ...m, prompt: 'a cat', width: 1024, height: 1024, seed: 7, output_format: 'png', response_format: 'base64' },
      ],
      [
        '/images/generations',
        { ...m, prompt: 'blue', image_url: url, output_format: 'png', response_format: 'base64' },
      ],
      [
        '/images/generations',
        { ...m, prompt: 'blue', reference_images: [url, url], output_format: 'png', response_format: 'base64' },
      ],
    ],
  },
  ollama: {
    env: {},
    host: '127.0.0.1',
    base: '/v1',
    size: ['--size', '512x512', '--seed', '7'],
    sent: [
      ['/images/generations', { ...m, prompt: 'a cat', size: '512x512', seed: 7, response_format: 'b64_json' }],
      ['/images/edits', { ...m, prompt: 'blue', image: url, response_format: 'b64_json' }],
    ],
  },
};

async function serve({ base, base64, sent }: Row): Promise<FakeServer> {
  const paths = new Set(sent.map(([path]) => base + path));
  const server = await startFakeServer(({ method, path, headers, body }): FakeReply => {
    if (method !== 'POST' || !paths.has(path)) return reply(404, { error: { message: `no such path: ${path}` } });
    const isForm = headers['content-type']?.startsWith('multipart/') === true;
    const wantsForm = sent.some(([at, asked]) => base + at === path && JSON.stringify(asked).includes(file));
    if (isForm !== wantsForm) return reply(400, { error: { message: 'invalid character in the body' } });
    const isBase64 = base64 === undefined || body.includes(base64);
    return reply(200, { data: [isBase64 ? { b64_json: pixel } : { url: 'https://pictures.example/1.png' }] });
  });
  onTestFinished(() => server.close());
  return server;
}

function reply(status: number, body: object): FakeReply {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

test.each(Object.keys(rows))('%s draws, and changes one picture and several, in its own words', async (name) => {
  const row = rows[name] as Row;
  const { env, host, base, sent, size } = row;
  const server = await serve(row);
  const port = Number(new URL(server.url).port);
  const proxy = await startHostProxy({ [host]: port });
  onTestFinished(() => proxy.close());
  const cwd = scratchFolder();
  for (const folder of ['CONFIG', 'STATE', 'CACHE']) vi.stubEnv(`XDG_${folder}_HOME`, scratchFolder());
  writeFileSync(join(cwd, 'dot.png'), Buffer.from(pixel, 'base64'));
  const own = name === 'ollama' ? ['--service', name, '--base-url', server.url] : [];
  const ask = (...argv: string[]) =>
    run(['image', ...argv, '-m', 'm', ...own, '--retries', '0'], { cwd, env: { HTTPS_PROXY: proxy.url, ...env } });

  const pictures = ['-i', 'dot.png'];
  const lines = [
    ['gen', 'a cat', ...size, '-o', '1.png'],
    ['edit', 'blue', ...pictures, '-o', '2.png'],
    ['edit', 'blue', ...pictures, ...pictures, '-o', '3.png'],
  ];
  for (const [at, line] of lines.slice(0, sent.length).entries()) {
    const ran = await ask(...line);
    expect(ran).toMatchObject({ code: 0, stdout: `${at + 1}.png\n` });
    expect(readFileSync(join(cwd, `${at + 1}.png`)).toString('base64')).toBe(pixel);
  }
  expect(server.requests.map(receivedForm)).toEqual(sent.map(([path, body]) => [`POST ${base}${path}`, body]));
  if (name === 'ollama') {
    const several = await ask(...(lines[2] ?? []));
    expect(several).toMatchObject({ code: 2, stdout: '' });
    expect(several.stderr).toContain('changes one picture');
  }
  const unknown = await ask('edit', 'blue', ...pictures, '--mask', 'dot.png', '-o', '4.png', '--dry-run');
  expect(unknown.code).toBe(['azure', 'vercel'].includes(name) ? 0 : 2);
});

test('a size that xAI does not have is refused before anything is sent', async () => {
  const line = ['image', 'gen', 'a cat', '-m', 'm', '--size', '1024x1024', '--dry-run'];
  const ran = await run(line, { env: { XAI_API_KEY: key } });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain("no size '1024x1024'");
  expect(ran.stderr).toContain('it has 1K, 2K');
});
