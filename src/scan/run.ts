import { isBase64Byte, type StringPart } from './string.ts';

/**
 * One string that may be long Base64. Until the threshold is reached its beginning is held, raw and with escapes
 * undone, so that a short one can go on as JSON unchanged.
 */
export class Base64Run {
  readonly #threshold: number;
  #raw: Uint8Array[] = [];
  #decoded: Uint8Array[] = [];
  #size = 0;
  /** Whether the string goes to a sink. */
  diverted = false;

  constructor(threshold: number) {
    this.#threshold = threshold;
  }

  /** Whether the part makes the string long enough to be diverted or given up. */
  reaches({ decoded }: StringPart): boolean {
    return this.#size + decoded.byteLength >= this.#threshold;
  }

  /** Whether what came so far, the part included, looks like Base64, maybe behind a data-URL prefix. */
  looksLikeBase64({ decoded }: StringPart): boolean {
    const head = Buffer.concat([...this.#decoded, decoded.subarray(0, this.#threshold)]).subarray(0, this.#threshold);
    let at = prefixLength(head);
    while (at < head.length && (isBase64Byte(head[at] as number) || head[at] === 0x0a || head[at] === 0x0d)) at++;
    return at === head.length;
  }

  /** Keeps a copy of a part: the chunk it came in goes. */
  hold(raw: Uint8Array, { decoded }: StringPart): void {
    this.#raw.push(new Uint8Array(raw));
    this.#decoded.push(new Uint8Array(decoded));
    this.#size += decoded.byteLength;
  }

  /** Takes the held beginning as it came. */
  takeRaw(): Uint8Array {
    const raw = Buffer.concat(this.#raw);
    this.#forget();
    return raw;
  }

  /** Takes the held beginning with its escapes undone; the string is diverted from now on. */
  takeDecoded(): Uint8Array {
    const decoded = Buffer.concat(this.#decoded);
    this.#forget();
    this.diverted = true;
    return decoded;
  }

  #forget(): void {
    this.#raw = [];
    this.#decoded = [];
    this.#size = 0;
  }
}

/** Length of a stray `data:…,` in front (deviation 10). */
function prefixLength(head: Buffer): number {
  if (head.toString('latin1', 0, 5).toLowerCase() !== 'data:') return 0;
  return head.subarray(0, 256).indexOf(0x2c) + 1;
}
