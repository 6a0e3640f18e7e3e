const lf = 0x0a;
const cr = 0x0d;
const field = Buffer.from('data:');

/** The beginning of a line, or a whole line that holds no JSON. */
interface Line {
  /** Position behind what was read. */
  end: number;
  /** JSON begins (or goes on) behind it. */
  isData: boolean;
  /** An event is over. */
  blank: boolean;
}

/** Reads lines of server-sent events: only `data:` lines hold JSON. */
export interface LineReader {
  /**
   * Reads at a line break, at the beginning of a line or inside a line to skip, maybe to the end of the last whole event;
   * with `all` short events are read too.
   * Undefined when the field's name is cut.
   */
  read(bytes: Uint8Array, at: number, all: boolean): Line | undefined;
}

/**
 * Starts at the beginning of a stream. Lines end with LF, CR LF or CR. No string spans lines, so a `data:` line shorter
 * than `shortest` has nothing to divert and is skipped, and with it the rest of its event: its nesting is not known then.
 */
export function createLineReader(shortest: number): LineReader {
  let afterCr = false;
  let atStart = true;
  let skipping = false;
  let skipEvent = false;
  /** The chunk in which whole events were looked for. */
  let looked: Uint8Array | undefined;

  /** Behind the whole events that are short in every line; the same as line by line, at a fraction of the time. */
  function readShort(bytes: Uint8Array, at: number): Line | undefined {
    looked = bytes;
    const end = endOfShort(bytes, at, shortest);
    if (end <= at) return undefined;
    [afterCr, atStart, skipping, skipEvent] = [false, true, false, false];
    return { end, isData: false, blank: true };
  }

  function readBreak(byte: number, at: number): Line {
    const blank = atStart && !(byte === lf && afterCr);
    if (blank) skipEvent = false;
    afterCr = byte === cr;
    atStart = true;
    skipping = false;
    return { end: at + 1, isData: false, blank };
  }

  return {
    read(bytes, at, all) {
      const short = all || looked === bytes ? undefined : readShort(bytes, at);
      if (short) return short;
      const first = bytes[at] as number;
      if (first === lf || first === cr) return readBreak(first, at);
      if (!skipping) {
        const length = matchLength(bytes, at);
        if (length < field.length && at + length === bytes.length) return undefined;
        atStart = false;
        afterCr = false;
        if (length === field.length && !skipEvent) {
          const limit = Math.min(bytes.length, at + shortest);
          const end = lineEnd(bytes, at + length, limit);
          if (end === limit || all) return { end: at + length, isData: true, blank: false };
          skipEvent = true;
          return { end, isData: false, blank: false };
        }
        skipping = true;
      }
      return { end: lineEnd(bytes, at, bytes.length), isData: false, blank: false };
    },
  };
}

function matchLength(bytes: Uint8Array, at: number): number {
  let length = 0;
  while (length < field.length && bytes[at + length] === field[length]) length++;
  return length;
}

function lineEnd(bytes: Uint8Array, start: number, limit: number): number {
  let at = start;
  while (at < limit && bytes[at] !== lf && bytes[at] !== cr) at++;
  return at;
}

/** Behind the last blank line, where every line from `start` up to there is shorter than `shortest`; else 0. */
function endOfShort(bytes: Uint8Array, start: number, shortest: number): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = text.lastIndexOf('\n\n') + 2;
  for (let at = start; end - at > shortest;) {
    const next = text.lastIndexOf('\n', at + shortest - 1) + 1;
    if (next <= at) return 0;
    at = next;
  }
  return end < 2 ? 0 : end;
}
