import type { Base64Diversion } from '../scan/json-scan.ts';

/** The decoded bytes of one image of a reply, stored as they arrived. */
export interface StoredBlob {
  /** Size in bytes. */
  bytes: number;
  /** Lower-case hex. */
  sha256: string;
  /** The first bytes (at most 256 KiB): enough for the type and the pixel size. */
  head: Uint8Array;
  /** The temporary file with the bytes, or the bytes. */
  content: { file: string } | { data: Uint8Array };
}

/** Stores the images of one reply, on disk or in memory. */
export interface BlobStore extends Base64Diversion {
  /** The blob of a string of the reply: of a placeholder, or of a short Base64 string, which is decoded now. Throws bad-reply. */
  resolve(data: string): Promise<StoredBlob>;
  /** Removes every temporary file that was not published. Can be called twice. */
  discard(): Promise<void>;
}
