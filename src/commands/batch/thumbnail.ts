import { readFile, stat } from 'node:fs/promises';
import { decodeImage } from '../../gateway/pictures/decode.ts';
import { shrink } from '../../images/preview-blocks.ts';

const longestSide = 320;
const quality = 80;
/** Larger files are not decoded for a picture of the size of a stamp. */
const mostBytes = 128 * 1024 * 1024;
/** Types that cannot be decoded here stand in the page as they are, where they are small. */
const mostAsIs = 256 * 1024;
const harmless = new Set(['image/webp', 'image/gif', 'image/avif', 'image/png', 'image/jpeg']);

/** A small picture as a data URL, or undefined where none can be made: the file is gone, damaged, too large, of a strange type. */
export async function thumbnailOf(path: string, mimeType: string): Promise<string | undefined> {
  try {
    if (!harmless.has(mimeType) || (await stat(path)).size > mostBytes) return undefined;
    const bytes = await readFile(path);
    const { picture } = await decodeImage({ bytes, mimeType, path: [path] });
    if (picture) return await encodeSmall(picture);
    return bytes.length <= mostAsIs ? `data:${mimeType};base64,${bytes.toString('base64')}` : undefined;
  } catch {
    return undefined;
  }
}

async function encodeSmall(picture: Parameters<typeof shrink>[0]): Promise<string> {
  const scale = Math.min(1, longestSide / picture.width, longestSide / picture.height);
  const [width, height] = [picture.width, picture.height].map((side) => Math.max(1, Math.round(side * scale)));
  const small = shrink(picture, width as number, height as number);
  const { default: jpeg } = await import('jpeg-js');
  const { data } = jpeg.encode({ ...small, data: onWhite(small.data) }, quality);
  return `data:image/jpeg;base64,${data.toString('base64')}`;
}

/** JPEG knows no transparency. */
function onWhite(pixels: Uint8Array): Uint8Array {
  const data = Uint8Array.from(pixels);
  for (let at = 0; at < data.length; at += 4) {
    const alpha = (data[at + 3] ?? 255) / 255;
    for (let i = at; i < at + 3; i++) data[i] = Math.round((data[i] ?? 0) * alpha + 255 * (1 - alpha));
    data[at + 3] = 255;
  }
  return data;
}
