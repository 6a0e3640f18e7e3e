import { isUtf8 } from 'node:buffer';
import { usageError } from '../errors.ts';

/**
 * Text of input that a person gave, `name` in messages. CRLF stays, a byte order mark goes. Throws usage naming the offset
 * (from 0) of the first byte that is not UTF-8: nothing is replaced or dropped behind the user's back.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  const convert = utf16
    ? 'it looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8'
    : 'convert it to UTF-8, for example with iconv';
  throw usageError(`${name} is not UTF-8 text: invalid byte at offset ${invalidOffset(bytes)}`, convert);
}

/** Every bad sequence decodes to U+FFFD; the first that does not stand in the bytes as such marks the place. */
function invalidOffset(bytes: Uint8Array): number {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  let offset = 0;
  for (let from = 0; ;) {
    const at = text.indexOf('\uFFFD', from);
    if (at === -1) return offset;
    offset += Buffer.byteLength(text.slice(from, at));
    if (!(bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd)) return offset;
    offset += 3;
    from = at + 1;
  }
}
