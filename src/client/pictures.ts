import { contentText } from '../formats/content/reply.ts';
import type { Candidate } from '../formats/content/types.ts';
import { extractDataUrls } from '../images/markdown.ts';
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

/** A text without the pictures that stand in it as data URLs (deviations 1, 2, 4), and those pictures. */
export async function picturesInText(
  text: string,
  place: Place,
  store: PictureStore,
): Promise<{ text: string; images: ResultImage[] }> {
  if (!text.includes('data:')) return { text, images: [] };
  const extracted = extractDataUrls(text);
  const images: ResultImage[] = [];
  for (const found of extracted.images) {
    const blob = await store.resolve(found.data);
    if (blob) images.push({ declaredType: found.mimeType, ...place, blob });
  }
  return { text: extracted.text, images };
}

/** The text of a candidate without the pictures in it, all of its pictures, and its blobs that are none. */
export async function readPictures(
  candidate: Candidate,
  store: PictureStore,
): Promise<{ text: string; images: ResultImage[]; files: ResultImage[] }> {
  const { text, images } = await picturesInText(
    contentText(candidate),
    { candidate: candidate.index, draft: false },
    store,
  );
  const blobs: ResultImage[] = [];
  for (const part of candidate.parts) {
    if (part.kind !== 'blob') continue;
    const blob = await blobOf(part, { candidate: candidate.index, draft: part.thought }, store);
    if (blob) blobs.push(blob);
  }
  const files = blobs.filter((blob) => !isPicture(blob));
  return { text, images: [...blobs.filter(isPicture), ...images], files };
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
