import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nameRequest } from '../../../src/library/recordings/request-name.ts';
import { createUpload, segmentBody, segmentForm } from '../../../src/library/body.ts';
import type { HttpRequest } from '../../../src/library/transport/types.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const base = new URL('https://gateway.example/prefix/');

function request(body: string | Uint8Array, url = 'https://gateway.example/prefix/v1/messages'): HttpRequest {
  const bytes = Buffer.from(body);
  return { url: new URL(url), base, headers: {}, body: { segments: [bytes], bytes: bytes.length } };
}

const nameOf = async (made: HttpRequest, at = base): Promise<string> =>
  (await nameRequest({ ...made, base: at })).folder;

describe('equal requests have equal names', () => {
  const photo = Buffer.alloc(5000, 'photo');
  const inline = (bytes: Buffer) => JSON.stringify({ data: bytes.toString('base64') });
  const file = join(scratchFolder(), 'photo.png');
  writeFileSync(file, photo);
  const upload = (source: ReturnType<typeof createUpload>): HttpRequest => ({
    ...request(''),
    body: segmentBody({ data: source }),
  });
  const short = Buffer.from('short');
  const form = (source: ReturnType<typeof createUpload>): HttpRequest => ({
    ...request(''),
    body: segmentForm({ image: source }),
  });
  const formBytes = (bytes: Buffer): Buffer => {
    const { segments } = form(createUpload(bytes)).body;
    return Buffer.concat(segments.map((segment) => (segment instanceof Uint8Array ? segment : bytes)));
  };

  test.each<[string, HttpRequest, HttpRequest]>([
    ['whatever the order of members', request('{"a":{"c":1,"b":2},"d":3}'), request('{"d":3,"a":{"b":2,"c":1}}')],
    ['whatever the white space', request('{"a":[1,2]}'), request('{\n "a": [ 1, 2 ]\n}')],
    ['however characters are escaped', request('{"a":"é/"}'), request(String.raw`{"a":"\u00e9\/"}`)],
    [
      'in whatever order the query stands',
      request('{}', 'https://gateway.example/prefix/v1/messages?beta=true&alt=sse'),
      request('{}', 'https://gateway.example/prefix/v1/messages?alt=sse&beta=true'),
    ],
    [
      'whatever key stands in the query',
      request('{}', 'https://gateway.example/prefix/v1beta/models/m:generateContent?key=one&alt=sse'),
      request('{}', 'https://gateway.example/prefix/v1beta/models/m:generateContent?alt=sse&key=two'),
    ],
    [
      'whatever secret code and signature the query of the base URL has',
      request('{}', 'https://gateway.example/prefix/v1/messages?code=abc&sig=d&alt=sse'),
      request('{}', 'https://gateway.example/prefix/v1/messages?alt=sse'),
    ],
    ['uploaded from a file or written inline', upload(createUpload(file, photo.length)), request(inline(photo))],
    ['uploaded from memory or written inline', upload(createUpload(photo)), request(inline(photo))],
    ['also when the upload is short', upload(createUpload(short)), request(inline(short))],
    [
      'after the head of a data URL, uploaded or written inline',
      upload(createUpload(file, photo.length, { prefix: 'data:image/png;base64,' })),
      request(JSON.stringify({ data: `data:image/png;base64,${photo.toString('base64')}` })),
    ],
    ['in a form, as files or as its bytes', form(createUpload(file, photo.length)), request(formBytes(photo))],
    ['also when it is not JSON', request('not json'), request('not json')],
  ])('%s', async (_name, one, other) => {
    expect(await nameOf(one)).toBe(await nameOf(other));
  });

  test('equal requests below different base URLs have equal names', async () => {
    const elsewhere = request('{}', 'http://127.0.0.1:8787/v1/messages');
    expect(await nameOf(elsewhere, new URL('http://127.0.0.1:8787'))).toBe(await nameOf(request('{}')));
  });
});

test.each<[string, HttpRequest]>([
  ['another text', request('{"a":"x"}')],
  ['another type', request('{"a":"1"}')],
  ['another path', request('{"a":1}', 'https://gateway.example/prefix/v1beta/models/m:generateContent')],
  ['another query', request('{"a":1}', 'https://gateway.example/prefix/v1/messages?beta=true')],
  ['a list in another order', request('{"a":[1,2]}')],
  ['no JSON', request('{"a":1')],
  ['bytes that are no UTF-8', request(Buffer.from([0x22, 0xff, 0x22]))],
])('%s is another request', async (_name, other) => {
  const usual = ['{"a":1}', '{"a":[2,1]}'].map((body) => nameOf(request(body)));
  expect(await Promise.all(usual)).not.toContain(await nameOf(other));
});

test.each([
  ['two Base64 texts of the same bytes', `{"data":"${'A'.repeat(4000)}AA=="}`, `{"data":"${'A'.repeat(4000)}AB=="}`],
  ['a number beyond the range and null', '{"a":1e999}', '{"a":null}'],
  ['two numbers beyond the range', '{"a":1e999}', '{"a":-1e999}'],
])('%s are two requests', async (_name, one, other) => {
  expect(await nameOf(request(one))).not.toBe(await nameOf(request(other)));
});

test('two forms with files of one size are two requests', async () => {
  const form = (letter: string): HttpRequest => ({
    ...request(''),
    body: segmentForm({ image: createUpload(Buffer.alloc(5000, letter)) }),
  });
  expect(await nameOf(form('a'))).not.toBe(await nameOf(form('b')));
});

test('shows a long upload by its size and by the digest that sha256sum gives', async () => {
  const bytes = Buffer.alloc(3000, 7);
  const { text, folder } = await nameRequest({
    ...request(''),
    body: segmentBody({ model: 'some/model v1', data: createUpload(bytes) }),
  });
  const digest = createHash('sha256').update(bytes).digest('hex');
  expect(JSON.parse(text)).toEqual({
    method: 'POST',
    path: '/v1/messages',
    body: { data: `<3000 bytes, sha256 ${digest}>`, model: 'some/model v1' },
  });
  expect(folder).toMatch(/^messages-some-model-v1-[0-9a-f]{32}$/);
});

test('treats JSON that is nested beyond the stack as plain bytes', async () => {
  const depth = 100_000;
  const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const { text } = await nameRequest(request(deep));
  expect((JSON.parse(text) as { body: string }).body).toMatch(
    new RegExp(`^<${2 * depth} bytes, sha256 [0-9a-f]{64}>$`),
  );
});

test('names a file that cannot be read', async () => {
  const gone = { ...request(''), body: segmentBody({ data: createUpload('/no/such/photo.png', 3000) }) };
  await expect(nameRequest(gone)).rejects.toMatchObject({
    class: 'usage',
    message: 'cannot read /no/such/photo.png (ENOENT)',
  });
});
