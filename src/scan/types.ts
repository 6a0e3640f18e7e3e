/** What the scanner makes of the bytes: JSON that goes on, and the content of long Base64 strings. */
export type ScanPiece =
  | { type: 'json'; bytes: Uint8Array }
  | { type: 'open' }
  | { type: 'base64'; bytes: Uint8Array }
  | { type: 'close' };

/** How a body is scanned. */
export interface ScannerOptions {
  /** Base64 shorter than this many characters stays in the JSON (default 16 KiB). */
  threshold?: number | undefined;
  /** The same for data URLs in the text of events, which is short but where a whole picture is one delta (default 256 KiB). */
  deltaThreshold?: number | undefined;
  /** Framing of the body; by default its first character tells. */
  mode?: 'json' | 'sse' | undefined;
  /** Most levels of nesting (default 10,000). */
  maxDepth?: number | undefined;
}

/** A synchronous scanner; chunks may be cut anywhere. Pieces refer to the chunk's memory. */
export interface Base64Scanner {
  feed(chunk: Uint8Array): ScanPiece[];
  /** What was held back when the body ended. */
  finish(): Uint8Array[];
}
