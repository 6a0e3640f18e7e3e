import { sniffType } from '../sniff.ts';
import { type Picture, type Size, rotate, mirror } from './picture.ts';

/** An input image: its pixels where its type can be decoded, otherwise its size alone. */
export interface Decoded {
  mimeType: string;
  size: Size;
  picture: Picture | undefined;
}

/**
 * Decodes PNG and JPEG, turned upright, and measures other types. A picture of more pixels is refused before it is decoded,
 * whatever its file says where.
 */
export async function decodeWithin(
  { bytes, mimeType: declared }: { bytes: Buffer; mimeType: string },
  most: number,
): Promise<Decoded | { tooLarge: Size } | 'damaged'> {
  const mimeType = sniffType(bytes) ?? declared;
  const { imageSize } = await import('image-size');
  const facts = attempt(() => imageSize(bytes));
  if (!facts?.width || !facts.height) return 'damaged';
  const size = { width: facts.width, height: facts.height };
  if (size.width * size.height > most) return { tooLarge: size };
  if (mimeType !== 'image/png' && mimeType !== 'image/jpeg') return { mimeType, size, picture: undefined };
  const decode = mimeType === 'image/png' ? decodePng : decodeJpeg;
  const decoded = await decode(bytes, most).catch(() => undefined);
  if (!decoded) return 'damaged';
  const picture = turnUpright(decoded, facts.orientation);
  return { mimeType, size: { width: picture.width, height: picture.height }, picture };
}

async function decodeJpeg(bytes: Buffer, most: number): Promise<Picture> {
  const { default: jpeg } = await import('jpeg-js');
  const { width, height, data } = jpeg.decode(bytes, {
    useTArray: true,
    formatAsRGBA: true,
    tolerantDecoding: true,
    maxResolutionInMP: most / 1e6,
    maxMemoryUsageInMB: 1024,
  });
  return { width, height, data };
}

async function decodePng(bytes: Buffer, most: number): Promise<Picture> {
  const { readPng } = await import('./png-reader.ts');
  return readPng(bytes, most);
}

/** Photographs lie on their side and say so in their EXIF data. */
function turnUpright(picture: Picture, orientation = 1): Picture {
  const turned =
    orientation >= 5
      ? rotate(picture, orientation <= 6 ? 90 : 270)
      : orientation >= 3 && orientation <= 4
        ? rotate(picture, 180)
        : picture;
  return [2, 4, 5, 7].includes(orientation) ? mirror(turned) : turned;
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
