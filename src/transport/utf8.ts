import { isAscii, isUtf8 } from 'node:buffer';

/** Text of a body. */
export interface DecodedText {
  text: string;
  /** A byte behind the text is no UTF-8. */
  isBroken: boolean;
}

/**
 * Decodes a body in pieces; without one, what is left at its end. A byte order mark in front is taken away. Most pieces are
 * ASCII, which is copied.
 */
export function createUtf8Decoder(): (chunk?: Uint8Array) => DecodedText {
  let held: Uint8Array = new Uint8Array();
  let isStart = true;
  return (chunk) => {
    // A body that ends inside a character was cut there.
    if (chunk === undefined) return { text: held.length > 0 ? '\ufffd' : '', isBroken: false };
    const view = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (!isStart && held.length === 0 && isAscii(view)) return { text: view.toString('latin1'), isBroken: false };
    const bytes = held.length > 0 ? Buffer.concat([held, view]) : view;
    const end = wholeEnd(bytes);
    held = Uint8Array.from(bytes.subarray(end));
    const whole = bytes.subarray(0, end);
    const isBroken = !isUtf8(whole);
    const text = whole.toString('utf8', 0, isBroken ? validEnd(whole) : end);
    const isMarked = isStart && text.startsWith('\ufeff');
    isStart &&= text === '';
    return { text: isMarked ? text.slice(1) : text, isBroken };
  };
}

/** In front of a last character of which bytes are missing. */
function wholeEnd(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Where the first byte stands that is no UTF-8, or the character that it breaks. */
function validEnd(bytes: Uint8Array): number {
  let [valid, broken] = [0, bytes.length];
  while (broken - valid > 1) {
    const middle = (valid + broken) >> 1;
    if (isUtf8(bytes.subarray(0, wholeEnd(bytes.subarray(0, middle))))) valid = middle;
    else broken = middle;
  }
  return wholeEnd(bytes.subarray(0, valid));
}
