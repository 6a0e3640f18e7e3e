import { extensionFor, mediaType } from '../images/image-type.ts';
import { imageFacts, sniffType } from '../images/image-type.ts';
import type { Picture } from './client-types.ts';
import type { ResultImage } from './result.ts';
import type { PictureStore } from './picture-store.ts';

/** Where a picture of a reply stands. */
interface Place {
  candidate: number;
  draft: boolean;
}

/** The bytes of an inlineData part or of a block, or undefined where its Base64 is bad. */
export async function blobOf(
  { mimeType, data }: { mimeType: string | undefined; data: string },
  place: Place,
  store: PictureStore,
): Promise<ResultImage | undefined> {
  const blob = await store.resolve(data);
  return blob && { declaredType: mimeType, ...place, blob };
}

/** Whether a blob is a picture, by its declared type or by its bytes; audio, a document and the like are none. */
export function isPicture({ declaredType, blob }: Pick<ResultImage, 'declaredType' | 'blob'>): boolean {
  const declared = declaredType === undefined ? undefined : mediaType(declaredType);
  return declared?.startsWith('image/') === true || sniffType(blob.head) !== undefined;
}

/** What is known of a picture, or of a file that is none, by its bytes, and what is odd about them. */
export async function describePicture({
  blob,
  candidate,
  declaredType,
}: ResultImage): Promise<{ picture: Picture; warning: string | undefined }> {
  const { extension, mimeType, warning } = await extensionFor({ declaredType, head: blob.head });
  const { width, height } = await imageFacts(blob.head);
  const { bytes, sha256 } = blob;
  return { picture: { mimeType, extension, width, height, bytes, sha256, candidate }, warning };
}
