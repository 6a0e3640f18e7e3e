import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { startScriptedServer, type ScriptedServer } from '../../../helpers/scripted-server.ts';
import { imageReply, textReply } from '../../../helpers/with-server.ts';
import { connect } from './client.ts';

const data = readFileSync(join(import.meta.dirname, '../../../fixtures/dusk.png')).toString('base64');

let server: ScriptedServer;
beforeAll(async () => void (server = await startScriptedServer()));
afterAll(() => server.close());

test('the pictures of a root with a brace in its name are written into it, not beside it', async () => {
  const cwd = scratchFolder();
  const root = join(cwd, 'p{date}');
  mkdirSync(root);
  const braced = await connect(['--root', root], {
    GATEWAY_BASE_URL: server.url,
    GATEWAY_API_KEY: 'k-123456',
    GATEWAY_IMAGE_MODEL: 'm',
  });
  for (const reply of [1, 2].map(() => ({ body: imageReply({ mimeType: 'image/png', data }) }))) server.reply(reply);
  const result = await braced.call('generate_image', { prompt: 'x', output: 'a/x.png' });
  expect(result.structuredContent).toMatchObject({ images: [{ path: join(root, 'a/x.png') }] });
  const edited = await braced.call('edit_image', { prompt: 'x', images: ['a/x.png'] });
  expect(edited.structuredContent).toMatchObject({ images: [{ path: join(root, 'image-1.png') }] });
  await braced.client.close();
  expect(readdirSync(cwd)).toEqual(['p{date}']);
});

test.each([
  ['--read-only', '--budget', './spent.jsonl:0.01'],
  ['--root', 'pictures'],
])('paths start at the folder where the server starts, with %s %s', async (...flags) => {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'pictures'));
  const prices = { m: { input: '0', output: '100' } };
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ prices }), { mode: 0o600 });
  writeFileSync(join(cwd, 'key'), 'k-123456', { mode: 0o600 });
  const files = { GATEWAY_API_KEY_FILE: 'key', GATEWAY_CONFIG: 'config.json', GATEWAY_BUDGET: 'spent.jsonl:0.01' };
  const limited = await connect(flags, { GATEWAY_BASE_URL: server.url, GATEWAY_MODEL: 'm', ...files }, cwd);
  server.reply({ body: { ...textReply('hi'), usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 100 } } });
  expect((await limited.call('ask', { prompt: 'hi', max_tokens: 100 })).structuredContent['text']).toBe('hi');
  const refused = await limited.call('ask', { prompt: 'hi', max_tokens: 100 });
  expect(refused.content[0]?.text).toContain('could pass the budget');
  expect(readFileSync(join(cwd, 'spent.jsonl'), 'utf8')).toContain('"m"');
  await limited.client.close();
});

test('--max-requests and --read-only', async () => {
  const limited = await connect(['--offline', '--max-requests', '1', '--read-only']);
  const { tools } = await limited.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['ask', 'list_models']);
  await expect(limited.call('generate_image', { prompt: 'x' })).rejects.toThrow(
    /^MCP error -32602: unknown tool: generate_image$/,
  );
  expect((await limited.call('ask', { prompt: 'hi' })).isError).toBeUndefined();
  expect((await limited.call('ask', { prompt: 'hi' })).content[0]?.text).toContain(
    'this server has sent its 1 requests',
  );
  expect((await limited.call('list_models', {})).isError).toBeUndefined();
  expect(readdirSync(limited.root)).toEqual([]);
  await limited.client.close();
});
