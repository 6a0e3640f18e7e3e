import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { shell } from '../helpers/spawn.ts';
import { scratchFolder } from '../helpers/scratch.ts';

/** The text of all files of the built program that a run loads. */
async function loadedBy(flags: string): Promise<string> {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 's.json'), '{}');
  const { code, stderr } = await shell(`node $BIN ${flags}`, { cwd, env: { NODE_V8_COVERAGE: join(cwd, 'coverage') } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [report = ''] = readdirSync(join(cwd, 'coverage'));
  const { result } = JSON.parse(readFileSync(join(cwd, 'coverage', report), 'utf8')) as { result: { url: string }[] };
  const files = result.map(({ url }) => url).filter((url) => url.includes('/dist/'));
  expect(files.length).toBeGreaterThan(1);
  return files.map((url) => readFileSync(fileURLToPath(url), 'utf8')).join('\n');
}

const ajv = 'draft/2020-12/meta/applicator';
const editor = '?2004h';

test('a chat loads neither the schema checker nor the line editor', async () => {
  const text = await loadedBy('chat --offline hi');
  expect([text.includes(ajv), text.includes(editor)]).toEqual([false, false]);
});

test('--schema starts the schema checker in a thread, and loads it nowhere else', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 's.json'), '{}');
  const hook = `const { isMainThread } = require('node:worker_threads');
    if (!isMainThread) require('node:fs').writeFileSync(${JSON.stringify(join(cwd, 'thread'))}, '');`;
  writeFileSync(join(cwd, 'hook.cjs'), hook);
  const run = (words: string) => shell(`node -r ./hook.cjs $BIN ${words}`, { cwd });
  expect((await run('chat --offline hi')).code).toBe(0);
  expect(existsSync(join(cwd, 'thread'))).toBe(false);
  expect((await run("text --offline --schema s.json 'a name'")).code).toBe(0);
  expect(existsSync(join(cwd, 'thread'))).toBe(true);
  expect(await loadedBy("text --offline --schema s.json 'a name'")).not.toContain(ajv);
});
