import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';
import type { Picture } from './picture.ts';

export const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const compress = promisify(deflate);
const copyRow = 0;
const subFilter = 1;
const upFilter = 2;

/** Pixels above which speed is more important than size. */
const large = 3 * 2 ** 20;

/** A picture as a PNG: true colour, with alpha only if a pixel has it. `notes` become tEXt chunks (Latin-1). */
export async function encodePng(picture: Picture, notes: Readonly<Record<string, string>> = {}): Promise<Buffer> {
  const { width, height } = picture;
  const channels = isOpaque(picture) ? 3 : 4;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, channels === 3 ? 2 : 6], 8);
  const level = width * height > large ? 2 : 5;
  const pixels = await compress(filterRows(picture, channels), { level });
  const texts = Object.entries(notes).map(([name, note]) => chunk('tEXt', Buffer.from(`${name}\0${note}`, 'latin1')));
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    ...texts,
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** One chunk of a PNG file: length, type, data and their checksum. */
export function chunk(type: string, data: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function isOpaque({ data }: Picture): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return false;
  return true;
}

/** The rows with PNG's filters: each row as the difference to the row above or to the pixel before, by a sample of it. */
function filterRows({ width, height, data }: Picture, channels: 3 | 4): Uint8Array {
  const stride = width * 4;
  const filtered = new Uint8Array((width * channels + 1) * height);
  for (let row = 0, to = 0; row < height; row++) {
    const from = row * stride;
    const filter = row === 0 ? copyRow : chooseFilter(data, from, stride);
    const back = filter === upFilter ? stride : 4;
    filtered[to++] = filter;
    for (let at = from; at < from + stride; at += 4) {
      const plain = filter === copyRow || (filter === subFilter && at === from);
      for (let channel = at; channel < at + channels; channel++) {
        filtered[to++] = plain ? (data[channel] ?? 0) : (data[channel] ?? 0) - (data[channel - back] ?? 0);
      }
    }
  }
  return filtered;
}

function chooseFilter(data: Uint8Array, from: number, stride: number): number {
  let up = 0;
  let sub = 0;
  for (let at = from + 4; at < from + stride; at += 20) {
    const value = data[at] ?? 0;
    up += Math.abs(value - (data[at - stride] ?? 0));
    sub += Math.abs(value - (data[at - 4] ?? 0));
  }
  return sub < up ? subFilter : upFilter;
}
