import { expect, test } from 'vitest';
import { extensionFor, mediaType, sameExtension } from '../../src/images/image-type.ts';
import { pngHead } from './scratch.ts';

const png = pngHead(1, 1);
const jpeg = Buffer.from('ffd8ffe000104a464946', 'hex');
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
