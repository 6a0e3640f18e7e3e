import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from 'fast-png';
import jpeg from 'jpeg-js';
import { expect, test } from 'vitest';
import { openRoot, toCommandWords, type ToolArguments, tools } from '../../../../src/cli/commands/mcp/tools.ts';
import { run } from '../../../helpers/run.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

const started = (root: string, ...more: string[]): object => ({
  command: 'gateway-cli',
  args: ['mcp', '--root', root, ...more],
});

test.each(['claude-desktop', 'claude-code', 'cursor', 'gemini-cli'])('prints the entry for %s', async (name) => {
  const { code, stdout, stderr, cwd } = await run(['mcp', '--print-config', name], {
    tty: { stderr: true },
    columns: 300,
  });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ mcpServers: { 'gateway-cli': started(cwd) } });
  expect(stderr).toMatch(/^paste this into .+\n$/);
});

test('the entry has the flags of the server', async () => {
  const flags = ['--root', 'pictures', '--offline', '--max-requests', '9', '--read-only', '--profile', 'work'];
  const { stdout, cwd } = await run(['mcp', '--print-config', 'vscode', ...flags]);
  const server = started(join(cwd, 'pictures'), '--max-requests=9', '--read-only', '--profile=work', '--offline');
  expect(JSON.parse(stdout)).toEqual({ servers: { 'gateway-cli': { type: 'stdio', ...server } } });
});

test.each(['spent.jsonl:2', './kept/spent:0.50/day', 'team:5'])(
  'the entry has --budget %s as a client elsewhere needs it',
  async (budget) => {
    const { stdout, cwd } = await run(['mcp', '--print-config', 'cursor', '--budget', budget]);
    const flag = `--budget=${budget.startsWith('team') ? '' : `${cwd}/`}${budget.replace('./', '')}`;
    expect(JSON.parse(stdout)).toEqual({ mcpServers: { 'gateway-cli': started(cwd, flag) } });
  },
);

test('the entry for codex is TOML', async () => {
  const { stdout, cwd } = await run(['mcp', '--print-config', 'codex']);
  expect(stdout).toBe(
    `[mcp_servers.gateway-cli]\ncommand = "gateway-cli"\nargs = ["mcp","--root",${JSON.stringify(cwd)}]\n`,
  );
});

test('with --json, stdout is one document with the entry in it', async () => {
  const [plain, { stdout }] = await Promise.all([
    run(['mcp', '--print-config', 'codex', '--root', '/tmp']),
    run(['mcp', '--print-config', 'codex', '--root', '/tmp', '--json']),
  ]);
  expect(JSON.parse(stdout)).toMatchObject({
    schema: 'gateway-cli/mcp-config@1',
    ok: true,
    client: 'codex',
    file: '~/.codex/config.toml',
    entry: plain.stdout,
  });
});

test.each([
  [['--print-config', 'emacs'], '--print-config takes claude-desktop, claude-code'],
  [['--root', 'nowhere'], '--root: there is no folder'],
])('mcp %j is exit 2', async (flags, message) => {
  const { code, stdout, stderr } = await run(['mcp', ...flags]);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(message) as string });
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

/** The preview of a picture of one colour. */
async function previewOf(width: number, height: number, colour: readonly [number, number, number, number]) {
  const file = join(scratchFolder(), 'plain.png');
  const data = Uint8Array.from({ length: width * height * 4 }, (_, at) => colour[at % 4] ?? 0);
  writeFileSync(file, encode({ width, height, data, channels: 4 }));
  const { stdout } = await run(['__preview', file]);
  const { previews } = JSON.parse(stdout) as { previews: [string] };
  return jpeg.decode(Buffer.from(previews[0], 'base64'));
}

test.each([
  [512, 256, 256, 128],
  [100, 400, 64, 256],
  [3000, 1, 256, 1],
  [40, 30, 40, 30],
])('the preview of %i×%i is %i×%i', async (width, height, ...size) => {
  const small = await previewOf(width, height, [200, 100, 50, 255]);
  expect([small.width, small.height]).toEqual(size);
  const differences = [200, 100, 50].map((value, at) => Math.abs(value - (small.data[at] ?? 0)));
  expect(Math.max(...differences)).toBeLessThanOrEqual(3);
});

test('transparent pixels of a preview are white', async () => {
  const { data } = await previewOf(16, 16, [200, 0, 0, 0]);
  expect(Math.min(...data)).toBeGreaterThan(250);
});

const dusk = join(import.meta.dirname, '../../../fixtures/dusk.png');

test('previews are null for files that are not images', async () => {
  const { code, stdout } = await run(['__preview', dusk, '/etc/hostname', 'nowhere.png']);
  expect(code).toBe(0);
  const { previews } = JSON.parse(stdout) as { previews: [string, ...null[]] };
  expect(previews).toEqual([expect.stringMatching(/^[\w+/]+=*$/), null, null]);
  expect(jpeg.decode(Buffer.from(previews[0], 'base64'))).toMatchObject({ width: 256, height: 146 });
});

test('no preview is begun after five seconds: the caller waits', async () => {
  let now = 0;
  const clock = { elapsed: () => (now += 2000), after: () => () => undefined };
  const { stdout } = await run(['__preview', ...Array.from({ length: 9 }, () => dusk)], { clock });
  const { previews } = JSON.parse(stdout) as { previews: string[] };
  expect(previews.length).toBeGreaterThan(0);
  expect(previews.length).toBeLessThan(4);
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
