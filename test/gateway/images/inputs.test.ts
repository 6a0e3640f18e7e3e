import { deflateSync } from 'node:zlib';
import { decode, encode, type ImageData } from 'fast-png';
import jpeg from 'jpeg-js';
import { describe, expect, it } from 'vitest';
import { dig, editPath, imageOf, imagePath, sharedGateway } from '../gateway-under-test.ts';
import { edit, green, pixels, png, wide } from './pixels.ts';

const gateway = sharedGateway();

describe('what local-edit reads', () => {
  const gray = (depth: ImageData['depth'], data: number[]): Buffer => {
    const samples = depth === 16 ? Uint16Array.from(data) : Uint8Array.from(data);
    return Buffer.from(encode({ width: 2, height: 1, data: samples, channels: 1, depth: depth ?? 8 }));
  };
  const rows: [name: string, bytes: Buffer, expected: unknown][] = [
    [
      'gray',
      gray(8, [10, 200]),
      [
        [
          [10, 10, 10],
          [200, 200, 200],
        ],
      ],
    ],
    [
      'gray of 16 bits',
      gray(16, [0x1234, 0xffff]),
      [
        [
          [0x12, 0x12, 0x12],
          [255, 255, 255],
        ],
      ],
    ],
    [
      'gray of one bit',
      Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQAAAADcfQKRAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==',
        'base64',
      ),
      [
        [
          [255, 255, 255],
          [0, 0, 0],
        ],
      ],
    ],
  ];
  it.each(rows)('a PNG in %s', async (_, bytes, expected) => {
    expect(pixels(imageOf(await edit(gateway, 'mirror', [{ mimeType: 'image/png', bytes }])).bytes)).toEqual(expected);
  });

  it('local-edit reads a JPEG, and answers with a JPEG', async () => {
    const data = Buffer.alloc(16 * 16 * 4, 255);
    for (let at = 0; at < data.length; at += 4) data.set(at % 64 < 32 ? [250, 10, 10, 255] : [10, 10, 250, 255], at);
    const bytes = Buffer.from(jpeg.encode({ width: 16, height: 16, data }, 95).data);
    const { mimeType, bytes: edited } = imageOf(await edit(gateway, 'mirror', [{ mimeType: 'image/jpeg', bytes }]));
    const decoded = jpeg.decode(edited, { useTArray: true });
    expect([mimeType, decoded.width, decoded.height]).toEqual(['image/jpeg', 16, 16]);
    expect(decoded.data[0]).toBeGreaterThan(150);
    expect(decoded.data[15 * 4 + 2]).toBeGreaterThan(150);
  });

  it('for a type that it cannot decode, local-edit answers with a new image of the same size', async () => {
    const gif = Buffer.concat([
      Buffer.from('GIF89a'),
      Buffer.from([40, 0, 30, 0, 0x80, 0, 0]),
      Buffer.alloc(6),
      Buffer.from(';'),
    ]);
    const json = await edit(gateway, 'make it grayscale', [{ mimeType: 'image/gif', bytes: gif }]);
    expect(decode(imageOf(json).bytes)).toMatchObject({ width: 40, height: 30 });
    expect(dig(json, 'candidates', 0, 'content', 'parts', 0, 'text')).toContain('image/gif cannot be edited offline');
  });

  it('several images: the first is edited, and the text says how many more came', async () => {
    const images = [png(wide), png([[[...green]]])].map((bytes) => ({ mimeType: 'image/png', bytes }));
    const json = await edit(gateway, 'mirror', images);
    expect(pixels(imageOf(json).bytes)).toEqual(wide);
    expect(dig(json, 'candidates', 0, 'content', 'parts', 0, 'text')).toBe(
      'An offline edit of the 3×2 picture and 1 more, no model was asked.',
    );
  });

  it('local-image edits, too, when an image comes with the prompt', async () => {
    const inlineData = { mimeType: 'image/png', data: png(wide).toString('base64') };
    const { json } = await gateway.post(imagePath, { contents: [{ parts: [{ text: 'mirror' }, { inlineData }] }] });
    expect(pixels(imageOf(json).bytes)).toEqual(wide);
  });
});

describe('an invalid image, or a trap, is refused, and the error names the field', () => {
  /** A PNG of these chunks, with the checksums left at zero. */
  const file = (...chunks: [type: string, data: Uint8Array][]): Buffer =>
    Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      ...chunks.flatMap(([type, data]) => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(data.length);
        return [length, Buffer.from(type), data, Buffer.alloc(4)];
      }),
    ]);
  const header = (width: number, height: number): Buffer => {
    const bytes = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
    bytes.writeUInt32BE(width, 0);
    bytes.writeUInt32BE(height, 4);
    return bytes;
  };
  const zeros = deflateSync(Buffer.alloc(64 * 2 ** 20));
  const rows: [name: string, bytes: Buffer, words: string][] = [
    ['words', Buffer.from('hello, this is no image at all'), 'Unable to process input image'],
    ['half a PNG', png(wide).subarray(0, 50), 'Unable to process input image'],
    [
      'pixels that unpack to more than the header says',
      file(['IHDR', header(4, 4)], ['IDAT', zeros], ['IEND', Buffer.alloc(0)]),
      'Unable',
    ],
    [
      'pixels that unpack to less',
      file(['IHDR', header(400, 400)], ['IDAT', deflateSync(Buffer.alloc(9))], ['IEND', Buffer.alloc(0)]),
      'Unable',
    ],
    [
      'a header of billions of pixels',
      file(['IHDR', header(60_000, 60_000)], ['IDAT', zeros], ['IEND', Buffer.alloc(0)]),
      'at most 64 megapixels',
    ],
  ];
  it.each(rows)('%s', async (_, bytes, words) => {
    const inlineData = { mimeType: 'image/png', data: bytes.toString('base64') };
    const { status, json } = await gateway.post(editPath, {
      contents: [{ parts: [{ text: 'blur' }, { inlineData }] }],
    });
    expect([status, dig(json, 'error', 'message')]).toEqual([400, expect.stringContaining(words)]);
    expect(dig(json, 'error', 'details', 0, 'fieldViolations', 0, 'field')).toBe(
      'contents[0].parts[1].inline_data.data',
    );
  });

  it('notes that unpack without end are not looked at', async () => {
    const pixelRow = deflateSync(Buffer.from([0, 1, 2, 3]));
    const profile = Buffer.concat([Buffer.from('name\0\0'), zeros]);
    const bytes = file(['IHDR', header(1, 1)], ['iCCP', profile], ['IDAT', pixelRow], ['IEND', Buffer.alloc(0)]);
    expect(pixels(imageOf(await edit(gateway, 'mirror', [{ mimeType: 'image/png', bytes }])).bytes)).toEqual([
      [[1, 2, 3]],
    ]);
  });
});

it('a photograph that lies on its side is turned upright first', async () => {
  const data = Buffer.alloc(32 * 16 * 4, 255);
  const plain = Buffer.from(jpeg.encode({ width: 32, height: 16, data }, 90).data);
  const exif = Buffer.from('ffe1002245786966000049492a0008000000010012010300010000000600000000000000', 'hex');
  const bytes = Buffer.concat([plain.subarray(0, 2), exif, plain.subarray(2)]);
  const edited = imageOf(await edit(gateway, 'invert', [{ mimeType: 'image/jpeg', bytes }])).bytes;
  const { width, height } = jpeg.decode(edited, { useTArray: true });
  expect([width, height]).toEqual([16, 32]);
});
