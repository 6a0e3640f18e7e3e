import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { test } from '../../../helpers/with-server.ts';
import { makePng } from '../../../helpers/make-png.ts';

const key = { GATEWAY_API_KEY: 'canary-key-123456' };
const openai = { ...key, GATEWAY_SERVICE: 'openai' };
const openrouter = { ...key, GATEWAY_SERVICE: 'openrouter' };
const drawn = (bytes: Buffer, more: object = {}): object => ({
  body: { created: 1, data: [{ b64_json: bytes.toString('base64') }], ...more },
});

describe('a size that OpenAI made of a class and a shape', () => {
  test.for([
    ['1:1', 2880, 2880],
    ['4:3', 3264, 2448],
    ['9:16', 2160, 3840],
  ] as const)('%s of 4K fits when it comes so', async ([aspect, width, height], { server, cli }) => {
    server.reply(drawn(makePng(width, height)));
    const ran = await cli(['image', 'gen', 'x', '--aspect', aspect, '--size', '4K', '--strict'], { env: openai });
    expect(ran).toMatchObject({ code: 0, stdout: 'image-1.png\n', stderr: '' });
    expect(JSON.parse(String(server.requests[0]?.body))).toMatchObject({ size: `${width}x${height}` });
  });

  test('is missed by a picture of 1K, with the size that was asked for', async ({ server, cli }) => {
    server.reply(drawn(makePng(1024, 1024)));
    const ran = await cli(['image', 'gen', 'x', '--size', '4K'], { env: openai });
    expect(ran).toMatchObject({ code: 0, stdout: 'image-1.png\n' });
    expect(ran.stderr).toBe('gateway-cli: warning: image-1.png is 1024×1024, not 2880x2880\n');
  });

  test('is held against the picture of a batch, too', async ({ server, cli }) => {
    const cwd = scratchFolder();
    const job = { id: 'a', command: 'image gen', prompt: 'x', size: '4K', quality: 'low', outputFormat: 'jpg' };
    writeFileSync(join(cwd, 'jobs.jsonl'), JSON.stringify(job));
    server.reply(drawn(makePng(2880, 2880)));
    const ran = await cli(['batch', 'jobs.jsonl', '-o', 'out', '--strict'], { cwd, env: openai });
    expect(ran).toMatchObject({ code: 0, stdout: 'out/results.jsonl\n' });
    const sent = {
      model: 'm',
      prompt: 'x',
      size: '2880x2880',
      quality: 'low',
      output_format: 'jpeg',
    };
    expect(JSON.parse(String(server.requests[0]?.body))).toEqual(sent);
  });
});

test('OpenRouter draws by an operation of its own, and its type is that of the reply', async ({ server, cli }) => {
  const usage = { prompt_tokens: 4, completion_tokens: 1120, total_tokens: 1124, cost: 0.067 };
  server.reply(drawn(makePng(1456, 672), { usage }));
  const flags = ['--aspect', '19.5:9', '--quality', 'high', '--background', 'transparent', '--output-format', 'png'];
  const ran = await cli(['image', 'gen', 'a cat', ...flags, '--json'], { env: openrouter });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(ran.stdout)).toMatchObject({ images: [{ width: 1456 }], usage: { totalTokens: 1124 } });
  const [request] = server.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/v1/images' });
  expect(JSON.parse(String(request?.body))).toEqual({
    model: 'm',
    prompt: 'a cat',
    aspect_ratio: '19.5:9',
    quality: 'high',
    background: 'transparent',
    output_format: 'png',
  });
});

test('without a name, no type is asked for; the name of -o asks for its own', async ({ server, cli }) => {
  const format = async (...flags: string[]): Promise<unknown> => {
    const { stdout } = await cli(['image', 'gen', 'x', '--dry-run', '--json', ...flags], { env: openai });
    return (JSON.parse(stdout) as { body: { output_format?: string } }).body.output_format;
  };
  expect(await format()).toBeUndefined();
  expect(await format('-o', 'cat.png')).toBeUndefined();
  expect(await format('-o', 'cat.JPG')).toBe('jpeg');
  expect(await format('-o', 'cat.webp')).toBe('webp');
  expect(await format('-o', 'cat.gif')).toBe('gif');
  expect(await format('-o', 'cat.svg')).toBe('svg');
  expect(await format('-o', 'cat.svg', '--output-format', 'png')).toBe('png');
  expect(server.requests).toEqual([]);
});

test('a name of another type than the one that is asked for is a warning before the request', async ({ cli }) => {
  const line = ['image', 'gen', 'x', '--dry-run', '-o', 'cat.png', '--output-format', 'webp'];
  const { stderr } = await cli(line, { env: openai });
  expect(stderr).toContain("-o 'cat.png': this service is not asked for image/png");
});

test.for(['--quality', '--background', '--output-format'])(
  '%s is refused, by its name, where a service has no place for it',
  async (flag, { server, cli }) => {
    const gemini = await cli(['image', 'gen', 'x', flag, 'png'], { env: { ...key, GATEWAY_SERVICE: 'gemini' } });
    expect(gemini).toMatchObject({ code: 2, stdout: '' });
    expect(gemini.stderr).toContain(`${flag}: the content format does not have this field\n`);
    expect(gemini.stderr).toContain('--service openai and openrouter have it\n');
    const byChat = await cli(['image', 'gen', 'x', '--format', 'completions', flag, 'png']);
    expect(byChat).toMatchObject({ code: 2, stdout: '' });
    expect(byChat.stderr).toContain('pictures by chat have no ');
    expect(byChat.stderr).toContain(`leave ${flag} out\n`);
    expect(server.requests).toEqual([]);
  },
);

const svg = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- a cat -->\n<svg xmlns="http://www.w3.org/2000/svg">';

describe('an SVG', () => {
  test.for([
    ['by output_format', { output_format: 'svg' }],
    ['without a declared type', {}],
  ] as const)('is saved as one: %s', async ([, more], { server, cli }) => {
    const bytes = Buffer.from(`${svg}<a href="#b"><path d="M0 0h1"/></a></svg>`);
    server.reply(drawn(bytes, more));
    const ran = await cli(['image', 'gen', 'x', '-o', 'cat.svg'], { env: openai });
    expect(ran).toMatchObject({ code: 0, stdout: 'cat.svg\n', stderr: '' });
    expect(readFileSync(join(ran.cwd, 'cat.svg'))).toEqual(bytes);
  });

  test.for([
    '<script>alert(1)</script>',
    '<x:script xmlns:x="http://www.w3.org/2000/svg">alert(1)</x:script>',
    '<path onclick="alert(1)"/>',
    '<path fill="red"onclick=alert(1)>',
    '<a href="javascript:alert(1)">b</a>',
    '<a xlink:href="&#106;avascript:alert(1)">b</a>',
    '<a href=" java\nscript:alert(1)">b</a>',
    '<use href="data:image/svg+xml;base64,AAAA"/>',
    '<a><animate attributeName="href" to="x"/></a>',
    '<foreignObject><body/></foreignObject>',
    `${'<path d="M0 0h1"/>'.repeat(20_000)}<script>alert(1)</script>`,
  ])('that a browser would run something of is kept as .bin: %.40s', async (inner, { server, cli }) => {
    server.reply(drawn(Buffer.from(`${svg}${inner}</svg>`), { output_format: 'svg' }));
    const ran = await cli(['image', 'gen', 'x', '-o', 'cat.svg'], { env: openai });
    expect([ran.code, readdirSync(ran.cwd)]).toEqual([0, ['cat.bin']]);
    expect(ran.stderr).toContain('cat.svg would hold bin data');
  });
});
