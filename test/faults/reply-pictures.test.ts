import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { imageReply, test, textReply } from '../helpers/with-server.ts';

const png = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d494844520000001000000010080600000000000000', 'hex'),
  Buffer.from('0000005949444154', 'hex'),
  // Characters of both alphabets.
  Buffer.alloc(0x59, Buffer.from('fbefbeff', 'hex')),
  Buffer.from('000000000000000049454e44ae426082', 'hex'),
]);
const base64 = png.toString('base64');

test.for([
  ['truncated', base64.slice(0, -3)],
  ['a foreign character', `${base64.slice(0, 40)}*${base64.slice(40)}`],
  ['padded in the middle', `${base64.slice(0, 40)}=${base64.slice(41)}`],
  ['padded and then going on', `${base64}AAAA`],
  ['padded by one too much', `${base64}=`],
  ['padded twice over', `${base64}====`],
] as const)('Base64: %s is not a picture, and no file is left', async ([, data], { server, cli }) => {
  server.reply({ body: imageReply({ mimeType: 'image/png', data }) });
  const ran = await cli(['image', 'gen', 'x']);
  expect([ran.code, ran.stdout, readdirSync(ran.cwd)]).toEqual([9, '', []]);
});

test.for([
  ['spaced', (base64.match(/.{1,76}/g) ?? []).join('\r\n')],
  ['url-safe', base64.replaceAll('+', '-').replaceAll('/', '_')],
  ['without padding', base64.replaceAll('=', '')],
] as const)('Base64: %s is the same picture', async ([, data], { server, cli }) => {
  server.reply({ body: imageReply({ mimeType: 'image/png', data }) });
  const ran = await cli(['image', 'gen', 'x']);
  expect([ran.code, ran.stdout]).toEqual([0, 'image-1.png\n']);
  expect(readFileSync(join(ran.cwd, 'image-1.png')).equals(png)).toBe(true);
});

const unknown = Buffer.alloc(99, 'what is this? ').toString('base64');

test.for([
  ['a path', 'image/../../../etc/cron.d/x', base64, 'image-1.png'],
  ['another type', 'image/jpeg; x=../y', base64, 'image-1.png'],
  ['SVG', 'image/svg+xml', base64, 'image-1.png'],
  ['NUL', 'image/png\u0000.sh', base64, 'image-1.png'],
  ['5 KB', `image/${'p'.repeat(5000)}`, base64, 'image-1.png'],
  ['SVG of unknown bytes', 'image/svg+xml', unknown, 'image-1.bin'],
] as const)(
  'mime and bytes disagree: %s: the bytes name the file',
  async ([, mimeType, data, file], { server, cli }) => {
    server.reply({
      headers: { 'content-disposition': 'attachment; filename="../evil.sh"' },
      body: imageReply({ mimeType, data }),
    });
    const ran = await cli(['image', 'gen', 'x']);
    expect([ran.code, ran.stdout, readdirSync(ran.cwd)]).toEqual([0, `${file}\n`, [file]]);
    expect(ran.stderr).toMatch(/^gateway-cli: warning: the image (is declared|came as) "image\/.*bytes are .*\n$/);
  },
);

test.for([
  ['a path, of unknown bytes', 'image/../../x.sh', unknown],
  ['a program, of unknown bytes', 'application/x-sh', unknown],
] as const)(
  'mime and bytes disagree: %s is not a picture, and is kept',
  async ([, mimeType, data], { server, cli }) => {
    server.reply({ body: imageReply({ mimeType, data }) });
    const ran = await cli(['image', 'gen', 'x']);
    expect([ran.code, ran.stdout, readdirSync(ran.cwd)]).toEqual([10, '', ['file-1.bin']]);
  },
);

test('a picture that is declared a text is one', async ({ server, cli }) => {
  server.reply({ body: imageReply({ mimeType: 'text/html', data: base64 }) });
  const ran = await cli(['image', 'gen', 'x']);
  expect([ran.code, ran.stdout, readdirSync(ran.cwd)]).toEqual([0, 'image-1.png\n', ['image-1.png']]);
});

test('fewer pictures than asked are written and named, and the exit code is 11', async ({ server, cli }) => {
  const picture = { body: imageReply({ mimeType: 'image/png', data: base64 }) };
  for (const reply of [picture, picture, picture, { body: textReply('no') }]) server.reply(reply);
  const ran = await cli(['image', 'gen', 'x', '-n', '4']);
  expect(ran.code).toBe(11);
  expect(ran.stderr).toContain('1 of 4 images are missing');
  expect(ran.stdout.trim().split('\n')).toEqual(readdirSync(ran.cwd).toSorted());
  expect(readdirSync(ran.cwd)).toHaveLength(3);
});
