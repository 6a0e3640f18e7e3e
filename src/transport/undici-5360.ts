import type { Socket } from 'node:net';
// @ts-expect-error undici publishes no types of its internals.
import symbols from 'undici/lib/core/symbols.js';

/** What reads the replies of one connection. */
interface Parser {
  readonly ptr: number;
  readonly llhttp: { llhttp_resume(ptr: number): void };
  paused: boolean;
  resume(): void;
}

const kParser: unique symbol = symbols.kParser;

/**
 * Works around nodejs/undici#5360, which is fixed in undici 8 alone: when a connection ends while its parser is paused, undici 7
 * fails an assertion outside of any promise, and takes a complete reply for a cut one. Call it before undici listens.
 */
export function endWhilePaused(socket: Socket): void {
  socket.once('end', () => {
    // Nothing is left to read that could flood anybody. The parser ends the message, or pauses once more in front of its end.
    parserOf(socket)?.resume();
    unpause(socket);
  });
  socket.on('error', () => unpause(socket));
  socket.once('close', () => unpause(socket));
}

function parserOf(socket: object): Parser | null | undefined {
  return (socket as { [kParser]?: Parser | null })[kParser];
}

function unpause(socket: Socket): void {
  const parser = parserOf(socket);
  if (!parser?.paused) return;
  parser.llhttp.llhttp_resume(parser.ptr);
  parser.paused = false;
}
