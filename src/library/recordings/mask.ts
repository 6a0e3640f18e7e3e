import { secretWord } from './request-name.ts';

/** Replaces secrets in a text by other text of the same length. */
export interface Mask {
  hide(text: string): string;
  /** Length of the longest secret, in characters. */
  reach: number;
}

/**
 * Masks secrets in chunks, even if they span several: bytes that can be the start of a secret are held back. Masks byte for byte,
 * so that every chunk keeps its length and position.
 */
export function createChunkMasker({ hide, reach }: Mask) {
  let held: Uint8Array[] = [];
  const maskHeld = (): void => {
    const text = Buffer.concat(held).toString('latin1');
    const hidden = hide(text);
    if (hidden === text) return;
    const masked = Buffer.from(hidden, 'latin1');
    let at = 0;
    held = held.map(({ byteLength }) => masked.subarray(at, (at += byteLength)));
  };
  /** All chunks except the last ones that make up `keep` bytes. */
  const release = (keep: number): Uint8Array[] => {
    let kept = 0;
    let from = held.length;
    while (from > 0 && kept < keep) kept += held[--from]?.byteLength ?? 0;
    return held.splice(0, from);
  };
  return {
    /** Adds a chunk; returns the chunks that are complete, in order and with their lengths. */
    push(chunk: Uint8Array): Uint8Array[] {
      held.push(chunk);
      if (reach === 0) return release(0);
      maskHeld();
      return release(reach - 1);
    },
    /** Masks and returns the chunks that are still held back. */
    end(): Uint8Array[] {
      if (reach > 0) maskHeld();
      return release(0);
    },
  };
}

/** Headers that are of the connection, not of the reply. */
const hopHeaders = new Set('connection keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '));

/** The headers of a reply to record: without those of the connection and those that can contain a secret. */
export function recordedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const named = new Set((headers['connection'] ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const kept = Object.entries(headers).filter(
    ([name]) => !hopHeaders.has(name) && !named.has(name) && !secretWord.test(name),
  );
  return Object.fromEntries(kept);
}
