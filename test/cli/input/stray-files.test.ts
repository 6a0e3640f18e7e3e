import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { imageReply, test } from '../../helpers/with-server.ts';
import { png } from '../../replies/deviation.ts';

/** A folder with three pictures, a text and a folder that is called like a picture. */
function pictures(): string {
  const cwd = scratchFolder();
  for (const name of ['a.png', 'b.png', 'my cat.JPEG', 'notes.txt'])
    writeFileSync(join(cwd, name), Buffer.from(png, 'base64'));
  mkdirSync(join(cwd, 'folder.png'));
  return cwd;
}

const edit = ['image', 'edit', '-o', 'out.png', '-i', 'a.png'];

test.for([
  ['beside a prompt', [...edit, 'b.png', 'put them together'], 'send it: -i a.png -i b.png'],
  ['as the only word', [...edit, 'b.png'], 'send it: -i a.png -i b.png'],
  ['by another path', [...edit, './b.png', 'x'], 'send it: -i a.png -i ./b.png'],
  ['two of them', [...edit, 'x', 'b.png', 'my cat.JPEG'], "send them: -i a.png -i b.png -i 'my cat.JPEG'"],
  ['beside --prompt', [...edit, 'b.png', '-p', 'x'], 'send it: -i a.png -i b.png'],
  ['in a dry run', [...edit, 'b.png', 'x', '--dry-run'], 'send it: -i a.png -i b.png'],
  ['of chat', ['chat', 'x', '-i', 'a.png', 'b.png'], 'send it: -i a.png -i b.png'],
  ['of chat --attach', ['chat', 'x', '--attach', 'a.png', 'b.png'], 'send it: --attach a.png --attach b.png'],
  ['of text', ['text', 'x', '--attach', 'a.png', 'b.png'], 'send it: --attach a.png --attach b.png'],
] as const)('a picture among the words of the prompt is refused: %s', async ([, argv, hint], { server, cli }) => {
  const ran = await cli(argv, { cwd: pictures() });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('would go as a word of the prompt');
  expect(ran.stderr).toContain(hint);
  expect(ran.stderr).toContain('in quotes: -p "…"');
  expect(server.requests).toHaveLength(0);
});

test('of many pictures the hint names the first ones', async ({ cli }) => {
  const cwd = pictures();
  const names = Array.from({ length: 9 }, (_, n) => `${n}.png`);
  for (const name of names) writeFileSync(join(cwd, name), Buffer.from(png, 'base64'));
  const { stderr } = await cli([...edit, ...names, 'x'], { cwd });
  expect(stderr).toContain('send them: -i a.png -i 0.png -i 1.png -i 2.png …');
});

test.for([
  ['a part of a quoted word', ['make it like b.png'], 'make it like b.png'],
  ['in --prompt', ['-p', 'b.png'], 'b.png'],
  ['a file that is not there', ['as', 'c.png'], 'as c.png'],
  ['a file of another kind', ['as', 'notes.txt'], 'as notes.txt'],
  ['a folder', ['as', 'folder.png'], 'as folder.png'],
] as const)('a name stays a part of the prompt: %s', async ([, words, text], { server, cli }) => {
  server.reply({ body: imageReply({ mimeType: 'image/png', data: png }) });
  const ran = await cli([...edit, ...words], { cwd: pictures() });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.json()).toMatchObject({ contents: [{ parts: [{ text }, {}] }] });
});

test.for([
  ['a text for text', ['text', 'summarise this', 'notes.txt'], "gateway-cli text 'summarise this' < notes.txt"],
  ['a text alone', ['chat', 'notes.txt'], 'gateway-cli chat "what to do with it" < notes.txt'],
  ['a picture for text', ['text', 'what', 'is', 'b.png'], "gateway-cli text 'what is' --attach b.png"],
  ['a picture for chat', ['chat', 'b.png'], '-i b.png'],
  ['a picture to edit', ['image', 'edit', 'b.png', 'make it red'], "gateway-cli image edit 'make it red' -i b.png"],
  ['a picture to begin with', ['image', 'gen', 'like', 'b.png'], 'gateway-cli image edit like -i b.png'],
] as const)('%s is not taken for a word of the prompt', async ([, argv, hint], { server, cli }) => {
  const ran = await cli(argv, { cwd: pictures() });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(hint);
  expect(server.requests).toHaveLength(0);
});

test('a picture is sent by its file:// address', async ({ server, cli }) => {
  const cwd = pictures();
  server.reply({ body: imageReply({ mimeType: 'image/png', data: png }) });
  const ran = await cli(['image', 'edit', '-i', `${pathToFileURL(join(cwd, 'my cat.JPEG'))}`, 'x'], { cwd });
  expect(ran).toMatchObject({ code: 0 });
  const other = await cli(['image', 'edit', '-i', 'file://elsewhere/a.png', 'x'], { cwd });
  expect(other).toMatchObject({ code: 2, stdout: '' });
});
