import type { JsonValue } from '../json.ts';

/** How an exchange ended: by itself, by an early end of the connection, by a reset, or because the reader left. */
export const endings = ['end', 'cut', 'reset', 'left'] as const;
export type Ended = (typeof endings)[number];

/** A request as a cassette shows it: members in order of their names, each long Base64 as its size and SHA-256. */
export interface RecordedRequest {
  method: string;
  /** Below the base URL, with the query but without a key. */
  path: string;
  body: JsonValue;
}

/** First line of a cassette. */
export interface CassetteHead {
  /** Version of the form. */
  cassette: 1;
  /** SHA-256 of the request line as it stands here, in hex, before anything in it was masked. */
  hash: string;
  request: RecordedRequest;
}

/** Every further line; `delay` is the time since the line before, in ms. */
export type CassetteLine =
  | { kind: 'reply'; status: number; headers: Record<string, string>; delay: number }
  | { kind: 'chunk'; bytes: Uint8Array; delay: number }
  | { kind: 'ended'; ended: Ended; delay: number };

/** Hides secrets in a text, character for character. */
export interface Mask {
  hide(text: string): string;
  /** Length of the longest secret, in characters. */
  reach: number;
}
