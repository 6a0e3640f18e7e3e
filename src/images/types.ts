import type { Base64Diversion } from '../scan/json-scan.ts';
import type { StoredBlob } from '../files/types.ts';

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
