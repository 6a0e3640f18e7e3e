import { contentText } from '../formats/content/reply.ts';
import type { Candidate } from '../formats/content/types.ts';
import { extractDataUrls } from '../images/markdown.ts';
import { extensionFor, mediaType } from '../images/extension.ts';
import { imageFacts, sniffType } from '../images/sniff.ts';
import type { Picture } from './client-types.ts';
import type { PictureStore } from './picture-store.ts';
import type { ResultImage } from './result.ts';

/** Where a picture of a reply stands. */
interface Place {
  candidate: number;
  draft: boolean;
}

/** The picture behind an inlineData or image block, or undefined when it is none (audio, a document) or a bad one. */
export async function pictureOf(
  found: { mimeType: string | undefined; data: string },
  place: Place,
  store: PictureStore,
): Promise<ResultImage | undefined> {
  const declared = found.mimeType === undefined ? undefined : mediaType(found.mimeType);
  if (declared !== undefined && /^(audio|video|text)\//.test(declared)) return undefined;
  const blob = await store.resolve(found.data);
  if (!blob) return undefined;
  const isImage = declared?.startsWith('image/') || sniffType(blob.head) !== undefined;
  return isImage ? { declaredType: found.mimeType, ...place, blob } : undefined;
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

/** The text of a candidate without the pictures in it, and all of its pictures. */
export async function readPictures(
  candidate: Candidate,
  store: PictureStore,
): Promise<{ text: string; images: ResultImage[] }> {
  const { text, images } = await picturesInText(
    contentText(candidate),
    { candidate: candidate.index, draft: false },
    store,
  );
  const inline: ResultImage[] = [];
  for (const part of candidate.parts) {
    if (part.kind !== 'blob') continue;
    const image = await pictureOf(part, { candidate: candidate.index, draft: part.thought }, store);
    if (image) inline.push(image);
  }
  return { text, images: [...inline, ...images] };
}

/** What is known of a picture by its bytes, and what is odd about them. */
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
