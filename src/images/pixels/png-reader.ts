import { convertIndexedToRgb, decode, type DecodedPng } from 'fast-png';
import { deflateSync, inflateSync } from 'node:zlib';
import { mostPixels, type Picture } from './picture.ts';
import { chunk } from './png.ts';

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const signatureLength = signature.length;

/** Reads a PNG of any colour type and depth. Throws where it is damaged, has more pixels, or unpacks to more than its header says. */
export function readPng(bytes: Buffer, most: number = mostPixels): Picture {
  const decoded = decode(packLoosely(unpack(bytes, most)));
  const { width, height } = decoded;
  return { width, height, data: toRgba(decoded) };
}

/** What makes the pixels of a file. */
interface Parts {
  header: Buffer;
  palette: Buffer | undefined;
  transparency: Buffer | undefined;
  /** The rows, unpacked within the bound that the header sets. */
  rows: Buffer;
}

/**
 * The file with nothing in it but what makes the pixels, and with these unpacked once within the bound its header sets:
 * a small file cannot blow up to gigabytes, in its pixels or in its notes.
 */
function unpack(bytes: Buffer, most: number): Parts {
  const found = new Map<string, Buffer>();
  const packed: Buffer[] = [];
  for (let at = signatureLength; at + 12 <= bytes.length;) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (type === 'IDAT') packed.push(data);
    else if (!found.has(type)) found.set(type, data);
    if (type === 'IEND') break;
    at += 12 + length;
  }
  const header = found.get('IHDR') ?? Buffer.alloc(0);
  const rows = inflateSync(Buffer.concat(packed), { maxOutputLength: mostBytes(header, most) });
  return { header, palette: found.get('PLTE'), transparency: found.get('tRNS'), rows };
}

/** The file again, its rows not compressed: the package sets no bound to what it unpacks. */
function packLoosely({ header, palette, transparency, rows }: Parts): Buffer {
  const notes = [
    ['PLTE', palette],
    ['tRNS', transparency],
  ] as const;
  const kept = notes.flatMap(([type, data]) => (data === undefined ? [] : [chunk(type, data)]));
  const pixels = chunk('IDAT', deflateSync(rows, { level: 0 }));
  return Buffer.concat([signature, chunk('IHDR', header), ...kept, pixels, chunk('IEND', Buffer.alloc(0))]);
}

/** Most bytes that the rows of an image can take: four channels of its depth, and the filter bytes of seven passes. */
function mostBytes(header: Buffer, most: number): number {
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  if (width * height > most) throw new Error('the picture has too many pixels');
  return Math.ceil(width * height * 4 * (header.readUInt8(8) / 8)) + (height + width) * 8 + 1024;
}

function toRgba(png: DecodedPng): Uint8Array {
  if (png.palette) return expand(convertIndexedToRgb(png), png.palette[0]?.length ?? 3);
  return expand(toBytes(png), png.channels, png);
}

/** Samples of 8 bits, one a byte, whatever the depth. */
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

/** One to four channels become four. A colour that the file calls transparent is. */
function expand(samples: Uint8Array, channels: number, png?: DecodedPng): Uint8Array {
  const count = samples.length / channels;
  const data = new Uint8Array(count * 4);
  const gray = channels < 3;
  const clear =
    png?.transparency && png.depth <= 8 ? [...png.transparency].map((value) => scale(value, png.depth)) : undefined;
  for (let pixel = 0; pixel < count; pixel++) {
    const from = pixel * channels;
    const red = samples[from] ?? 0;
    const green = gray ? red : (samples[from + 1] ?? 0);
    const blue = gray ? red : (samples[from + 2] ?? 0);
    const alpha = channels % 2 === 0 ? (samples[from + channels - 1] ?? 255) : 255;
    const hidden = clear?.[0] === red && (gray || (clear[1] === green && clear[2] === blue));
    const to = pixel * 4;
    data[to] = red;
    data[to + 1] = green;
    data[to + 2] = blue;
    data[to + 3] = hidden ? 0 : alpha;
  }
  return data;
}

function scale(value: number, depth: number): number {
  return Math.floor((value * 255) / (2 ** depth - 1));
}
