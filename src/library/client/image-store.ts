import { GatewayError } from '../errors.ts';
import { createMemoryStore } from '../images/store.ts';
import type { BlobStore, StoredBlob } from '../images/types.ts';
import type { Base64Diversion, Base64Sink, DivertedString } from '../scan/json-scan.ts';
import { createWatch, type CheckEnd, type Watch } from './deadline.ts';
import { extensionFor, imageFacts, isSvg, mediaType, sniffType } from '../images/image-type.ts';
import type { Picture } from './client-types.ts';
import type { Result, ResultImage } from './result.ts';
import { joinBlobs, toSoundFile } from '../images/sound.ts';
import { isHarmlessSvg } from '../images/svg.ts';

/** The limits for the work on a reply that has come. */
export interface ReplyBounds {
  /** Looked at between images and candidates. */
  endOf?: CheckEnd | undefined;
  /** Maximum number of images with files of their own; further images of a text are not written, and stay in memory. */
  mostImages?: number | undefined;
}

/** The most images of a reply that are written by default. */
export const mostImages = 256;

/** Takes the images of one reply. If one is not Base64, the others are kept: they were paid for too. */
export interface ImageStore extends Base64Diversion {
  /**
   * Undefined for an image that was no Base64, or that came after the time was over. Throws GatewayError not-written, or the
   * caller's abort.
   */
  resolve(data: string): Promise<StoredBlob | undefined>;
  /** One file that joins the pieces of a sound; undefined if no piece was Base64. Throws as `resolve` does. */
  join(pieces: readonly string[]): Promise<StoredBlob | undefined>;
  /** The reason that an image is missing: the first bad image (bad-reply), or the time limit. */
  failure(): GatewayError | undefined;
}

/** The images of one reply, as far as they came. */
interface KeptImages {
  store: BlobStore;
  mostImages: number;
  /** Placeholders of images that were opened in the store, and of bad images. */
  stored: Set<string>;
  bad: Map<string, GatewayError>;
  count: number;
  /** A store for images that are not written anyway. */
  memory?: BlobStore;
  failure?: GatewayError | undefined;
}

/** Keeps the good images of a reply in a store, and remembers the first error of a bad image. */
export function keepGoodImages(store: BlobStore, { endOf, mostImages = Infinity }: ReplyBounds = {}): ImageStore {
  const kept: KeptImages = { store, mostImages, stored: new Set(), bad: new Map(), count: 0 };
  const watch = createWatch(endOf);
  return {
    open: () => openKept(kept),
    resolve: async (data) => resolveKept(data, await watch(), kept),
    join: (pieces) => joinKept(pieces, watch, kept),
    failure: () => kept.failure,
  };
}

async function openKept({ store, stored, bad }: KeptImages): Promise<DivertedString> {
  const { sink, placeholder } = await store.open();
  stored.add(placeholder);
  return { placeholder, sink: untilBad(sink, (error) => bad.set(placeholder, error)) };
}

/** An image; `late`: the time is over. */
async function resolveKept(
  data: string,
  late: GatewayError | undefined,
  kept: KeptImages,
): Promise<StoredBlob | undefined> {
  const store = chooseStore(data, late, kept);
  let error = store === undefined ? late : kept.bad.get(data);
  const fail = (thrown: GatewayError): void => void (error = thrown);
  const blob = error || !store ? undefined : await orBad(() => store.resolve(data), fail);
  kept.failure ??= error;
  return blob;
}

/** All pieces came, and are short: the time limit alone does not end their joining. */
async function joinKept(pieces: readonly string[], watch: Watch, kept: KeptImages): Promise<StoredBlob | undefined> {
  const [only = ''] = pieces;
  if (pieces.length === 1) return resolveKept(only, await watch(), kept);
  // A file for each piece would be written for nothing.
  const memory = createMemoryStore();
  const blobs: StoredBlob[] = [];
  const fail = (error: GatewayError): void => void (kept.failure ??= error);
  for (const piece of pieces) {
    await watch();
    const bad = kept.bad.get(piece);
    if (bad) fail(bad);
    const store = kept.stored.has(piece) ? kept.store : memory;
    const blob = bad ? undefined : await orBad(() => store.resolve(piece), fail);
    if (blob) blobs.push(blob);
  }
  return blobs.length === 0 ? undefined : joinBlobs(blobs);
}

/**
 * Chooses the store for an image: memory for images that are not written anyway; none for an image above the limit when the time
 * is over.
 */
function chooseStore(data: string, late: GatewayError | undefined, kept: KeptImages): BlobStore | undefined {
  const isWanted = ++kept.count <= kept.mostImages;
  if (kept.stored.has(data) || (isWanted && late === undefined)) return kept.store;
  return isWanted || late === undefined ? (kept.memory ??= createMemoryStore()) : undefined;
}

/** Ignores the rest of an image after its first invalid byte. */
function untilBad(sink: Base64Sink, fail: (error: GatewayError) => void): Base64Sink {
  let isBad = false;
  const attemptStep = async (step: () => void | Promise<void>): Promise<void> => {
    if (isBad) return;
    await orBad(step, (error) => {
      isBad = true;
      fail(error);
    });
  };
  return { write: (base64) => attemptStep(() => sink.write(base64)), end: () => attemptStep(() => sink.end()) };
}

async function orBad<T>(step: () => T | Promise<T>, fail: (error: GatewayError) => void): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof GatewayError) || error.class !== 'bad-reply') throw error;
    fail(error);
    return undefined;
  }
}

/** Whether a blob is an image, by its declared type or by its bytes; audio and documents are not. */
export function isImageBlob({ declaredType, blob }: Pick<ResultImage, 'declaredType' | 'blob'>): boolean {
  const declared = declaredType === undefined ? undefined : mediaType(declaredType);
  if (declared === undefined && isSvg(blob.head)) return true;
  return declared?.startsWith('image/') === true || sniffType(blob.head) !== undefined;
}

/**
 * Describes an image or another file by its bytes, with a warning if they differ from its declared type. `blob` has the bytes to
 * write: sound without a header gets one there.
 */
export async function describeImage({
  blob: original,
  candidate,
  declaredType: declared,
}: ResultImage): Promise<{ image: Picture; warning: string | undefined; blob: StoredBlob }> {
  const { blob, declaredType } = isSound(declared)
    ? await toSoundFile(original, declared)
    : { blob: original, declaredType: declared };
  const { head, bytes, sha256 } = blob;
  const isDrawing = isSvg(head) && isImageBlob({ declaredType, blob });
  const isHarmless = isDrawing && (await isHarmlessSvg(blob));
  const { extension, mimeType, warning } = await extensionFor({ declaredType, head, isHarmlessSvg: isHarmless });
  const { width, height } = imageFacts(head);
  return { image: { mimeType, extension, width, height, bytes, sha256, candidate }, warning, blob };
}

function isSound(declaredType: string | undefined): declaredType is string {
  return declaredType !== undefined && /^\s*audio\//i.test(declaredType);
}

/** Images and other files with bytes, in the order in which they are written. */
export function listBlobs({ images, files = [] }: Pick<Result, 'images' | 'files'>): ResultImage[] {
  return [...images, ...files];
}
