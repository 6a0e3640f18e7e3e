import { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';

/** readline's own output, switched off while an answer is printed. */
export interface Echo {
  stream: Writable;
  isMuted: boolean;
}

/** The echo on a terminal, as wide as it is. */
export function createEcho(stdout: WriteStream): Echo {
  const echo = { isMuted: false, stream: undefined as unknown as Writable };
  echo.stream = new Writable({
    write(chunk: Uint8Array, _encoding, done) {
      if (!echo.isMuted) stdout.write(chunk);
      done();
    },
  });
  Object.defineProperty(echo.stream, 'columns', { get: () => stdout.columns });
  stdout.on('resize', () => echo.stream.emit('resize'));
  return echo;
}
