import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../../../src/gateway/app.ts';
import { listen, type Listening } from '../../../../src/gateway/listen.ts';
import { shellWord } from '../../../../src/library/shell-word.ts';
import { isFull } from '../../../helpers/full.ts';
import { installFromRegistry } from '../../../helpers/registry.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { bin, shell } from '../../../helpers/spawn.ts';

const key = 'k-123456';

/** The official inspector, and the Node that it needs. */
const packages = ['@modelcontextprotocol/inspector@2.12.0', 'node@24'];

describe.skipIf(!isFull)('the inspector', { timeout: 60_000 }, () => {
  const installed = scratchFolder();
  const root = scratchFolder();
  let gateway: Listening;
  beforeAll(async () => {
    await installFromRegistry(installed, ...packages);
    gateway = await listen(createApp({ key }));
    copyFileSync(join(import.meta.dirname, '../../../fixtures/dusk.png'), join(root, 'dusk.png'));
  }, 300_000);
  afterAll(() => gateway.close(0));

  /** What it prints for a method. */
  async function inspect(...words: readonly string[]): Promise<Record<string, unknown>> {
    const variables = {
      GATEWAY_BASE_URL: gateway.url,
      GATEWAY_API_KEY: key,
      GATEWAY_MODEL: 'local-text',
      GATEWAY_IMAGE_MODEL: 'local-image',
      GATEWAY_EDIT_MODEL: 'local-edit',
    };
    const given = Object.entries(variables).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
    const modules = join(installed, 'node_modules');
    const inspector = join(modules, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
    const server = ['--', process.execPath, bin, 'mcp'];
    const argv = [join(modules, 'node/bin/node'), inspector, '--cli', ...given, ...words, ...server];
    const ran = await shell(argv.map(shellWord).join(' '), { cwd: root });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(ran.stdout) as Record<string, unknown>;
  }

  const call = (name: string, ...values: readonly string[]): ReturnType<typeof inspect> =>
    inspect('--method', 'tools/call', '--tool-name', name, ...values.flatMap((value) => ['--tool-arg', value]));

  test('lists the tools, and finds nothing wrong with their schemas', async () => {
    const { tools } = await inspect('--method', 'tools/list', '--strict');
    expect(tools).toMatchObject(
      ['generate_image', 'edit_image', 'ask', 'list_models'].map((name) => ({ name, inputSchema: { type: 'object' } })),
    );
  });

  test.each([
    ['generate_image', ['prompt=a cat', 'aspect=16:9', 'output=cat.png'], { width: 1360, height: 768 }],
    // It sends a value that looks like a number as one.
    ['generate_image', ['prompt=a cat', 'size=512', 'output=small.png'], { width: 512, height: 512 }],
    ['edit_image', ['prompt=gray', 'images=["dusk.png"]', 'output=gray.png'], { width: 680, height: 384 }],
  ])('%s %j writes a picture and links to it', async (name, values, facts) => {
    const { content, structuredContent } = await call(name, ...values);
    const path = join(root, values.at(-1)?.replace('output=', '') ?? '');
    expect(structuredContent).toMatchObject({ complete: true, images: [{ path, mimeType: 'image/png', ...facts }] });
    const types = ['text', 'resource_link'];
    expect((content as { type: string }[]).map(({ type }) => type)).toEqual(types);
    expect(readdirSync(root).map((file) => join(root, file))).toContain(path);
  });

  test('asks with a file and a schema, and lists models', async () => {
    const schema = 'schema={"type":"object","properties":{"born":{"type":"integer"}},"required":["born"]}';
    const asked = await call('ask', 'prompt=Ada', 'files=["dusk.png"]', 'max_tokens=50', schema);
    expect(asked['structuredContent']).toMatchObject({
      answer: { born: expect.any(Number) as number },
      complete: true,
    });
    const listed = await call('list_models', 'filter=local-text');
    expect(listed['structuredContent']).toMatchObject({ models: [{ id: 'local-text' }] });
  });
});
