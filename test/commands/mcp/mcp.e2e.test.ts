import { copyFileSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startScriptedServer, type ScriptedServer } from '../../helpers/scripted-server.ts';
import { imageReply, textReply } from '../../helpers/with-server.ts';
import { connect, type Connected } from './client.ts';

const dusk = join(import.meta.dirname, '../../fixtures/dusk.png');
const data = readFileSync(dusk).toString('base64');

let server: ScriptedServer;
let mcp: Connected;
beforeAll(async () => {
  server = await startScriptedServer();
  mcp = await connect([], {
    GATEWAY_BASE_URL: server.url,
    GATEWAY_API_KEY: 'k-123456',
    GATEWAY_MODEL: 'm',
    GATEWAY_IMAGE_MODEL: 'm',
    GATEWAY_NO_STDIN: '1',
  });
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
    images: [{ path, mimeType: 'image/png', width: 672, height: 384 }],
  });
  const [text, link] = result.content;
  expect(text?.text).toBe(`${path} (image/png, 672×384)`);
  expect(link).toMatchObject({ type: 'resource_link', mimeType: 'image/png' });
  expect(readFileSync(fileURLToPath(link?.uri ?? '')).equals(readFileSync(dusk))).toBe(true);
  expect(JSON.stringify(result)).not.toContain(data.slice(0, 40));
  expect(sentBody()).toMatchObject({ contents: [{ parts: [{ text: '--a {{cat}}' }] }] });
});

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

test.each([
  ['generate_image', { prompt: 'x', output: '../x.png' }, "'../x.png' is outside the root folder"],
  ['generate_image', { prompt: 'x', output: 'out/tmp/x.png' }, "'out/tmp/x.png' is outside the root folder"],
  ['edit_image', { prompt: 'x', images: ['/etc/hostname'] }, "'/etc/hostname' is outside the root folder"],
  ['ask', { prompt: 'x', files: ['out/etc/hostname'] }, "'out/etc/hostname' is outside the root folder"],
  ['ask', { prompt: 'x', files: ['https://example.org/a.png'] }, 'a.png'],
  ['generate_image', { prompt: 'x', output: 'dusk.png' }, "'dusk.png' already exists"],
  ['generate_image', {}, 'must have the property "prompt"'],
  ['ask', { prompt: 'x', force: true }, 'must not have the property "force"'],
] as const)('%s %j is refused before anything is sent', async (name, args, message) => {
  const before = server.requests.length;
  const result = await mcp.call(name, args);
  expect(result).toMatchObject({
    isError: true,
    structuredContent: { error: { class: 'usage', sent: 'no', billed: 'no' } },
  });
  expect(result.content[0]?.text).toContain(message);
  expect(server.requests).toHaveLength(before);
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

  test('--max-requests and --read-only', async () => {
    const limited = await connect(['--offline', '--max-requests', '1', '--read-only']);
    const { tools } = await limited.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['ask', 'list_models']);
    await expect(limited.call('generate_image', { prompt: 'x' })).rejects.toThrow('unknown tool: generate_image');
    expect((await limited.call('ask', { prompt: 'hi' })).isError).toBeUndefined();
    expect((await limited.call('ask', { prompt: 'hi' })).content[0]?.text).toContain(
      'this server has sent its 1 requests',
    );
    expect((await limited.call('list_models', {})).isError).toBeUndefined();
    expect(readdirSync(limited.root)).toEqual([]);
    await limited.client.close();
  });
});
