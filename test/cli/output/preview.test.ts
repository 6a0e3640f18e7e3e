import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from 'fast-png';
import { expect } from 'vitest';
import { imageReply, test } from '../../helpers/with-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** One red pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const reply = { body: imageReply({ mimeType: 'image/png', data: png }) };
const terminal = { tty: { stderr: true, stdout: true } };
const gen = ['image', 'gen', 'a dot', '--preview'];
const blocks = /\[38;[25];/;

test('shows the picture on stderr, above its path', async ({ server, cli }) => {
  server.reply(reply);
  const ran = await cli(gen, { ...terminal, env: { CI: '1', COLORTERM: 'truecolor' } });
  expect(ran).toMatchObject({ code: 0, stdout: 'image-1.png\n' });
  expect(ran.stderr).toBe('\u001b[38;2;255;0;0;49m▀\u001b[0m\n');
});

test('a picture is no higher than the screen', async ({ server, cli }) => {
  const high = Buffer.from(encode({ width: 30, height: 90, data: new Uint8Array(30 * 90 * 3), channels: 3 }));
  server.reply({ body: imageReply({ mimeType: 'image/png', data: high.toString('base64') }) });
  const ran = await cli(gen, { ...terminal, rows: 12, env: { CI: '1' } });
  expect(ran.stderr).toContain('▀');
  expect(ran.stderr.split('\n').length - 1).toBeLessThanOrEqual(10);
});

test.for([
  ['stderr in a pipe', [], { tty: { stdout: true } }],
  ['--quiet', ['--quiet'], terminal],
  ['--no-color', ['--no-color'], terminal],
  ['-o -', ['-o', '-'], { tty: { stderr: true } }],
] as const)('shows nothing with %s', async ([, flags, options], { server, cli }) => {
  server.reply(reply);
  const ran = await cli([...gen, ...flags], { ...options, env: { CI: '1' } });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
});

test('preview: true in the profile is the default, on terminals only', async ({ server, cli }) => {
  const cwd = scratchFolder();
  const config = join(cwd, 'config.json');
  writeFileSync(config, JSON.stringify({ profile: 'p', profiles: { p: { preview: true } } }), { mode: 0o600 });
  server.always(reply);
  const env = { CI: '1', GATEWAY_CONFIG: config };
  expect((await cli(['image', 'gen', 'a dot'], { cwd, env, ...terminal })).stderr).toMatch(blocks);
  expect((await cli(['image', 'gen', 'a dot'], { cwd, env })).stderr).toBe('');
});

test('a picture that cannot be shown is a note, and no failure', async ({ server, cli }) => {
  const webp = Buffer.concat([
    Buffer.from('RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0', 'latin1'),
  ]);
  server.reply({ body: imageReply({ mimeType: 'image/webp', data: webp.toString('base64') }) });
  const ran = await cli(gen, { ...terminal, env: { CI: '1' } });
  expect(ran).toMatchObject({ code: 0, stdout: 'image-1.webp\n' });
  expect(ran.stderr).toContain('no preview: image/webp cannot be decoded here');
  const broken = Buffer.from(png, 'base64');
  broken.fill(0, 41, 55);
  server.reply({ body: imageReply({ mimeType: 'image/png', data: broken.toString('base64') }) });
  const second = await cli(gen, { ...terminal, env: { CI: '1' } });
  expect(second).toMatchObject({ code: 0, stdout: 'image-1.png\n' });
  expect(second.stderr).toContain('no preview: ');
});

/** Made once: it takes a second. */
const huge = encode({ width: 8191, height: 8191, data: new Uint8Array(8191 ** 2), channels: 1, depth: 8 });

test('a picture of too many pixels is not shown, and why', async ({ server, cli }) => {
  server.reply({ body: imageReply({ mimeType: 'image/png', data: Buffer.from(huge).toString('base64') }) });
  const ran = await cli(gen, { ...terminal, env: { CI: '1' } });
  expect(ran).toMatchObject({ code: 0, stdout: 'image-1.png\n' });
  expect(ran.stderr).toBe('no preview: it has 8191×8191 pixels, more than 24 megapixels\n');
});
