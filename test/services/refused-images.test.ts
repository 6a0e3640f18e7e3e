import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createClient } from '../../src/index.ts';
import { makePng } from '../helpers/make-png.ts';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { test as withServer, textReply } from '../helpers/with-server.ts';

const box = (brand: string): Buffer => Buffer.from(`\0\0\0\x18ftyp${brand}\0\0\0\0`, 'latin1');
const pictures = {
  'a.heic': box('heic'),
  'a.avif': box('avif'),
  'a.bmp': Buffer.concat([Buffer.from('BM'), Buffer.alloc(40)]),
  'a.tiff': Buffer.from('II*\0abcd', 'latin1'),
  'a.gif': Buffer.from('GIF89a\x01\0\x01\0\0\0\0;', 'latin1'),
  'a.png': makePng(1, 1),
  'tall.png': makePng(10, 8001),
  'wide.png': makePng(2001, 10),
  "it's big.png": Buffer.concat([makePng(1, 1), Buffer.alloc(3_932_161)]),
  'fits.png': Buffer.concat([makePng(1, 1), Buffer.alloc(3_932_160 - makePng(1, 1).length)]),
};
const keys = { gemini: 'GEMINI_API_KEY', anthropic: 'ANTHROPIC_API_KEY', openai: 'OPENAI_API_KEY' } as const;

function folder(): string {
  const cwd = scratchFolder();
  for (const [name, bytes] of Object.entries(pictures)) writeFileSync(join(cwd, name), bytes);
  return cwd;
}

const chat = (name: keyof typeof keys, file: string, cwd: string) =>
  run(['chat', 'what is it?', '-i', file, '--dry-run', '--no-save'], { cwd, env: { [keys[name]]: 'k' } });

describe('before anything is sent', () => {
  test.each([
    ['gemini', 'a.gif', 'Google Gemini takes no picture of the type image/gif: "a.gif"'],
    ['gemini', 'a.bmp', 'Google Gemini takes no picture of the type image/bmp: "a.bmp"'],
    ['gemini', 'a.tiff', 'Google Gemini takes no picture of the type image/tiff: "a.tiff"'],
    ['gemini', 'a.avif', 'Google Gemini takes no picture of the type image/avif: "a.avif"'],
    ['anthropic', 'a.heic', 'Anthropic takes no picture of the type image/heic: "a.heic"'],
    ['anthropic', 'a.bmp', 'Anthropic takes no picture of the type image/bmp: "a.bmp"'],
    ['anthropic', 'a.tiff', 'Anthropic takes no picture of the type image/tiff: "a.tiff"'],
    ['openai', 'a.heic', 'OpenAI takes no picture of the type image/heic: "a.heic"'],
    ['openai', 'a.bmp', 'OpenAI takes no picture of the type image/bmp: "a.bmp"'],
    ['openai', 'a.tiff', 'OpenAI takes no picture of the type image/tiff: "a.tiff"'],
  ] as const)('%s refuses %s, and the hint has the command that makes it fit', async (name, file, message) => {
    const cwd = folder();
    const ran = await chat(name, file, cwd);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    const path = join(cwd, file);
    expect(ran.stderr).toBe(
      `gateway-cli: usage: ${message}\n  make it one that it takes: magick '${path}[0]' a.jpg, or on macOS: sips -s format jpeg ${path} --out a.jpg\n`,
    );
  });

  test.each([
    ['gemini', 'a.heic'],
    ['gemini', "it's big.png"],
    ['anthropic', 'a.gif'],
    ['anthropic', 'fits.png'],
    ['openai', 'a.gif'],
    ['openai', "it's big.png"],
  ] as const)('%s is given %s', async (name, file) => {
    expect(await chat(name, file, folder())).toMatchObject({ code: 0, stderr: '' });
  });

  test('openai takes a GIF to look at, and none to edit', async () => {
    const line = ['image', 'edit', '-i', 'a.gif', 'blue', '--dry-run'];
    const ran = await run(line, { cwd: folder(), env: { OPENAI_API_KEY: 'k' } });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('OpenAI takes no picture of the type image/gif: "a.gif"');
  });

  test('anthropic refuses a picture of more than 5 MiB of Base64', async () => {
    const cwd = folder();
    const ran = await chat('anthropic', "it's big.png", cwd);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(`takes at most 5242880 bytes of Base64 for a picture: "it's big.png" has 52429`);
    expect(ran.stderr).toContain(`-resize '2000x2000>' 'it'\\''s big-small.jpg', or on macOS: sips -Z 2000`);
  });

  const many = (count: number, file: string): string[] => Array.from({ length: count }, () => ['-i', file]).flat();
  test.each([
    [
      'openai',
      ['image', 'edit', 'blue', ...many(17, 'a.png')],
      'OpenAI edits at most 16 pictures at once, and 17 are given',
    ],
    ['anthropic', ['chat', 'x', '-i', 'tall.png'], 'no side above 8000 pixels: "tall.png" has 10x8001'],
    ['anthropic', ['text', 'x', '--attach', 'tall.png'], 'no side above 8000 pixels: "tall.png" has 10x8001'],
    [
      'anthropic',
      ['chat', 'x', ...many(20, 'a.png'), '-i', 'wide.png'],
      'no side above 2000 pixels with more than 20 pictures: "wide.png" has 2001x10',
    ],
  ] as const)('%s refuses pictures by their number or their sides: %j', async (name, argv, message) => {
    const ran = await run([...argv, '--dry-run'], { cwd: folder(), env: { [keys[name]]: 'k' } });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(message);
  });

  test.each([
    ['openai', ['image', 'edit', 'blue', ...many(16, 'a.png')]],
    ['anthropic', ['chat', 'x', ...many(19, 'a.png'), '-i', 'wide.png']],
    ['gemini', ['chat', 'x', '-i', 'tall.png']],
  ] as const)('%s is given as many and as large ones as it takes', async (name, argv) => {
    const ran = await run([...argv, '--dry-run'], { cwd: folder(), env: { [keys[name]]: 'k' } });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
  });

  test('the library measures a picture, too', async () => {
    const client = createClient({ service: 'anthropic', apiKey: 'k' });
    const asked = client.generate({ model: 'm', prompt: 'x', media: [pictures['tall.png']] });
    await expect(asked).rejects.toThrow('no side above 8000 pixels: "in.png" has 10x8001');
    await client.close();
  });

  test.each([
    ['openai', ['-o', 'a.jpg']],
    ['openai', ['--output-format', 'jpeg']],
    ['openrouter', ['-o', 'a.jpeg']],
  ])('%s: a transparent background is not asked for in a JPEG: %j', async (service, argv) => {
    const line = ['image', 'gen', 'a cat', '--service', service, '-m', 'm', '--background', 'transparent', ...argv];
    const ran = await run([...line, '--dry-run'], { cwd: folder() });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('a JPEG has no transparent background\n  ask for another type, such as -o a.png\n');
    const other = await run([...line.slice(0, 9), '-o', 'new.webp', '--dry-run'], { cwd: folder() });
    expect(other).toMatchObject({ code: 0, stderr: '' });
  });

  test('the library refuses it too, by the name that it has', async () => {
    const client = createClient({ service: 'anthropic', apiKey: 'k' });
    const asked = client.generate({ model: 'm', prompt: 'x', media: [pictures['a.bmp']] });
    await expect(asked).rejects.toMatchObject({ class: 'usage', details: { sent: 'no' } });
    await expect(asked).rejects.toThrow('Anthropic takes no picture of the type image/bmp: "in.bmp"');
  });
});

withServer('a gateway, and another host of a service, get what they are given', async ({ server, cli }) => {
  const cwd = folder();
  for (const service of ['gateway', 'gemini']) {
    server.reply({ body: textReply('x') });
    const line = ['text', 'x', '--attach', 'a.bmp', '--service', service];
    expect(await cli(line, { cwd })).toMatchObject({ code: 0, stdout: 'x\n' });
  }
  expect(server.requests.length).toBe(2);
});
