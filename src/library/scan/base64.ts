import { badReply, type GatewayError } from '../errors.ts';
import { blockSize, giveBlock, takeBlock } from '../files/block-writer.ts';
import { base64Characters, latin1 } from './json-bytes.ts';

const skipped = 0xfe;
const padding = 0xfd;
const invalid = 0xff;
const kinds = new Uint8Array(256).fill(invalid);
for (const char of base64Characters) kinds[char.charCodeAt(0)] = 0;
for (const char of ' \t\r\n') kinds[char.charCodeAt(0)] = skipped;
kinds['='.charCodeAt(0)] = padding;

const longestPrefix = 512;
/** Characters per step: limits the strings and buffers in use. */
const stepSize = 64 * 1024;

/**
 * Decodes Base64 that arrives in pieces, as gateways send it (deviations 7, 8 and 10): either alphabet, even mixed; with or
 * without padding; white space; a stray `data:…;base64,` before it. Any other byte is an error, while Node's own decoder
 * would skip it.
 */
export class Base64Decoder {
  /** The start of the text while it can still be a data-URL prefix. */
  #head: Uint8Array | undefined = new Uint8Array();
  /** Up to three characters of an incomplete group. */
  #carry = '';
  #padding = 0;
  #out: Buffer = Buffer.alloc(0);
  #size = 0;

  /** Decodes the next piece of ASCII text. The result is valid until the next call. Throws GatewayError bad-reply. */
  feed(text: Uint8Array): Uint8Array {
    this.#size = 0;
    const rest = this.#head ? this.#withoutPrefix(this.#head, text) : text;
    this.#reserve(rest.length);
    for (let at = 0; at < rest.length; at += stepSize) this.#decode(rest.subarray(at, at + stepSize));
    return this.#out.subarray(0, this.#size);
  }

  /** Returns the last bytes. Throws GatewayError bad-reply if the text was cut or wrongly padded. */
  end(): Uint8Array {
    this.#size = 0;
    this.#reserve(longestPrefix);
    if (this.#head) {
      const head = this.#head;
      this.#head = undefined;
      if (head.length >= 5 && canBePrefix(head)) throw malformedBase64('it is a data URL without data');
      this.#decode(head);
    }
    const rest = this.#carry.length;
    if (rest === 1) throw malformedBase64('it is cut in the middle of a group');
    if (this.#padding > 0 && rest + this.#padding !== 4) throw malformedBase64('its padding is wrong');
    this.#write(this.#carry);
    this.#carry = '';
    return this.#out.subarray(0, this.#size);
  }

  /** Releases the memory of the results, which are not read any more. */
  release(): void {
    if (this.#out.length === blockSize) giveBlock(this.#out);
    this.#out = Buffer.alloc(0);
  }

  #reserve(characters: number): void {
    const needed = Math.ceil(((characters + 4) * 3) / 4);
    if (this.#out.length >= needed) return;
    this.release();
    this.#out = needed <= blockSize ? takeBlock() : Buffer.allocUnsafeSlow(needed);
  }

  /** The text after a data-URL prefix, or the whole text; empty until that is clear. */
  #withoutPrefix(held: Uint8Array, text: Uint8Array): Uint8Array {
    const head = trimStart(held.length > 0 ? Buffer.concat([held, text]) : text);
    if (head.length === 0) return head;
    if (!canBePrefix(head)) {
      this.#head = undefined;
      return head;
    }
    const comma = head.subarray(0, longestPrefix).indexOf(0x2c);
    if (comma < 0) {
      if (head.length >= longestPrefix) throw malformedBase64('it begins like a data URL but is not one');
      this.#head = new Uint8Array(head);
      return new Uint8Array();
    }
    if (!latin1(head, 0, comma).toLowerCase().endsWith(';base64'))
      throw malformedBase64('it is a data URL without Base64');
    this.#head = undefined;
    return head.subarray(comma + 1);
  }

  #decode(block: Uint8Array): void {
    if (this.#padding > 0 || !this.#decodeFast(block)) this.#decodeSlowly(block);
  }

  /** Lets Node decode whole groups. It skips bytes that are not Base64, so the length shows whether there were any. */
  #decodeFast(block: Uint8Array): boolean {
    const lead = this.#carry === '' ? 0 : Math.min(4 - this.#carry.length, block.length);
    if (lead > 0) {
      const group = this.#carry + latin1(block, 0, lead);
      if (group.length < 4 || !isClean(block.subarray(0, lead))) return false;
      this.#write(group);
      this.#carry = '';
    }
    const rest = block.subarray(lead);
    const whole = rest.length - (rest.length % 4);
    const before = this.#size;
    const tail = rest.subarray(whole);
    if (isClean(tail)) {
      this.#write(latin1(rest, 0, whole));
      if (this.#size - before === (whole / 4) * 3) {
        this.#carry = latin1(tail, 0, tail.length);
        return true;
      }
    }
    this.#size = before;
    this.#decodeSlowly(rest);
    return true;
  }

  /** Checks every character: for blocks with white space, padding or invalid bytes. */
  #decodeSlowly(block: Uint8Array): void {
    const clean = Buffer.allocUnsafe(block.length);
    let size = 0;
    for (const byte of block) {
      const kind = kinds[byte];
      if (kind === skipped) continue;
      if (kind === padding && this.#padding < 2) this.#padding++;
      else if (kind !== 0) throw malformedBase64(`it holds the byte 0x${byte.toString(16).padStart(2, '0')}`);
      else if (this.#padding > 0) throw malformedBase64('it continues after its padding');
      else clean[size++] = byte;
    }
    const text = this.#carry + latin1(clean, 0, size);
    const whole = text.length - (text.length % 4);
    this.#write(text.slice(0, whole));
    this.#carry = text.slice(whole);
  }

  #write(text: string): void {
    this.#size += this.#out.write(text, this.#size, 'base64');
  }
}

function isClean(bytes: Uint8Array): boolean {
  return bytes.every((byte) => kinds[byte] === 0);
}

function trimStart(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex((byte) => kinds[byte] !== skipped);
  return start < 0 ? new Uint8Array() : bytes.subarray(start);
}

function canBePrefix(head: Uint8Array): boolean {
  return 'data:'.startsWith(latin1(head, 0, Math.min(5, head.length)).toLowerCase());
}

function malformedBase64(reason: string): GatewayError {
  return badReply(`an image of the reply is not valid Base64: ${reason}`);
}
