import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

test.each([
  ['-n', ['image', 'gen', '-n', '2']],
  ['-o', ['image', 'gen', '-o', 'foo.png']],
  ['-o', ['text', '-o', 'foo.png']],
  ['-o', ['chat', '-o', 'foo.png']],
  ['--sidecar', ['image', 'gen', '--sidecar']],
  ['--preview', ['image', 'gen', '--preview']],
  ['--strict', ['image', 'gen', '--strict']],
])('%s beside --raw is exit 2: %j', async (flag, argv) => {
  const ran = await run([...argv, '--offline', '--raw', 'hi']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('--raw');
  expect(ran.stderr).toContain(flag);
});

test('--raw -n 1 is one request like any other', async () => {
  expect(await run(['image', 'gen', '--offline', '--raw', '-n', '1', 'hi'])).toMatchObject({ code: 0, stderr: '' });
});

test.each([['text'], ['chat']])('%s -o without a picture warns where the text went', async (command) => {
  const ran = await run([command, '--offline', '-o', 'my out.png', 'hi']);
  expect(ran.code).toBe(0);
  expect(ran.stdout).not.toBe('');
  expect(ran.stderr).toContain("warning: no image came; text goes to stdout: > 'my out.png'");
});

test('--dry-run reports the requests that -n would make', async () => {
  const ran = await run(['image', 'gen', '--offline', '--dry-run', '-n', '3', 'hi'], { tty: { stderr: true } });
  expect(ran).toMatchObject({ code: 0, stderr: 'without --dry-run 3 such requests would be sent\n' });
});

test.each([[['image', 'gen']], [['text']], [['chat']]])('%j --dry-run -o checks the output', async (words) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'old.png'), 'x');
  const argv = [...words, '--offline', '--dry-run', 'hi'];
  const taken = await run([...argv, '-o', 'old.png'], { cwd });
  expect(taken).toMatchObject({ code: 2, stdout: '' });
  expect(taken.stderr).toContain('--force');
  expect(await run([...argv, '-o', 'new/'], { cwd })).toMatchObject({ code: 0 });
  expect(existsSync(join(cwd, 'new'))).toBe(false);
});
