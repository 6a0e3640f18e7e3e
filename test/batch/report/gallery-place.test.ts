import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { imageReply, test } from '../../helpers/with-server.ts';

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The pictures of a page, as a browser finds them. */
function picturesOn(page: string): string[] {
  const links = [...readFileSync(page, 'utf8').matchAll(/<img src="([^"]*)"/g)];
  return links.map(([, link = '']) => join(dirname(page), decodeURIComponent(link)));
}

test('-o writes the page elsewhere, with relative links that lead to the pictures', async ({ server, cli }) => {
  server.always({ body: imageReply({ mimeType: 'image/png', data: dot }) });
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'pages'));
  const jobs = ['one', 'two', 'three'].map((prompt) => JSON.stringify({ command: 'image gen', prompt }));
  writeFileSync(join(cwd, 'jobs.jsonl'), jobs.join('\n'));
  for (const shard of ['1', '2'])
    await cli(['batch', 'jobs.jsonl', '-o', `my out #${shard}`, '--shard', `${shard}/2`], { cwd });
  const all = await cli(['batch', 'gallery', 'my out #1', 'my out #2', '-o', 'pages/all.html'], { cwd });
  expect(all).toMatchObject({ code: 0, stdout: 'pages/all.html\n', stderr: '' });
  const inside = await cli(['batch', 'gallery', 'my out #2', '-o', 'my out #2/images/page.html', '--json'], { cwd });
  expect(inside).toMatchObject({ code: 2 });
  const found = picturesOn(join(cwd, 'pages/all.html'));
  expect(found.filter((path) => existsSync(path) && path.startsWith(cwd))).toHaveLength(3);
  expect(existsSync(join(cwd, 'my out #1/index.html'))).toBe(false);
  expect(await cli(['batch', 'gallery', 'my out #1', 'my out #2'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('name a file: -o all.html'),
  });
  expect((await cli(['batch', 'gallery', 'my out #1', 'my out #2', '-o', 'pages/all.html'], { cwd })).code).toBe(0);
});

test('-o of a gallery replaces no other file, and takes neither a folder nor stdout', async ({ server, cli }) => {
  server.always({ body: imageReply({ mimeType: 'image/png', data: dot }) });
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'jobs.jsonl'), JSON.stringify({ command: 'image gen', prompt: 'a cat' }));
  await cli(['batch', 'jobs.jsonl', '-o', 'tiles'], { cwd });
  writeFileSync(join(cwd, 'own.html'), 'mine');
  const refusals = { 'own.html': 'a page of your own', tiles: 'is a folder', '-': 'name a file', 'no/a.html': 'mkdir' };
  for (const [place, words] of Object.entries(refusals)) {
    const ran = await cli(['batch', 'gallery', 'tiles', '-o', place], { cwd });
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([2, '', expect.stringContaining(words)]);
  }
  expect(readFileSync(join(cwd, 'own.html'), 'utf8')).toBe('mine');
  expect(readdirSync(cwd).toSorted()).toEqual(['jobs.jsonl', 'own.html', 'tiles']);
});
