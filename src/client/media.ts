import { usageError } from '../errors.ts';
import { readInputImage } from '../images/input.ts';
import { sniffType } from '../images/image-type.ts';
import { createUpload, type Upload } from '../body.ts';
import type { MediaInput } from './client-types.ts';

/** Media ready to be sent. */
export interface OpenedMedia {
  inline: { mimeType: string; data: Upload }[];
  /** Removes what was spooled. */
  cleanup(): Promise<void>;
}

/** Finds type and size of each medium. Throws GatewayError usage: unreadable, or of no known image type and none given. */
export async function openMedia(media: readonly MediaInput[] = []): Promise<OpenedMedia> {
  const cleanups: (() => Promise<void>)[] = [];
  const cleanup = async (): Promise<void> => {
    for (const remove of cleanups) await remove();
  };
  try {
    const inline: OpenedMedia['inline'] = [];
    for (const medium of media) inline.push(await openOne(medium, (remove) => void cleanups.push(remove)));
    return { inline, cleanup };
  } catch (error) {
    await cleanup();
    throw error;
  }
}

async function openOne(
  medium: MediaInput,
  atEnd: (remove: () => Promise<void>) => void,
): Promise<OpenedMedia['inline'][number]> {
  if ('path' in medium) {
    const image = await readInputImage(medium.path);
    atEnd(image.cleanup);
    return { mimeType: image.mimeType, data: createUpload(image.path, image.bytes) };
  }
  const data = medium instanceof Uint8Array ? medium : medium.data;
  const mimeType = medium instanceof Uint8Array ? sniffType(medium) : medium.mimeType;
  if (mimeType === undefined) throw usageError('the bytes are not an image of a known type', 'give { data, mimeType }');
  return { mimeType, data: createUpload(data) };
}
