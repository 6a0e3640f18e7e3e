import { readFile, stat } from 'node:fs/promises';
import type { CardPicture } from '../../batch/gallery-html.ts';
import { codeOf } from '../../errors.ts';
import { shrink } from '../../images/preview-blocks.ts';
import { readReason } from '../../files/file-reason.ts';
import { decodePreview, tooManyPixels } from '../../cli/output/decode-preview.ts';

const longestSide = 320;
const quality = 80;
/** Larger files are not decoded for a picture of the size of a stamp. */
const mostBytes = 128 * 1024 * 1024;
/** Types that cannot be decoded here stand in the page as they are, where they are small. */
const mostAsIs = 256 * 1024;
const asTheyAre = new Set(['image/webp', 'image/gif', 'image/avif']);
const shown = new Set([...asTheyAre, 'image/png', 'image/jpeg']);

/** A picture that a page shall show. */
export type PictureFile = Pick<CardPicture, 'path' | 'mimeType' | 'width' | 'height'>;

/** A small picture as a data URL, or why there is none. */
export type Thumbnail = { thumbnail: string } | { hidden: string };

/** Why a page does not show a picture, as far as that is known without decoding it. */
export async function whyHidden({ path, mimeType, width = 0, height = 0 }: PictureFile): Promise<string | undefined> {
  if (!shown.has(mimeType)) return `browsers show no ${mimeType}`;
  const gone = await stat(path).then(
    ({ size }) => (size > mostBytes ? 'the file is too large to be shown' : undefined),
    (error: unknown) => (codeOf(error) === 'ENOENT' ? 'the file is gone' : readReason(error)),
  );
  return gone ?? tooManyPixels({ width, height });
}

/** Never throws: a page has many pictures, and one that cannot be drawn is told in its place. */
export async function makeThumbnail(file: PictureFile): Promise<Thumbnail> {
  try {
    const hidden = await whyHidden(file);
    if (hidden !== undefined) return { hidden };
    const bytes = await readFile(file.path);
    if (asTheyAre.has(file.mimeType)) return embedAsIs(bytes, file.mimeType);
    const pixels = await decodePreview(bytes, file.mimeType);
    return 'hidden' in pixels ? pixels : { thumbnail: await encodeSmall(pixels) };
  } catch (error) {
    return { hidden: readReason(error) };
  }
}

function embedAsIs(bytes: Buffer, mimeType: string): Thumbnail {
  if (bytes.length > mostAsIs) return { hidden: `${mimeType} cannot be decoded here` };
  return { thumbnail: `data:${mimeType};base64,${bytes.toString('base64')}` };
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
