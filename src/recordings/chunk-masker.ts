/** Hides secrets in a text, character for character. */
export interface Mask {
  hide(text: string): string;
  /** Length of the longest secret, in characters. */
  reach: number;
}

/** A chunk with the time since the one before, in ms. */
export interface TimedChunk {
  bytes: Uint8Array;
  delay: number;
}

/** Hides secrets in chunks also where one ends in the next: what may still be the beginning of one is held back. */
export interface ChunkMasker {
  /** Takes a chunk; returns those that are settled, in order, each as long as it came. */
  push(chunk: TimedChunk): TimedChunk[];
  /** The rest. */
  end(): TimedChunk[];
}

/** Masks byte for byte, so that every chunk keeps its length and its place. */
export function createChunkMasker({ hide, reach }: Mask): ChunkMasker {
  let held: TimedChunk[] = [];
  const settle = (): void => {
    const whole = Buffer.concat(held.map(({ bytes }) => bytes));
    const text = whole.toString('latin1');
    const hidden = hide(text);
    if (hidden === text) return;
    const masked = Buffer.from(hidden, 'latin1');
    let at = 0;
    held = held.map(({ bytes, delay }) => {
      const part = masked.subarray(at, at + bytes.byteLength);
      at += bytes.byteLength;
      return { bytes: part, delay };
    });
  };
  const release = (keep: number): TimedChunk[] => {
    let kept = 0;
    let from = held.length;
    while (from > 0 && kept < keep) kept += held[--from]?.bytes.byteLength ?? 0;
    return held.splice(0, from);
  };
  return {
    push(chunk) {
      held.push(chunk);
      if (reach === 0) return release(0);
      settle();
      return release(reach - 1);
    },
    end() {
      if (reach > 0) settle();
      return release(0);
    },
  };
}
