import { Writable } from 'node:stream';

/** The output of readline, which can be switched off: a hidden answer, or one that is being printed. */
export interface MuteStream {
  stream: Writable;
  isMuted: boolean;
}

/** A stream that hands everything on to the target unless it is muted, as it is at first. */
export function createMuteStream(target: NodeJS.WritableStream): MuteStream {
  const mute = { isMuted: true, stream: undefined as unknown as Writable };
  mute.stream = new Writable({
    write(chunk: Uint8Array, _encoding, done) {
      if (!mute.isMuted) target.write(chunk);
      done();
    },
  });
  return mute;
}
