import type { Base64Diversion } from '../transport/types.ts';

/** Decoded bytes of one image of a reply, stored while they arrived. */
export interface StoredBlob {
  /** Size in bytes. */
  bytes: number;
  /** Lower-case hex. */
  sha256: string;
  /** The first bytes (at most 256 KiB): enough for the type and the pixel size. */
  head: Uint8Array;
  /** The temporary file that holds it, or the bytes themselves. */
  content: { file: string } | { data: Uint8Array };
}

/** Takes the images of one reply, on disk or in memory. */
export interface BlobStore extends Base64Diversion {
  /** The blob that a string of the reply stands for: a placeholder's, or a short Base64 string decoded now. Throws bad-reply. */
  resolve(data: string): Promise<StoredBlob>;
  /** Removes every temporary file that was not published. Safe to call twice. */
  discard(): Promise<void>;
}

/** What the leading bytes of a picture say. */
export interface ImageFacts {
  /** From the bytes; undefined when they are of no known image type. */
  mimeType: string | undefined;
  /** Pixels; undefined when the header does not tell. */
  width: number | undefined;
  height: number | undefined;
}
