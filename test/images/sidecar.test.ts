import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeSidecar } from '../../src/images/publish.ts';
import { namesIn, scratchFolder } from './scratch.ts';

test('writes facts beside a picture, and replaces a sidecar only with force', async () => {
  const cwd = scratchFolder();
  await writeSidecar('cat.png', { prompt: 'ä', n: 1 }, { cwd, force: false });
  expect(readFileSync(join(cwd, 'cat.png.json'), 'utf8')).toBe('{\n  "prompt": "ä",\n  "n": 1\n}\n');
  await expect(writeSidecar('cat.png', {}, { cwd, force: false })).rejects.toMatchObject({
    class: 'not-written',
    message: 'cannot write "cat.png.json": it already exists',
  });
  expect(JSON.parse(readFileSync(join(cwd, 'cat.png.json'), 'utf8'))).toMatchObject({ n: 1 });
  await writeSidecar('cat.png', {}, { cwd, force: true });
  expect(readFileSync(join(cwd, 'cat.png.json'), 'utf8')).toBe('{}\n');
  expect(namesIn(cwd)).toEqual(['cat.png.json']);
});

test('leaves no file if it cannot write', async () => {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'cat.png.json'));
  writeFileSync(join(cwd, 'file'), '');
  await expect(writeSidecar('cat.png', {}, { cwd, force: true })).rejects.toMatchObject({
    message: expect.stringContaining('it is a folder'),
  });
  await expect(writeSidecar('no/cat.png', {}, { cwd, force: true })).rejects.toMatchObject({ class: 'not-written' });
  expect(namesIn(cwd)).toEqual(['cat.png.json', 'file']);
});
