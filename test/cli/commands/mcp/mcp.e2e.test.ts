import { spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, copyFileSync, openSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { createPause, startScriptedServer, type ScriptedServer } from '../../../helpers/scripted-server.ts';
import { bareEnv, bin } from '../../../helpers/spawn.ts';
import { imageReply, textReply } from '../../../helpers/with-server.ts';
import { connect, type Connected } from './client.ts';

const dusk = join(import.meta.dirname, '../../../fixtures/dusk.png');
const data = readFileSync(dusk).toString('base64');

let server: ScriptedServer;
let mcp: Connected;

/** What points a server of MCP at the scripted one. */
const settings = (): Record<string, string> => ({
  GATEWAY_BASE_URL: server.url,
  GATEWAY_API_KEY: 'k-123456',
  GATEWAY_MODEL: 'm',
  GATEWAY_IMAGE_MODEL: 'm',
});

beforeAll(async () => {
  server = await startScriptedServer();
  mcp = await connect([], { ...settings(), GATEWAY_NO_STDIN: '1' });
  copyFileSync(dusk, join(mcp.root, 'dusk.png'));
  symlinkSync('/', join(mcp.root, 'out'));
});
afterAll(async () => {
  await mcp.client.close();
  await server.close();
});

const sentBody = (): unknown => JSON.parse(server.requests.at(-1)?.body.toString() ?? '');

test('the tools are listed with schemas', async () => {
  const { tools } = await mcp.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['generate_image', 'edit_image', 'ask', 'list_models']);
  expect(tools[0]?.inputSchema.required).toEqual(['prompt']);
});

test('generate_image writes the picture below the root, and names it without its bytes', async () => {
  server.reply({ body: imageReply({ mimeType: 'image/png', data }) });
  const result = await mcp.call('generate_image', { prompt: '--a {{cat}}', output: 'cat.png', aspect: '16:9' });
  const path = join(mcp.root, 'cat.png');
  expect(result.structuredContent).toMatchObject({
    images: [{ path, mimeType: 'image/png', width: 680, height: 384 }],
  });
  const [text, link] = result.content;
  expect(text?.text).toBe(`${path} (image/png, 680×384)`);
  expect(link).toMatchObject({ type: 'resource_link', mimeType: 'image/png' });
  expect(readFileSync(fileURLToPath(link?.uri ?? '')).equals(readFileSync(dusk))).toBe(true);
  expect(JSON.stringify(result)).not.toContain(data.slice(0, 40));
  expect(sentBody()).toMatchObject({ contents: [{ parts: [{ text: '--a {{cat}}' }] }] });
});

test('a folder of the output that is not there is made below the root', async () => {
  for (const output of ['deep/er/x.png', 'new/er/']) {
    server.reply({ body: imageReply({ mimeType: 'image/png', data }) });
    const result = await mcp.call('generate_image', { prompt: 'x', output });
    const path = join(mcp.root, output.replace(/\/$/, '/image-1.png'));
    expect(result.structuredContent).toMatchObject({ images: [{ path }] });
    expect(readFileSync(path).equals(readFileSync(dusk))).toBe(true);
  }
});

test.skipIf(process.platform !== 'linux')(
  'of many calls at once four run, and the others wait and are answered',
  async () => {
    const count = server.requests.length;
    const pause = createPause();
    for (let turn = 0; turn < 5; turn++)
      server.reply(async () => {
        await pause.until;
        return { body: textReply('hi') };
      });
    const calls = Array.from({ length: 5 }, async () => mcp.call('ask', { prompt: 'hi' }));
    await server.received(count + 4);
    // A ping is answered after the calls before it were begun.
    await mcp.client.ping();
    const children = readFileSync(`/proc/${mcp.pid}/task/${mcp.pid}/children`, 'utf8').trim().split(' ');
    expect(children).toHaveLength(4);
    pause.release();
    const texts = (await Promise.all(calls)).map(({ structuredContent }) => structuredContent['text']);
    expect(texts).toEqual(Array.from({ length: 5 }, () => 'hi'));
  },
);

test('edit_image sends the images', async () => {
  server.reply({ body: imageReply({ mimeType: 'image/png', data }) });
  const result = await mcp.call('edit_image', { prompt: 'gray', images: ['dusk.png'] });
  expect(result.structuredContent).toMatchObject({ images: [{ path: join(mcp.root, 'image-1.png') }] });
  expect(JSON.stringify(sentBody())).toContain(data.slice(0, 40));
});

test('ask sends files and checks the answer against a schema', async () => {
  server.reply({ body: textReply('{"born":1815}') });
  const schema = { type: 'object', properties: { born: { type: 'integer' } } };
  const result = await mcp.call('ask', { prompt: 'Ada', system: 'short', files: ['dusk.png'], schema });
  expect(result.structuredContent).toMatchObject({ answer: { born: 1815 }, complete: true, usage: { totalTokens: 5 } });
  expect(result.content).toEqual([{ type: 'text', text: '{"born":1815}' }]);
});

test('a number where a text is expected is taken for its digits', async () => {
  server.reply({ body: imageReply({ mimeType: 'image/png', data }) });
  const result = await mcp.call('generate_image', { prompt: 42, size: 512, output: 'numbers.png' });
  expect(result.isError).toBeUndefined();
  expect(sentBody()).toMatchObject({ contents: [{ parts: [{ text: '42' }] }] });
});

test('list_models lists the models', async () => {
  server.reply({ body: { models: [{ name: 'models/m-1', supportedGenerationMethods: ['generateContent'] }] } });
  server.reply({ status: 404, body: {} });
  const result = await mcp.call('list_models', { filter: 'm-' });
  expect(result.structuredContent).toMatchObject({ models: [{ id: 'm-1' }] });
});

test('a failure carries its class, hint, and whether it was sent and billed', async () => {
  server.reply({ status: 400, body: { error: { code: 400, message: 'no such field', status: 'INVALID_ARGUMENT' } } });
  const result = await mcp.call('ask', { prompt: 'hi' });
  expect(result).toMatchObject({
    isError: true,
    structuredContent: {
      error: {
        class: 'rejected',
        sent: 'yes',
        billed: 'no',
        message: expect.stringContaining('no such field') as string,
      },
    },
  });
});

const refused: [tool: string, args: object, message: string][] = [
  ['generate_image', { prompt: 'x', output: '../x.png' }, "'../x.png' is outside the root folder"],
  ['generate_image', { prompt: 'x', output: 'out/tmp/x.png' }, "'out/tmp/x.png' is outside the root folder"],
  ['edit_image', { prompt: 'x', images: ['/etc/hostname'] }, "'/etc/hostname' is outside the root folder"],
  ['ask', { prompt: 'x', files: ['out/etc/hostname'] }, "'out/etc/hostname' is outside the root folder"],
  ['ask', { prompt: 'x', files: ['https://example.org/a.png'] }, 'is a URL: URLs are not taken'],
  ['ask', { prompt: 'x', files: ['file:///etc/hostname'] }, 'is a URL: URLs are not taken'],
  ['edit_image', { prompt: 'x', images: ['data:image/png;base64,iVBO'] }, 'is a URL: URLs are not taken'],
  ['generate_image', { prompt: 'x', output: 'https://example.org/a.png' }, 'is a URL: URLs are not taken'],
  ['ask', { prompt: 'x', files: ['none.txt'] }, "there is no file 'none.txt' below the root folder"],
  ['generate_image', { prompt: 'x', output: 'dusk.png' }, "'dusk.png' already exists"],
  ['generate_image', {}, 'must have the property "prompt"'],
  ['ask', { prompt: 'x', force: true }, 'must not have the property "force"'],
];

test.each(refused)('%s %j is refused before anything is sent', async (name, args, message) => {
  const before = server.requests.length;
  const result = await mcp.call(name, args);
  expect(result).toMatchObject({
    isError: true,
    structuredContent: { error: { class: 'usage', sent: 'no', billed: 'no' } },
  });
  expect(result.content[0]?.text).toContain(message);
  expect(server.requests).toHaveLength(before);
});

test.each([{ files: ['a\0b'] }, { model: 'a\0b' }])(
  'a NUL in %j is refused; without a hint it has two lines',
  async (more) => {
    const result = await mcp.call('ask', { prompt: 'x', ...more });
    expect(result.content[0]?.text).toBe('usage: an argument has a NUL character\nsent: no, billed: no');
  },
);

test.skipIf(process.platform !== 'linux')('after a command was killed it is unknown what it sent', async () => {
  const count = server.requests.length + 1;
  server.reply({ chunks: ['{"candidates":', new Promise(() => {})] });
  const call = mcp.call('ask', { prompt: 'x' });
  await server.received(count);
  const [child = ''] = readFileSync(`/proc/${mcp.pid}/task/${mcp.pid}/children`, 'utf8').split(' ');
  process.kill(Number(child), 'SIGKILL');
  expect((await call).structuredContent).toMatchObject({
    error: { class: 'internal', sent: 'unknown', billed: 'unknown' },
  });
  await server.requests.at(-1)?.closed;
});

test.each([
  [{ system: 'x'.repeat(30_001) }, 'system'],
  [{ schema: { description: 'x'.repeat(30_000) } }, 'the schema has more than 30000 characters'],
])('an argument that is longer than a word of a command is refused', async (more, message) => {
  const result = await mcp.call('ask', { prompt: 'x', ...more });
  expect(result.structuredContent).toMatchObject({ error: { class: 'usage', sent: 'no', billed: 'no' } });
  expect(result.content[0]?.text).toContain(message);
});

test('a cancelled call ends its request and leaves no file', async () => {
  const files = readdirSync(mcp.root);
  const count = server.requests.length + 1;
  server.reply({ chunks: ['{"candidates":[{"content":{"parts":[{"inlineData":{"data":"', new Promise(() => {})] });
  const cancel = new AbortController();
  const call = mcp.call('generate_image', { prompt: 'x', output: 'never.png' }, { signal: cancel.signal });
  await server.received(count);
  cancel.abort();
  await expect(call).rejects.toThrow('abort');
  await server.requests.at(-1)?.closed;
  server.reply({ body: textReply('still here') });
  expect((await mcp.call('ask', { prompt: 'hi' })).content[0]?.text).toBe('still here');
  expect(readdirSync(mcp.root)).toEqual(files);
});

/** Runs a server with these lines on its stdin, which ends after them. */
async function piped(lines: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const root = scratchFolder();
  const env = bareEnv(root, { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456', GATEWAY_MODEL: 'm' });
  const child = spawn(process.execPath, [bin, 'mcp'], { cwd: root, env });
  child.stdin.on('error', () => undefined).end(lines.map((line) => `${line}\n`).join(''));
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number, stdout, stderr };
}

test('calls are answered after stdin has ended: they are paid for', async () => {
  for (const answer of ['one', 'two']) server.reply({ body: textReply(answer) });
  const call = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'ask', arguments: { prompt: 'hi' } } };
  const { code, stdout } = await piped([1, 2].map((id) => JSON.stringify({ ...call, id })));
  expect([code, stdout.match(/"text":"(one|two)"}\]/g)?.length]).toEqual([0, 2]);
});

test('a message that is too long ends the server, and says so', async () => {
  const { code, stderr } = await piped(['x'.repeat(11 * 1024 * 1024)]);
  expect(code).toBe(2);
  expect(stderr).toContain('the client sent a message of more than 10 MiB');
});

test.skipIf(process.platform !== 'linux')('a stdout that cannot be written ends the server', async () => {
  const root = scratchFolder();
  const full = openSync('/dev/full', 'w');
  const options = { cwd: root, env: bareEnv(root), stdio: ['pipe', full, 'ignore'] } satisfies SpawnOptions;
  const child = spawn(process.execPath, [bin, 'mcp', '--offline'], options);
  child.stdin?.on('error', () => undefined).write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  const [code] = (await once(child, 'close')) as [number];
  closeSync(full);
  expect(code).toBe(12);
});

describe('limits', () => {
  test('--budget ends the calls that could pass it, and lists models all the same', async () => {
    const limited = await connect(['--budget', './spent.jsonl:0.01'], {
      GATEWAY_BASE_URL: server.url,
      GATEWAY_API_KEY: 'k-123456',
      GATEWAY_MODEL: 'm',
      GATEWAY_CONFIG: 'config.json',
    });
    const prices = { m: { input: '0', output: '100' } };
    writeFileSync(join(limited.root, 'config.json'), JSON.stringify({ prices }), { mode: 0o600 });
    server.reply({ body: { ...textReply('hi'), usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 100 } } });
    expect((await limited.call('ask', { prompt: 'hi', max_tokens: 100 })).isError).toBeUndefined();
    const count = server.requests.length;
    const refused = await limited.call('ask', { prompt: 'hi', max_tokens: 100 });
    expect(refused.content[0]?.text).toContain('could pass the budget');
    expect(server.requests).toHaveLength(count);
    server.reply({ body: { models: [] } });
    server.reply({ status: 404, body: {} });
    expect((await limited.call('list_models', {})).isError).toBeUndefined();
    await limited.client.close();
  });

  test('--max-requests counts requests: not refused calls, and not retries', async () => {
    const limited = await connect(['--max-requests', '1'], {
      GATEWAY_BASE_URL: server.url,
      GATEWAY_API_KEY: 'k-123456',
      GATEWAY_MODEL: 'm',
    });
    expect((await limited.call('ask', { prompt: 'hi', files: ['../x'] })).content[0]?.text).toContain(
      'outside the root',
    );
    server.reply({ status: 503, body: {} });
    const count = server.requests.length;
    expect((await limited.call('ask', { prompt: 'hi' })).structuredContent).toMatchObject({
      error: { class: 'gateway' },
    });
    expect((await limited.call('ask', { prompt: 'hi' })).content[0]?.text).toContain('has sent its 1 requests');
    expect(server.requests).toHaveLength(count + 1);
    await limited.client.close();
  });

  test('--max-requests counts each request of an answer in which the service pauses', async () => {
    const limited = await connect(['--max-requests', '3', '--service', 'anthropic', '--base-url', server.url], {
      ANTHROPIC_API_KEY: 'k-123456',
      GATEWAY_MODEL: 'm',
    });
    const pausing = (stop: string): object => ({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: `${stop} ` }],
      stop_reason: stop,
      usage: { input_tokens: 1, output_tokens: 1 },
    });
    const count = server.requests.length;
    for (const stop of ['pause_turn', 'end_turn']) server.reply({ body: pausing(stop) });
    expect((await limited.call('ask', { prompt: 'hi', max_tokens: 100 })).isError).toBeUndefined();
    expect(server.requests).toHaveLength(count + 2);
    // One request is left: the answer stays as it is after it.
    server.reply({ body: pausing('pause_turn') });
    const cut = await limited.call('ask', { prompt: 'hi', max_tokens: 100 });
    expect(cut.structuredContent).toMatchObject({ text: 'pause_turn ', error: { class: 'incomplete' } });
    const refused = await limited.call('ask', { prompt: 'hi', max_tokens: 100 });
    expect(refused.content[0]?.text).toContain('has sent its 3 requests');
    expect(server.requests).toHaveLength(count + 3);
    await limited.client.close();
  });
});
