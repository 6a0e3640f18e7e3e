import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from 'fast-png';
import { expect, test } from 'vitest';
import { openRoot, toCommandWords, type ToolArguments, tools } from '../../../../src/cli/commands/mcp/tools.ts';
import { run } from '../../../helpers/run.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

test('mcp without its folder is exit 2', async () => {
  const { code, stdout, stderr } = await run(['mcp', '--root', 'nowhere']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('--root: there is no folder');
});

test('the root folder has what is in it, also by its links, and nothing else', async () => {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'root/sub'), { recursive: true });
  writeFileSync(join(cwd, 'root/a.png'), '');
  writeFileSync(join(cwd, 'secret'), '');
  symlinkSync('sub', join(cwd, 'root/inner'));
  symlinkSync('..', join(cwd, 'root/above'));
  symlinkSync('../secret', join(cwd, 'root/secret'));
  symlinkSync('../not-yet', join(cwd, 'root/dead'));
  symlinkSync('root', join(cwd, 'link'));
  execFileSync('mkfifo', [join(cwd, 'root/pipe')]);
  const root = await openRoot(join(cwd, 'link'));
  expect(root.path).toBe(join(cwd, 'root'));
  expect(await root.input('a.png')).toBe(join(cwd, 'root/a.png'));
  expect(await root.input('sub/../a.png')).toBe(join(cwd, 'root/a.png'));
  expect(await root.output('inner/new.png')).toBe('./sub/new.png');
  expect(await root.output('-')).toBe('./-');
  expect(await root.output('deep/new/')).toBe('deep/new/');
  expect(await root.output('.')).toBe('./');
  expect(await root.output('./')).toBe('./');
  for (const path of ['..', '../root2', 'above/secret', 'secret', 'dead', 'dead/x', '/etc/passwd', `${cwd}/rooted`])
    await expect(root.input(path), path).rejects.toMatchObject({ class: 'usage' });
  // Nobody may ever write into it: the call would not end.
  await expect(root.input('pipe')).rejects.toThrow("'pipe' is a device, a pipe or a socket");
  await expect(root.output('{slug}/x.png')).rejects.toMatchObject({ class: 'usage' });
  await expect(root.output('a.png/x.png')).rejects.toMatchObject({ class: 'usage' });
});

test('a brace in the path of the root is no placeholder, and one below it, also behind a link, is refused', async () => {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'p{date}/s{slug}'), { recursive: true });
  symlinkSync('s{slug}', join(cwd, 'p{date}/inner'));
  const root = await openRoot(join(cwd, 'p{date}'));
  expect(await root.output('x.png')).toBe('./x.png');
  await expect(root.output('inner/x.png')).rejects.toThrow("'inner/x.png' has a brace");
});

const picture = { size: '1536x1024', quality: 'high', background: 'opaque', output_format: 'webp', fallback: 'other' };
const given: Readonly<Record<string, ToolArguments>> = {
  generate_image: { ...picture, count: 1 },
  edit_image: { ...picture, images: ['dot.png'] },
  ask: { system: 's', max_tokens: 9, effort: 'low', search: true, fallback: 'other' },
};

test.each(Object.keys(given))('what a caller gives to %s is in the request of its command', async (name) => {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(name);
  const cwd = scratchFolder();
  writeFileSync(
    join(cwd, 'dot.png'),
    encode({ width: 16, height: 16, data: new Uint8Array(16 * 16 * 3), channels: 3 }),
  );
  const args = given[name] ?? {};
  expect(Object.keys(args).filter((key) => !Object.hasOwn(tool.inputSchema.properties, key))).toEqual([]);
  const words = toCommandWords(tool, { prompt: 'hi', ...args }, ['--dry-run', '--json']);
  expect(words.filter((word) => word === '--fallback=other')).toHaveLength(1);
  const ran = await run(words, { cwd, stdin: 'hi', env: { OPENAI_API_KEY: 'key-0123456789' } });
  expect(ran).toMatchObject({ code: 0 });
  const { body } = JSON.parse(ran.stdout) as { body: Record<string, unknown> };
  if (name === 'ask')
    expect(body).toMatchObject({ max_output_tokens: 9, reasoning: { effort: 'low' }, tools: [{ type: 'web_search' }] });
  else expect(body).toMatchObject({ size: '1536x1024', quality: 'high', background: 'opaque', output_format: 'webp' });
});
