import { setTimeout as sleep } from 'node:timers/promises';
import type { Call, Reply } from './types.ts';

/** A piece of a stream, and whether a stream with a pace waits before it. */
export interface Piece {
  text: string;
  waits: boolean;
}

/** A stream as a reply, with `pace` ms before each piece that waits. */
export function streamReply(
  contentType: string,
  pieces: Iterable<Piece>,
  { pace, call }: { pace: number; call: Call },
): Reply {
  const head = { status: 200, headers: { 'content-type': contentType } };
  if (pace <= 0) return { ...head, body: textsOf(pieces) };
  const all = [...pieces];
  // Nobody can count what is still to come, so its length is told.
  const length = all.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  return { ...head, body: delayed(all, pace, call.left.signal), length };
}

function* textsOf(pieces: Iterable<Piece>): Generator<string> {
  for (const { text } of pieces) yield text;
}

async function* delayed(pieces: readonly Piece[], pace: number, signal: AbortSignal): AsyncGenerator<string> {
  for (const { text, waits } of pieces) {
    if (waits) await sleep(pace, undefined, { signal });
    yield text;
  }
}
