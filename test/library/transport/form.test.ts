import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createClient } from '../../../src/library/client/client.ts';
import {
  type Body,
  checkUploads,
  createUpload,
  describeBody,
  type RequestBody,
  segmentBody,
  segmentForm,
  streamBody,
  type Upload,
} from '../../../src/library/body.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { open, serve } from './post.ts';

const folder = scratchFolder();
const file = { name: 'a.png', mimeType: 'image/png' };

async function written(body: RequestBody): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of streamBody(body)) parts.push(Uint8Array.from(part));
  return Buffer.concat(parts).toString('latin1');
}

/** A file of bytes that are not text. */
async function fileOf(bytes: number, name: string): Promise<{ content: Buffer; upload: Upload }> {
  const content = Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 7 + (at >> 8)) % 256));
  const path = join(folder, name);
  await writeFile(path, content);
  return { content, upload: createUpload(path, bytes, { file }) };
}

test('writes a part for each field, item and file', async () => {
  const body = segmentForm({
    model: 'm',
    n: 2,
    prompt: 'Zwölf\nKatzen',
    'image[]': [
      createUpload(Buffer.from([0, 1, 255]), 3, { file: { name: 'a "b"\r\n.png', mimeType: 'image/png' } }),
      createUpload(Buffer.from('xyz')),
    ],
    extra: { a: [1] },
  });
  const [, boundary = ''] =
    /^multipart\/form-data; boundary=(gateway-cli-[0-9a-f]{32})$/.exec(body.contentType ?? '') ?? [];
  const text = await written(body);
  const expected = [
    `--${boundary}`,
    'content-disposition: form-data; name="model"',
    '',
    'm',
    `--${boundary}`,
    'content-disposition: form-data; name="n"',
    '',
    '2',
    `--${boundary}`,
    'content-disposition: form-data; name="prompt"',
    '',
    Buffer.from('Zwölf\nKatzen').toString('latin1'),
    `--${boundary}`,
    'content-disposition: form-data; name="image[]"; filename="a %22b%22%0D%0A.png"',
    'content-type: image/png',
    '',
    '\u0000\u0001\u00ff',
    `--${boundary}`,
    'content-disposition: form-data; name="image[]"; filename="file"',
    'content-type: application/octet-stream',
    '',
    'xyz',
    `--${boundary}`,
    'content-disposition: form-data; name="extra[a]"',
    '',
    '1',
    `--${boundary}--`,
    '',
  ];
  expect(text.split('\r\n')).toStrictEqual(expected);
  expect(body.bytes).toBe(text.length);
});

test('an empty form is its end', async () => {
  const body = segmentForm({});
  expect(await written(body)).toBe(`--${body.contentType?.split('=')[1]}--\r\n`);
});

test('equal forms are equal bytes, and what differs has another boundary', () => {
  const made = (body: Body): string | undefined => segmentForm(body).contentType;
  const image = createUpload(Buffer.from('abc'), 3, { file });
  expect(made({ a: 'x', image })).toBe(made({ a: 'x', image }));
  const others = [{ a: 'y', image }, { b: 'x', image }, { a: 'x' }, { a: 'x', image: { ...image, bytes: 4 } }];
  expect(new Set([made({ a: 'x', image }), ...others.map(made)]).size).toBe(5);
});

// What is read at once.
const block = 192 * 1024;
test.each([0, 1, block - 1, block, block + 1, 3 * block + 2])(
  'sends %i bytes of a file as they are, with a length known beforehand',
  async (bytes) => {
    const { content, upload } = await fileOf(bytes, `${bytes}.bin`);
    const server = await serve();
    server.reply({ body: {} });
    const client = createClient({ baseUrl: server.url });
    const post = {
      path: '/v1/images/edits',
      format: 'completions',
      use: 'completions',
      form: true,
      body: { image: upload },
    } as const;
    const request = client.address(post);
    const reply = await open().fetch(request, { signal: new AbortController().signal });
    for await (const chunk of reply.body) expect(chunk.length).toBeGreaterThan(0);
    const [got] = server.requests;
    const body = got?.body ?? Buffer.alloc(0);
    expect(got?.headers['content-type']).toBe(request.body.contentType);
    expect(got?.headers['content-length']).toBe(String(body.length));
    const start = body.indexOf('\r\n\r\n') + 4;
    expect(body.subarray(start, start + bytes).equals(content)).toBe(true);
    expect(body.subarray(start + bytes).toString()).toBe(`\r\n--${request.body.contentType?.split('=')[1]}--\r\n`);
  },
);

test('a second attempt of a form sends the same bytes', async () => {
  const { upload } = await fileOf(block + 5, 'twice.bin');
  const body = segmentForm({ image: upload });
  expect(await written(body)).toBe(await written(body));
});

test('a file that changed is an error, before or while it is sent', async () => {
  const { upload } = await fileOf(3 * block, 'changing.bin');
  const path = upload.source as string;
  const shorter = segmentForm({ image: { ...upload, bytes: 5 } });
  await expect(checkUploads(shorter)).rejects.toMatchObject({
    class: 'usage',
    message: `${path} changed while it was read`,
  });
  const reading = streamBody(segmentForm({ image: upload }));
  await reading.next();
  await reading.next();
  await utimes(path, new Date(0), new Date(0));
  await expect(
    (async () => {
      for await (const part of reading) expect(part.byteLength).toBeGreaterThan(0);
    })(),
  ).rejects.toMatchObject({ class: 'usage', message: `${path} changed while it was read` });
});

test('a chunk of a file stays as it is until the next one is asked for', async () => {
  const { content, upload } = await fileOf(3 * block, 'slow.bin');
  const reading = streamBody(segmentForm({ image: upload }));
  await reading.next();
  const { value } = (await reading.next()) as { value: Uint8Array };
  // The next block is read meanwhile.
  await written(segmentForm({ image: upload }));
  expect(Buffer.from(value).equals(content.subarray(0, block))).toBe(true);
  await reading.return(undefined);
});

test('is shown with the size of each file', () => {
  const image = createUpload(Buffer.from('abc'), 3, { file });
  expect(describeBody({ prompt: 'x', 'image[]': [image] })).toStrictEqual({ prompt: 'x', 'image[]': ['<3 bytes>'] });
});

test('a data URL has its head in front of the Base64 that is read while sending', async () => {
  const upload = createUpload(Buffer.from('abc'), 3, { prefix: 'data:image/png;base64,' });
  const body = segmentBody({ url: upload, other: 'data:image/png;base64,' });
  expect(await written(body)).toBe('{"url":"data:image/png;base64,YWJj","other":"data:image/png;base64,"}');
  expect(body.bytes).toBe(69);
  expect(describeBody({ url: upload })).toStrictEqual({ url: 'data:image/png;base64,<Base64, 4 characters>' });
});
