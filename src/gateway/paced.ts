import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply } from './types.ts';

/** A piece of a stream, and whether a paced stream waits before it. */
export interface Piece {
  text: string;
  waits: boolean;
}

/** A stream that takes its time, `pace` ms before each piece that waits. Its length is told: nobody can count what is still to come. */
export function pacedBody(
  pieces: readonly Piece[],
  { pace, signal }: { pace: number; signal: AbortSignal },
): Pick<Reply, 'body' | 'length'> {
  const length = pieces.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  return { body: paced(pieces, pace, signal), length };
}

async function* paced(pieces: readonly Piece[], pace: number, signal: AbortSignal): AsyncGenerator<string> {
  for (const { text, waits } of pieces) {
    if (waits) await sleep(pace, undefined, { signal });
    yield text;
  }
}
