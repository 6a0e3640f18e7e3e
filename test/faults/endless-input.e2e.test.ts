import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ask, bash, becomes, folder, namesIn, start } from './program.ts';

const posix = process.platform !== 'win32';
const nowhere = { url: 'http://127.0.0.1:1' };
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** An input that stays open, `secret` of which has come. */
const inputs: Record<string, string[]> = {
  'image edit -i -': ['image', 'edit', 'x', '-i', '-'],
  'chat -i -': ['chat', 'x', '-i', '-'],
  'text --attach -': ['text', 'x', '--attach', '-'],
  'text --attach of a pipe': ['text', 'x', '--attach', 'pipe'],
  'batch of a pipe': ['batch', 'pipe', '-o', 'out'],
};
const cases = Object.entries(inputs).flatMap(([name, argv]) => signals.map((signal) => [signal, name, argv] as const));

describe.skipIf(!posix)('input that is still being copied', () => {
  test.each(cases)('%s leaves nothing of it: %s', async (signal, _, argv) => {
    const cwd = folder();
    const temp = folder();
    spawnSync('mkfifo', [join(cwd, 'pipe')]);
    const { child, ended } = start(argv, nowhere, { cwd, env: { TMPDIR: temp }, stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin?.write('secret');
    const writer = argv.includes('pipe') ? await open(join(cwd, 'pipe'), 'w') : undefined;
    await writer?.write('secret');
    await becomes(() => namesIn(temp).some((name) => sizeOf(join(temp, name)) > 0), ended);
    child.kill(signal);
    expect(await ended).toMatchObject({ signal, stdout: '' });
    expect(namesIn(temp)).toEqual([]);
    await writer?.close();
  });

  const endless = [
    'text x --attach pipe',
    'text --prompt-file pipe',
    'image edit x -i pipe',
    'image edit x -i - 0<>pipe',
  ];

  test.each(endless)('the time limit ends %s', async (argv) => {
    const temp = folder();
    const script = `mkfifo pipe; $CLI ${argv} --timeout 0.2 -q`;
    const ran = await bash(script, nowhere, { env: { TMPDIR: temp } });
    expect(ran).toMatchObject({ code: 7, stdout: '' });
    expect(ran.stderr).toContain('gateway-cli: not-sent: not sent within 0.2 s\n');
    expect(namesIn(temp)).toEqual([]);
  });

  test.each(['text x --attach pipe', 'image edit x -i pipe'])('one SIGINT ends %s', async (line) => {
    const cwd = folder();
    spawnSync('mkfifo', [join(cwd, 'pipe')]);
    const { child, ended } = start(line.split(' '), nowhere, { cwd, env: { TMPDIR: cwd } });
    await becomes(() => namesIn(cwd).length > 1, ended);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ signal: 'SIGINT', stdout: '', stderr: '' });
    expect(namesIn(cwd)).toEqual(['pipe']);
  });
});

describe.skipIf(!existsSync('/dev/zero'))('a device that never ends', () => {
  test('is ended by the time limit', async () => {
    const temp = folder();
    const ran = await bash('$CLI text x --attach /dev/zero --timeout 0.1', nowhere, { env: { TMPDIR: temp } });
    expect(ran).toMatchObject({ code: 7, stdout: '' });
    expect(namesIn(temp)).toEqual([]);
  });

  test('is refused as a text past a size', async () => {
    const ran = await ask('text --prompt-file /dev/zero', nowhere);
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining("'/dev/zero' holds more than 64 MiB")]);
  });
});

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
