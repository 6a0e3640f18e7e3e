import type { Media } from '../models/task.ts';
import { badValue } from '../fields/violation.ts';
import { sniffMediaType } from '../fields/media.ts';
import { mostPixels, type Picture } from './picture.ts';
import type { Size } from './size.ts';
import { rotate, mirror } from './transform.ts';

/** An input image: its pixels where its type can be decoded, otherwise its size alone. */
export interface Decoded {
  mimeType: string;
  size: Size;
  picture: Picture | undefined;
}

/** Decodes PNG and JPEG, turned upright, and measures other types. Throws Violation for what is no image, or too large. */
export async function decodeImage({ bytes, mimeType: declared, path }: Media): Promise<Decoded> {
  const mimeType = sniffMediaType(bytes) ?? declared;
  const fail = (): Error => badValue(path, 'Unable to process input image');
  const { imageSize } = await import('image-size');
  const size = attempt(() => imageSize(bytes));
  if (!size?.width || !size.height) throw fail();
  const { width, height, orientation } = size;
  if (width * height > mostPixels) {
    throw badValue(
      path,
      `the image has ${width}×${height} pixels; the offline models take at most ${mostPixels / 2 ** 20} megapixels`,
    );
  }
  if (mimeType !== 'image/png' && mimeType !== 'image/jpeg')
    return { mimeType, size: { width, height }, picture: undefined };
  const decoded = await (mimeType === 'image/png' ? decodePng(bytes) : decodeJpeg(bytes)).catch(() => undefined);
  if (!decoded) throw fail();
  const picture = turnUpright(decoded, orientation);
  return { mimeType, size: { width: picture.width, height: picture.height }, picture };
}

async function decodeJpeg(bytes: Buffer): Promise<Picture> {
  const { default: jpeg } = await import('jpeg-js');
  const { width, height, data } = jpeg.decode(bytes, {
    useTArray: true,
    formatAsRGBA: true,
    tolerantDecoding: true,
    maxResolutionInMP: mostPixels / 1e6,
    maxMemoryUsageInMB: 1024,
  });
  return { width, height, data };
}

async function decodePng(bytes: Buffer): Promise<Picture> {
  const { readPng } = await import('./png-reader.ts');
  return readPng(bytes);
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
