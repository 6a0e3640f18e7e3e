import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { GatewayError } from '../../../src/library/errors.ts';
import { planOutput } from '../../../src/library/images/naming.ts';
import { chooseHint } from '../../../src/library/reasons.ts';
import { checkOutput } from '../../../src/library/images/publish.ts';
import { namesIn, scratchFolder } from './scratch.ts';

interface Case {
  output: string;
  count?: number;
  force?: boolean;
  sidecar?: boolean;
  isDirectory?: boolean;
}

function check(
  cwd: string,
  { output, count = 1, force = false, sidecar = false, isDirectory = false }: Case,
): Promise<void> {
  const plan = planOutput(output, { isDirectory, count, prompt: 'a cat', model: 'm', date: '2026-11-20' });
  return checkOutput(plan, { cwd, force, sidecar });
}

function prepare(): string {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'folder'));
  mkdirSync(join(cwd, 'dir.png'));
  for (const name of ['cat.png', 'many-2.png', 'bare.webp', 'side.png.json', 'photo.heic', 'scan.tiff'])
    writeFileSync(join(cwd, name), 'old');
  symlinkSync('nowhere', join(cwd, 'dangling.png'));
  return cwd;
}

test.each<[string, Case]>([
  ['a free name', { output: 'new.png' }],
  ['a name in a folder', { output: 'folder/new.png' }],
  ['an existing folder', { output: 'folder', isDirectory: true }],
  ['an existing folder with a slash', { output: 'folder/' }],
  ['a taken name with force', { output: 'cat.png', force: true }],
  ['a dangling link with force', { output: 'dangling.png', force: true }],
  ['a template', { output: 'folder/{slug}-{n}.{ext}' }],
  ['a name whose other extension is taken, with --force', { output: 'bare.png', force: true }],
  ['the name of a photo that no service draws', { output: 'photo.webp' }],
  ['the name of a scan, without an extension', { output: 'scan' }],
  ['one of many if a later name is taken', { output: 'many.png' }],
  ['a taken sidecar without --sidecar', { output: 'side.png' }],
  ['a name of 251 bytes', { output: `${'x'.repeat(247)}.png` }],
])('accepts %s and leaves no file', async (_name, output) => {
  const cwd = prepare();
  const before = [namesIn(cwd), namesIn(join(cwd, 'folder'))];
  await check(cwd, output);
  expect([namesIn(cwd), namesIn(join(cwd, 'folder'))]).toEqual(before);
});

test.each<[string, Case, string, string]>([
  ['a missing folder', { output: 'no/cat.png' }, 'there is no folder "no"', 'mkdir -p no'],
  ['a picture of another type', { output: 'bare.png' }, '"bare.webp" already exists', '-o bare-2.png'],
  ['a missing folder with a blank', { output: 'no w/cat.png' }, 'there is no folder "no w"', "mkdir -p 'no w'"],
  ['a missing parent of a folder', { output: 'no/dir/' }, 'there is no folder "no/dir/"', 'mkdir -p no/dir/'],
  ['a file as a folder', { output: 'cat.png/x.png' }, '"cat.png" is not a folder', ''],
  ['a file inside the path', { output: 'cat.png/x/y.png' }, 'a part of the path is not a folder', ''],
  ['a taken name', { output: 'cat.png' }, '"cat.png" already exists', '--force replaces it'],
  ['a taken name, one of many', { output: 'many.png', count: 3 }, '"many-2.png" already exists', ''],
  ['a taken name without its extension', { output: 'bare' }, '"bare.webp" already exists', ''],
  ['a dangling link', { output: 'dangling.png' }, '"dangling.png" already exists', ''],
  ['a taken sidecar', { output: 'side.png', sidecar: true }, '"side.png.json" already exists', ''],
  ['a folder with the name', { output: 'dir.png', force: true }, '"dir.png" is a folder', '-o dir.png/'],
  ['a folder with the name and its extension', { output: 'dir', force: true }, '"dir.png" is a folder', ''],
  ['a name that is too long', { output: `${'x'.repeat(300)}.png` }, 'the name is too long', ''],
  ['a name that is too long with its extension', { output: 'x'.repeat(253) }, 'the name is too long', ''],
])('refuses %s before the request is paid', async (_name, output, message, hint) => {
  const checking = check(prepare(), output);
  await expect(checking).rejects.toMatchObject({
    class: 'usage',
    exitCode: 2,
    billed: 'no',
    message: expect.stringContaining(message),
  });
  await expect(checking).rejects.toSatisfy((error: GatewayError) => (chooseHint(error) ?? '').includes(hint));
});

test('makes a folder that was named with a slash', async () => {
  const cwd = scratchFolder();
  await check(cwd, { output: 'new/' });
  await check(cwd, { output: '{slug}/' });
  expect(namesIn(cwd)).toEqual(['a-cat', 'new']);
});

test('a folder that two commands make at once is made, and one that cannot be made is told', async () => {
  const cwd = scratchFolder();
  await Promise.all([1, 2, 3].map(() => check(cwd, { output: 'new/' })));
  expect(namesIn(cwd)).toEqual(['new']);
  if (process.platform !== 'linux') return;
  await expect(check(cwd, { output: '/proc/new/' })).rejects.toMatchObject({
    class: 'usage',
    message: expect.stringMatching(/^cannot make the folder "\/proc\/new\/": /),
  });
});

test.skipIf(process.platform === 'win32')('refuses devices and FIFOs even with force', async () => {
  const cwd = scratchFolder();
  execFileSync('mkfifo', [join(cwd, 'fifo.png')]);
  for (const output of ['fifo.png', '/dev/null']) {
    await expect(check(cwd, { output, force: true })).rejects.toMatchObject({
      class: 'usage',
      message: expect.stringContaining('pipe'),
      details: { reason: 'output-device' },
    });
  }
});

test.skipIf(process.platform === 'win32' || process.getuid?.() === 0)(
  'refuses a folder that may not be written (needs a user who is not root)',
  async () => {
    const cwd = scratchFolder();
    chmodSync(cwd, 0o555);
    await expect(check(cwd, { output: 'cat.png' })).rejects.toMatchObject({
      class: 'usage',
      message: expect.stringContaining('permission to write it'),
    });
    chmodSync(cwd, 0o755);
  },
);
