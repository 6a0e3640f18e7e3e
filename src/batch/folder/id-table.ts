/** No byte of an id; it follows each one. */
const end = 0xfe;
/** Two bytes follow: the halves of what is no ASCII character. */
const wide = 0xff;

/** In a slot: an id was there that another one replaced. */
const replaced = -1;

/**
 * Ids by their rows, and rows by ids. A `Map` of a million strings takes 40 MiB more, and each collection of garbage goes through
 * all of them: here they are bytes, one after another, with their rows in an open hash table.
 */
export class IdTable {
  #bytes = Buffer.alloc(16 * 1024);
  #used = 0;
  #starts = new Uint32Array(1024);
  /** By hash: the row plus one, as 0 is an empty slot. */
  #slots = new Int32Array(2048);
  #size = 0;
  /** Slots that are not empty. */
  #taken = 0;

  /** Number of ids; rows are smaller than this. */
  get size(): number {
    return this.#size;
  }

  /** The row of an id; or -1. */
  find(id: string): number {
    for (let at = hashTextBytes(id); ; at++) {
      const slot = this.#slots[at & (this.#slots.length - 1)] as number;
      if (slot === 0) return -1;
      if (slot !== replaced && this.#isAt(slot - 1, id)) return slot - 1;
    }
  }

  /** The id of a row. */
  get(row: number): string {
    const start = this.#starts[row] as number;
    let [at, units, isPlain] = [start, '', true];
    for (; this.#bytes[at] !== end && isPlain; at++) isPlain = this.#bytes[at] !== wide;
    if (isPlain) return this.#bytes.toString('latin1', start, at);
    for (at = start; this.#bytes[at] !== end; at++) {
      const byte = this.#bytes[at] as number;
      units += String.fromCharCode(byte === wide ? this.#readWide(at) : byte);
      if (byte === wide) at += 2;
    }
    return units;
  }

  /** Adds an id that is not there. Returns its row. */
  add(id: string): number {
    const row = this.#size++;
    if (row === this.#starts.length) this.#starts = grown(this.#starts, new Uint32Array(row * 2));
    this.#write(row, id);
    return row;
  }

  /** Gives a row another id, which is not there. */
  replace(row: number, id: string): void {
    const mask = this.#slots.length - 1;
    let at = this.#hashRow(row) & mask;
    while (this.#slots[at] !== row + 1) at = (at + 1) & mask;
    this.#slots[at] = replaced;
    this.#write(row, id);
  }

  /** Leaves the first rows. */
  cut(size: number): void {
    if (size === this.#size) return;
    this.#size = size;
    this.#fillSlots();
  }

  #write(row: number, id: string): void {
    const most = this.#used + id.length * 3 + 1;
    if (most > this.#bytes.length) this.#bytes = grown(this.#bytes, Buffer.alloc(most * 2));
    this.#starts[row] = this.#used;
    for (let at = 0; at < id.length; at++) {
      const unit = id.charCodeAt(at);
      if (unit >= 0x80) {
        this.#bytes[this.#used++] = wide;
        this.#bytes[this.#used++] = unit >> 8;
      }
      this.#bytes[this.#used++] = unit;
    }
    this.#bytes[this.#used++] = end;
    if (++this.#taken * 2 > this.#slots.length) this.#fillSlots();
    else this.#fillSlot(row, hashTextBytes(id));
  }

  #fillSlot(row: number, hash: number): void {
    const mask = this.#slots.length - 1;
    let at = hash & mask;
    while (this.#slots[at] !== 0) at = (at + 1) & mask;
    this.#slots[at] = row + 1;
  }

  #fillSlots(): void {
    this.#taken = this.#size;
    const isFull = this.#taken * 2 > this.#slots.length;
    if (isFull) this.#slots = new Int32Array(this.#slots.length * 2);
    else this.#slots.fill(0);
    for (let row = 0; row < this.#size; row++) this.#fillSlot(row, this.#hashRow(row));
  }

  #hashRow(row: number): number {
    let hash = firstHash;
    for (let at = this.#starts[row] as number; this.#bytes[at] !== end; at++) {
      hash = hashByte(hash, this.#bytes[at] as number);
      if (this.#bytes[at] === wide) for (const half of [++at, ++at]) hash = hashByte(hash, this.#bytes[half] as number);
    }
    return mixed(hash);
  }

  #isAt(row: number, id: string): boolean {
    let from = this.#starts[row] as number;
    for (let at = 0; at < id.length; at++, from++) {
      const unit = id.charCodeAt(at);
      const byte = this.#bytes[from] as number;
      if (unit < 0x80 ? byte !== unit : byte !== wide || this.#readWide(from) !== unit) return false;
      if (unit >= 0x80) from += 2;
    }
    return this.#bytes[from] === end;
  }

  #readWide(at: number): number {
    return ((this.#bytes[at + 1] as number) << 8) | (this.#bytes[at + 2] as number);
  }
}

// FNV-1a, mixed once more: ids that count up differ in few bits.
const firstHash = 0x811c9dc5;
const hashByte = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193);

function mixed(hash: number): number {
  const bits = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (bits ^ (bits >>> 13)) >>> 0;
}

/** The hash of the bytes that a text has in the table. */
function hashTextBytes(text: string): number {
  let hash = firstHash;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) hash = hashByte(hashByte(hash, wide), unit >> 8);
    hash = hashByte(hash, unit & 0xff);
  }
  return mixed(hash);
}

/** A longer copy of a column. */
export function grown<Column extends Uint8Array | Uint16Array | Uint32Array>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}
