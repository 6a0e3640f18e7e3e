import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type ScriptedServer, startScriptedServer } from '../helpers/scripted-server.ts';
import { shell } from '../helpers/spawn.ts';
import { imageReply, textReply } from '../helpers/with-server.ts';

const root = join(import.meta.dirname, '../..');
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Chunks that belong to one purpose alone, by the names that they have from their first module. */
const special = new Set([
  '2020',
  'batch',
  'dialog',
  'doctor',
  'esm',
  'jpeg-js',
  'mime-types',
  'ora',
  'png-reader',
  'serve',
  'studio',
]);

interface Loaded {
  /** Names of chunks that have one of their own. */
  names: string[];
  bytes: number;
}

/** Which files of dist a run loads. */
async function loadedBy(words: string, server: ScriptedServer): Promise<Loaded> {
  const hook = join(mkdtempSync(join(tmpdir(), 'gateway-cli-loaded-')), 'hook.cjs');
  writeFileSync(
    hook,
    `process.on('exit', () => require('node:fs').writeFileSync(__dirname + '/loaded', Object.keys(require.cache).join('\\n')))`,
  );
  const env = {
    GATEWAY_BASE_URL: server.url,
    GATEWAY_API_KEY: 'k-123456',
    GATEWAY_MODEL: 'm',
    GATEWAY_IMAGE_MODEL: 'm',
  };
  const ran = await shell(`node -r ${hook} $BIN ${words}`, { env });
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
  const paths = readFileSync(join(hook, '../loaded'), 'utf8').split('\n');
  const files = paths.filter((path) => path.startsWith(join(root, 'dist')));
  const names = files.flatMap((path) => /\/([\w-]+)-[A-Z0-9]{8}\.js$/.exec(path)?.[1] ?? []);
  return { names: names.filter((name) => special.has(name)), bytes: sizeOf(files) };
}

function sizeOf(files: readonly string[]): number {
  return files.reduce((sum, path) => sum + statSync(path).size, 0);
}

/** What a run may load in bytes, and which of the special chunks it needs. What is loaded is paid for at every start. */
test.each([
  ['--version', 90_000, [], undefined],
  ['--help', 90_000, [], undefined],
  ['text hi', 370_000, [], textReply('ok')],
  ['image gen hi', 380_000, ['esm'], imageReply({ mimeType: 'image/png', data: dot })],
])('%s loads at most %i bytes of the bundle, and of its special chunks %j', async (words, most, names, body) => {
  const server = await startScriptedServer();
  if (body) server.reply({ body });
  const loaded = await loadedBy(words, server);
  await server.close();
  expect(loaded.names).toEqual(names);
  expect(loaded.bytes).toBeLessThanOrEqual(most);
});

test('no chunk is larger than the schema checker, and all of them together stay small', () => {
  const folder = join(root, 'dist/chunks');
  const sizes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).size] as const);
  const [largest] = sizes.toSorted(([, a], [, b]) => b - a);
  expect(largest?.[0]).toMatch(/^2020-/);
  expect(largest?.[1]).toBeLessThanOrEqual(140_000);
  expect(sizes.reduce((sum, [, size]) => sum + size, 0)).toBeLessThanOrEqual(1_000_000);
});
