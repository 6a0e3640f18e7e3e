import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { imageReply, test } from '../../helpers/with-server.ts';

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('shows the variants of image -n on one page, with the prompts of their sidecars', async ({ server, cli }) => {
  server.always({ body: imageReply({ mimeType: 'image/png', data: dot }) });
  const cwd = scratchFolder();
  const drawn = await cli(['image', 'gen', '-n', '3', 'a <cat>', '-o', 'tiles/', '--sidecar'], { cwd });
  expect(drawn).toMatchObject({ code: 0, stderr: '' });
  expect(await cli(['batch', 'gallery', 'tiles'], { cwd })).toMatchObject({
    code: 0,
    stdout: 'tiles/index.html\n',
    stderr: '',
  });
  const page = readFileSync(join(cwd, 'tiles/index.html'), 'utf8');
  expect([...page.matchAll(/<img src="([^"]*)" width="1" height="1"/g)].map(([, link]) => link)).toEqual([
    './image-1.png',
    './image-2.png',
    './image-3.png',
  ]);
  expect(page.match(/<p><bdi>a &#60;cat&#62;<\/bdi><\/p>/g)).toHaveLength(3);
  expect((await cli(['batch', 'gallery', 'tiles'], { cwd })).code).toBe(0);
});

test('replaces no page of the user in a folder of pictures, and refuses a folder without any', async ({ cli }) => {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'own'));
  writeFileSync(join(cwd, 'own/a.png'), Buffer.from(dot, 'base64'));
  writeFileSync(join(cwd, 'own/index.html'), 'mine');
  expect(await cli(['batch', 'gallery', 'own'], { cwd })).toMatchObject({ code: 2, stdout: '' });
  expect(readFileSync(join(cwd, 'own/index.html'), 'utf8')).toBe('mine');
  mkdirSync(join(cwd, 'empty'));
  expect((await cli(['batch', 'gallery', 'empty'], { cwd })).stderr).toContain('empty holds no batch');
  expect(readdirSync(join(cwd, 'empty'))).toEqual([]);
});
