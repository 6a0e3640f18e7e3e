import jpeg from 'jpeg-js';
import { promisify } from 'node:util';
import { crc32, deflate, deflateSync, inflateSync } from 'node:zlib';
import { type DecodedPng, convertIndexedToRgb, decode } from 'fast-png';
import { maxPixels, type Bitmap } from './bitmap.ts';

/** Reads a JPEG. Throws if it is damaged, or has more pixels. */
export async function readJpeg(bytes: Buffer, most: number): Promise<Bitmap> {
  const { width, height, data } = jpeg.decode(bytes, {
    useTArray: true,
    formatAsRGBA: true,
    tolerantDecoding: true,
    maxResolutionInMP: most / 1e6,
    maxMemoryUsageInMB: 1024,
  });
  return { width, height, data };
}

/** Reads a PNG of any colour type and depth. Throws if it is damaged, has more pixels, or unpacks to more than its header declares. */
export async function readPng(bytes: Buffer, most: number = maxPixels): Promise<Bitmap> {
  const png = decode(withoutCompression(bytes, most));
  const { width, height } = png;
  const data = png.palette
    ? toRgba(convertIndexedToRgb(png), png.palette[0]?.length ?? 3)
    : toRgba(toBytes(png), png.channels, png);
  return { width, height, data };
}

/**
 * The PNG with only the chunks that define pixels, its rows unpacked within the limit of its header and stored without
 * compression. The package sets no limit itself: a small file could unpack to gigabytes, in its pixels or in its metadata.
 */
function withoutCompression(bytes: Buffer, most: number): Buffer {
  const found = new Map<string, Buffer>();
  const packed: Buffer[] = [];
  for (let at = signature.length; at + 12 <= bytes.length;) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (type === 'IDAT') packed.push(data);
    else if (!found.has(type)) found.set(type, data);
    if (type === 'IEND') break;
    at += 12 + length;
  }
  const header = found.get('IHDR') ?? Buffer.alloc(0);
  const rows = inflateSync(Buffer.concat(packed), { maxOutputLength: maxRowBytes(header, most) });
  const colours = ['PLTE', 'tRNS'].flatMap((type) =>
    found.has(type) ? [pngChunk(type, found.get(type) as Buffer)] : [],
  );
  const pixels = pngChunk('IDAT', deflateSync(rows, { level: 0 }));
  return Buffer.concat([signature, pngChunk('IHDR', header), ...colours, pixels, pngChunk('IEND', Buffer.alloc(0))]);
}

/** Most bytes of an image's rows: four channels of its depth, and the filter bytes of seven passes. */
function maxRowBytes(header: Buffer, most: number): number {
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  if (width * height > most) throw new Error('the picture has too many pixels');
  return Math.ceil(width * height * 4 * (header.readUInt8(8) / 8)) + (height + width) * 8 + 1024;
}

/** Samples of 8 bits, one a byte, for any depth. */
function toBytes({ data, depth, width, height, channels }: DecodedPng): Uint8Array {
  if (depth === 16) return Uint8Array.from(data, (sample) => sample >> 8);
  if (depth === 8) return data as Uint8Array;
  const perRow = Math.ceil((width * channels * depth) / 8);
  const top = 2 ** depth - 1;
  const samples = new Uint8Array(width * height * channels);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width * channels; x++) {
      const bit = x * depth;
      const byte = data[y * perRow + (bit >> 3)] ?? 0;
      samples[y * width * channels + x] = (((byte >> (8 - depth - (bit & 7))) & top) * 255) / top;
    }
  }
  return samples;
}

/** Expands one to four channels to four. The transparent colour of `png` gets alpha 0. */
function toRgba(samples: Uint8Array, channels: number, png?: DecodedPng): Uint8Array {
  const count = samples.length / channels;
  const data = new Uint8Array(count * 4);
  const isGray = channels < 3;
  const top = png && 2 ** png.depth - 1;
  const clear =
    png?.transparency && png.depth <= 8 && top
      ? [...png.transparency].map((value) => Math.floor((value * 255) / top))
      : undefined;
  for (let pixel = 0; pixel < count; pixel++) {
    const from = pixel * channels;
    const red = samples[from] ?? 0;
    const green = isGray ? red : (samples[from + 1] ?? 0);
    const blue = isGray ? red : (samples[from + 2] ?? 0);
    const alpha = channels % 2 === 0 ? (samples[from + channels - 1] ?? 255) : 255;
    const isClear = clear?.[0] === red && (isGray || (clear[1] === green && clear[2] === blue));
    const to = pixel * 4;
    data[to] = red;
    data[to + 1] = green;
    data[to + 2] = blue;
    data[to + 3] = isClear ? 0 : alpha;
  }
  return data;
}

export const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const compress = promisify(deflate);

/** An image as a PNG with alpha. `notes` become tEXt chunks (Latin-1). */
export async function encodePng(
  { width, height, data }: Bitmap,
  notes: Readonly<Record<string, string>>,
): Promise<Buffer> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 6], 8);
  const unfiltered = Buffer.alloc(1);
  const rows = Array.from({ length: height }, (_, y) => data.subarray(y * width * 4, (y + 1) * width * 4));
  const pixels = await compress(Buffer.concat(rows.flatMap((row) => [unfiltered, row])));
  const texts = Object.entries(notes).map(([name, note]) =>
    pngChunk('tEXt', Buffer.from(`${name}\0${note}`, 'latin1')),
  );
  return Buffer.concat([
    signature,
    pngChunk('IHDR', header),
    ...texts,
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** One chunk of a PNG file: length, type, data and their checksum. */
export function pngChunk(type: string, data: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
