import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { shell } from '../../helpers/spawn.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** The text of all files of the built program that a run loads, and whether it starts a thread. */
async function loadedBy(flags: string): Promise<{ text: string; hasThread: boolean }> {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 's.json'), '{}');
  const hook = `const { isMainThread } = require('node:worker_threads');
    if (!isMainThread) require('node:fs').writeFileSync(${JSON.stringify(join(cwd, 'thread'))}, '');`;
  writeFileSync(join(cwd, 'hook.cjs'), hook);
  const env = { NODE_V8_COVERAGE: join(cwd, 'coverage') };
  const { code, stderr } = await shell(`node -r ./hook.cjs $BIN ${flags}`, { cwd, env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [report = ''] = readdirSync(join(cwd, 'coverage'));
  const { result } = JSON.parse(readFileSync(join(cwd, 'coverage', report), 'utf8')) as { result: { url: string }[] };
  const files = result.map(({ url }) => url).filter((url) => url.includes('/dist/'));
  expect(files.length).toBeGreaterThan(1);
  const text = files.map((url) => readFileSync(fileURLToPath(url), 'utf8')).join('\n');
  return { text, hasThread: existsSync(join(cwd, 'thread')) };
}

const ajv = 'draft/2020-12/meta/applicator';
const editor = '?2004h';

test('a chat loads neither the schema checker nor the line editor, and starts no thread', async () => {
  const { text, hasThread } = await loadedBy('chat --offline hi');
  expect([text.includes(ajv), text.includes(editor), hasThread]).toEqual([false, false, false]);
});

test('--schema starts the schema checker in a thread, and loads it nowhere else', async () => {
  const { text, hasThread } = await loadedBy("text --offline --schema s.json 'a name'");
  expect([text.includes(ajv), hasThread]).toEqual([false, true]);
});
