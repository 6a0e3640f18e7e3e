import { convertIndexedToRgb, decode, type DecodedPng } from 'fast-png';
import { deflateSync, inflateSync } from 'node:zlib';
import { mostPixels, type Picture } from './picture.ts';
import { chunk } from './png.ts';

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const signatureLength = signature.length;

/** Reads a PNG of any colour type and depth. Throws where it is damaged, has more pixels, or unpacks to more than its header says. */
export function readPng(bytes: Buffer, most: number = mostPixels): Picture {
  const parts = unpack(bytes, most);
  return readPlain(parts) ?? readOther(parts);
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

/** By colour type: gray, red green blue, and both with alpha. */
const channelsOf = new Map([
  [0, 1],
  [2, 3],
  [4, 2],
  [6, 4],
]);

/** Nearly all pictures: eight bits a sample, no palette, no interlacing. The package takes four times as long for them. */
function readPlain({ header, transparency, rows }: Parts): Picture | undefined {
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const channels = channelsOf.get(header.readUInt8(9));
  const isPlain = header.readUInt8(8) === 8 && header.readUInt8(12) === 0 && transparency === undefined;
  if (channels === undefined || !isPlain) return undefined;
  unfilter(rows, { width, height, channels });
  const samples = new Uint8Array(width * height * channels);
  const length = width * channels;
  for (let y = 0; y < height; y++) {
    const start = y * (length + 1) + 1;
    samples.set(rows.subarray(start, start + length), y * length);
  }
  return { width, height, data: channels === 4 ? samples : expand(samples, channels) };
}

function readOther({ header, palette, transparency, rows }: Parts): Picture {
  const notes = [
    ['PLTE', palette],
    ['tRNS', transparency],
  ] as const;
  const kept = notes.flatMap(([type, data]) => (data === undefined ? [] : [chunk(type, data)]));
  const pixels = chunk('IDAT', deflateSync(rows, { level: 0 }));
  const file = [signature, chunk('IHDR', header), ...kept, pixels, chunk('IEND', Buffer.alloc(0))];
  const decoded = decode(Buffer.concat(file));
  const { width, height } = decoded;
  return { width, height, data: toRgba(decoded) };
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

/** How the rows of a PNG lie in its unpacked data: eight bits a sample, none of them interlaced. */
interface Rows {
  width: number;
  height: number;
  channels: number;
}

/**
 * Undoes the filters of all rows, in place; the samples of row `y` then begin at `y * (width * channels + 1) + 1`. Throws where
 * the data is short, or names a filter that there is not.
 */
function unfilter(data: Uint8Array, { width, height, channels }: Rows): void {
  const length = width * channels;
  if (data.length < height * (length + 1)) throw new Error('the picture is cut short');
  for (let y = 0; y < height; y++) {
    const start = y * (length + 1) + 1;
    const filter = data[start - 1];
    const row = data.subarray(start, start + length);
    const above = y === 0 ? new Uint8Array(length) : data.subarray(start - length - 1, start - 1);
    if (filter === 1) addLeft(row, channels);
    else if (filter === 2) addAbove(row, above);
    else if (filter === 3) addMean(row, above, channels);
    else if (filter === 4) addPaeth(row, above, channels);
    else if (filter !== 0) throw new Error('the picture has a filter that there is not');
  }
}

function addLeft(row: Uint8Array, step: number): void {
  for (let i = step; i < row.length; i++) row[i] = (row[i] as number) + (row[i - step] as number);
}

function addAbove(row: Uint8Array, above: Uint8Array): void {
  for (let i = 0; i < row.length; i++) row[i] = (row[i] as number) + (above[i] as number);
}

function addMean(row: Uint8Array, above: Uint8Array, step: number): void {
  for (let i = 0; i < row.length; i++) {
    const left = i < step ? 0 : (row[i - step] as number);
    row[i] = (row[i] as number) + ((left + (above[i] as number)) >> 1);
  }
}

function addPaeth(row: Uint8Array, above: Uint8Array, step: number): void {
  for (let i = 0; i < step; i++) row[i] = (row[i] as number) + (above[i] as number);
  for (let i = step; i < row.length; i++) {
    const left = row[i - step] as number;
    const up = above[i] as number;
    const corner = above[i - step] as number;
    const toLeft = Math.abs(up - corner);
    const toUp = Math.abs(left - corner);
    const toCorner = Math.abs(left + up - 2 * corner);
    const nearest = toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner;
    row[i] = (row[i] as number) + nearest;
  }
}
