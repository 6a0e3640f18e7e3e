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
