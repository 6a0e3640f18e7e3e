import type { Socket } from 'node:net';
import symbols from 'undici/lib/core/symbols.js';

/**
 * Lets undici 7 hear the end of a connection while its parser is paused: it asserts that it is not, outside of any promise,
 * and takes a reply that came whole for cut (nodejs/undici#5360, mended in undici 8 alone). Call it before undici listens.
 */
export function letEndBeHeard(socket: Socket): void {
  socket.once('end', () => {
    // Nothing is left to read that could flood anybody. The parser ends the message, or pauses once more in front of its end.
    parserOf(socket)?.resume();
    forgetPause(socket);
  });
  socket.on('error', () => forgetPause(socket));
  socket.once('close', () => forgetPause(socket));
}

function parserOf(socket: symbols.Read): symbols.Parser | null | undefined {
  return socket[symbols.kParser];
}

function forgetPause(socket: Socket): void {
  const parser = parserOf(socket);
  if (!parser?.paused) return;
  parser.llhttp.llhttp_resume(parser.ptr);
  parser.paused = false;
}
