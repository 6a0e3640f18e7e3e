import jpegJs from 'jpeg-js';
import { encode as encodePng } from 'fast-png';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  imageFacts,
  sniffType,
  extensionFor,
  mediaType,
  sameExtension,
} from '../../../src/library/images/image-type.ts';
import { isObject } from '../../../src/library/json.ts';
import { pngHead } from './scratch.ts';

const pixels = { width: 30, height: 20, data: new Uint8Array(30 * 20 * 4) };
const png = encodePng(pixels);
const jpeg = jpegJs.encode({ ...pixels, data: Buffer.from(pixels.data) }).data;
const gif = Buffer.from('47494638396114000a0080000000000000000021f90401000000002c00000000', 'hex');
const webp = Buffer.from('524946461a000000574542505650384c0d0000002f13400200001234', 'hex');
const bmp = Buffer.from(
  `424d${'46000000'}${'00000000'}${'36000000'}${'28000000'}${'05000000'}${'07000000'}01001800`,
  'hex',
);
const tiff = Buffer.from('49492a0008000000020000010300010000000500000001010300010000000700000000000000000000', 'hex');
const box = (name: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.length);
  head.write(name, 4);
  return Buffer.concat([head, content]);
};
const ispe = box('ispe', Buffer.from('0000000000000140000000f0', 'hex'));
const meta = box('meta', Buffer.concat([Buffer.alloc(4), box('iprp', box('ipco', ispe))]));
const ftyp = (brands: string): Buffer => box('ftyp', Buffer.from(`${brands.slice(0, 4)}\0\0\0\0${brands.slice(4)}`));

test.each<[string, Uint8Array, string, number, number]>([
  ['png', png, 'image/png', 30, 20],
  ['jpeg', jpeg, 'image/jpeg', 30, 20],
  ['gif', gif, 'image/gif', 20, 10],
  ['webp', webp, 'image/webp', 20, 10],
  ['avif', Buffer.concat([ftyp('avifmif1miaf'), meta]), 'image/avif', 320, 240],
  ['avif with a generic brand', Buffer.concat([ftyp('mif1avif'), meta]), 'image/avif', 320, 240],
  ['heic', Buffer.concat([ftyp('heicmif1'), meta]), 'image/heic', 320, 240],
  ['heif', Buffer.concat([ftyp('mif1miaf'), meta]), 'image/heif', 320, 240],
  ['bmp', bmp, 'image/bmp', 5, 7],
  ['tiff', tiff, 'image/tiff', 5, 7],
])('reads type and size of a picture: %s, even inside larger memory', async (_name, bytes, mimeType, width, height) => {
  expect(imageFacts(bytes)).toEqual({ mimeType, width, height });
  const larger = Buffer.concat([Buffer.from('xyz'), bytes, Buffer.alloc(100, 0xff)]);
  expect(imageFacts(larger.subarray(3, 3 + bytes.length))).toEqual({ mimeType, width, height });
  for (let length = 0; length < bytes.length; length++) {
    const cut = imageFacts(bytes.subarray(0, length));
    expect([mimeType, 'image/heif', undefined]).toContain(cut.mimeType);
  }
});

test.each([
  ['nothing', ''],
  ['text', 'hello'],
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'],
  ['HTML', '<!doctype html>'],
  ['PDF', '%PDF-1.7'],
  ['RIFF audio', 'RIFF\0\0\0\0WAVEfmt '],
  ['a video', '\0\0\0\x18ftypmp42\0\0\0\0'],
  ['half a signature', '\x89PNG\r\n'],
  ['prose', 'BMW builds cars in Munich and elsewhere'],
])('is not a picture: %s', async (_name, text) => {
  const bytes = Buffer.from(text, 'latin1');
  expect(sniffType(bytes)).toBeUndefined();
  expect(imageFacts(bytes)).toEqual({ mimeType: undefined, width: undefined, height: undefined });
});

test('gives the size of a photo as it is shown, when its EXIF data turn it by a quarter', async () => {
  const exif = (orientation: number): Buffer => {
    const data = Buffer.from(`4578696600004d4d002a00000008000101120003000000010006000000000000`, 'hex');
    data.writeUInt16BE(orientation, 24);
    const head = Buffer.from('ffe10000', 'hex');
    head.writeUInt16BE(data.length + 2, 2);
    return Buffer.concat([jpeg.subarray(0, 2), head, data, jpeg.subarray(2)]);
  };
  expect(imageFacts(exif(6))).toEqual({ mimeType: 'image/jpeg', width: 20, height: 30 });
  expect(imageFacts(exif(3))).toEqual({ mimeType: 'image/jpeg', width: 30, height: 20 });
});

test('gives no size if the header is damaged', async () => {
  expect(imageFacts(pngHead(0, 5))).toEqual({ mimeType: 'image/png', width: undefined, height: undefined });
  const endless = Buffer.concat([ftyp('avif'), Buffer.alloc(200_000)]);
  expect(imageFacts(endless)).toEqual({ mimeType: 'image/avif', width: undefined, height: undefined });
});

const recorded = '../shared/fixtures/';

test.skipIf(!existsSync(recorded))('knows the pictures of recorded replies (needs ../shared/fixtures)', async () => {
  const files = ['image_and_text_png_2.5MB', 'image_jpeg_300KB', 'image_png_2MB'];
  const types: (string | undefined)[] = [];
  for (const file of files) {
    const data = findData(JSON.parse(readFileSync(`${recorded}content/pydantic-ai__${file}.json`, 'utf8')));
    const facts = imageFacts(Buffer.from(data ?? '', 'base64').subarray(0, 262_144));
    types.push(facts.mimeType);
    expect(facts.width).toBeGreaterThan(100);
    expect(facts.height).toBeGreaterThan(100);
  }
  expect(types).toEqual(['image/png', 'image/jpeg', 'image/png']);
});

function findData(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.map(findData).find((found) => found !== undefined);
  if (!isObject(value)) return undefined;
  return typeof value['data'] === 'string' ? value['data'] : findData(Object.values(value));
}

const unknown = Buffer.from('what is this?');

test.each<[string, string | undefined, Uint8Array, string, string, RegExp | undefined]>([
  ['PNG', 'image/png', png, 'png', 'image/png', undefined],
  ['JPEG', 'image/jpeg', jpeg, 'jpg', 'image/jpeg', undefined],
  ['an alias', 'image/jpg', jpeg, 'jpg', 'image/jpeg', undefined],
  ['capitals and parameters', 'IMAGE/PNG; charset=x', png, 'png', 'image/png', undefined],
  ['no type', undefined, jpeg, 'jpg', 'image/jpeg', undefined],
  ['an unspecific type', 'application/octet-stream', png, 'png', 'image/png', undefined],
  ['the wrong type', 'image/png', jpeg, 'jpg', 'image/jpeg', /"image\/png".*image\/jpeg/],
  ['an invalid type', 'PNG', jpeg, 'jpg', 'image/jpeg', /"PNG"/],
  ['bytes of no known type', 'image/webp', unknown, 'webp', 'image/webp', /image\/webp.*no known/],
  ['a registered type', 'image/jxl', unknown, 'jxl', 'image/jxl', undefined],
  ['an unregistered type', 'image/x-new', unknown, 'bin', 'application/octet-stream', /"image\/x-new"/],
  ['nothing known', undefined, unknown, 'bin', 'application/octet-stream', /without a type/],
  ['sound', 'audio/mpeg', unknown, 'mp3', 'audio/mpeg', /^a file came: audio\/mpeg$/],
  ['Ogg', 'audio/ogg', unknown, 'ogg', 'audio/ogg', /^a file came/],
  ['a film of QuickTime', 'video/quicktime', unknown, 'mov', 'video/quicktime', /^a file came/],
  [
    'samples with their rate',
    'audio/L16;codec=pcm;rate=24000',
    unknown,
    'pcm',
    'audio/l16;rate=24000',
    /^a file came: audio\/l16;rate=24000$/,
  ],
  ['a file of no known extension', 'audio/x-new', unknown, 'bin', 'application/octet-stream', /^a file came as/],
  ['no bytes', 'image/png', new Uint8Array(), 'png', 'image/png', /no known/],
])('names the extension by type and bytes: %s', async (_name, declaredType, head, extension, mimeType, warning) => {
  const found = await extensionFor({ declaredType, head });
  expect(found).toMatchObject({ extension, mimeType });
  expect(found.warning ?? '').toMatch(warning ?? /^$/);
});

test.each([
  ['a path', 'image/../../../etc/cron.d/x'],
  ['a path after a type', 'image/png/../../x'],
  ['a drive', 'image/c:\\x'],
  ['NUL', 'image/png\0.exe'],
  ['a line break', 'image/png\n'],
  ['5 KB', `image/${'x'.repeat(5000)}`],
  ['HTML', 'text/html'],
  ['a script', 'application/javascript'],
  ['SVG', 'image/svg+xml'],
  ['SVG with parameters', 'IMAGE/SVG+XML; charset=utf-8'],
  ['an executable', 'application/x-msdownload'],
  ['a key of every object', 'constructor'],
  ['another', '__proto__/x'],
  ['bidi control', 'image/\u202egnp'],
  ['nothing', ''],
])('a hostile type never reaches a file name: %s', async (_name, declaredType) => {
  const found = await extensionFor({ declaredType, head: unknown });
  expect(found.extension).toMatch(declaredType === 'image/png\n' ? /^png$/ : /^bin$/);
  expect(found.warning).toMatch(/^[ -~…]{1,160}$/);
  expect(await extensionFor({ declaredType, head: jpeg })).toMatchObject({ extension: 'jpg', mimeType: 'image/jpeg' });
});

test.each<[string, string | undefined]>([
  ['image/png', 'image/png'],
  [' Image/PNG ; a=b', 'image/png'],
  ['audio/L16;codec=pcm;rate=24000', 'audio/l16'],
  ['image/*', 'image/*'],
  ['image', undefined],
  ['image/png, text/html', undefined],
  [`image/${'x'.repeat(200)}`, undefined],
])('reads a media type without parameters: %j', (declared, expected) => {
  expect(mediaType(declared)).toBe(expected);
});

test('knows extensions of the same type', () => {
  expect(sameExtension('JPEG', 'jpg')).toBe(true);
  expect(sameExtension('tif', 'tiff')).toBe(true);
  expect(sameExtension('bin', 'BIN')).toBe(true);
  expect(sameExtension('png', 'jpg')).toBe(false);
});
