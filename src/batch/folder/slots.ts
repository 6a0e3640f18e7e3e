/**
 * The state of a slot. `pending`: the slot is to be sent, or made again. `sent`: no end is known, and the request may have been
 * billed. `incomplete`: the slot has an answer that may not be whole.
 */
const slotStates = ['pending', 'sent', 'done', 'incomplete', 'failed'] as const;
export type SlotState = (typeof slotStates)[number];

/**
 * `again`: it was marked to be made again, and that has no end yet: a new answer takes the place of the one that counts. `cut`: the
 * answer that counts may not be whole. `tried`: the last request failed. `wanted`: a row of the table has this slot.
 */
const flagBits = { again: 1, cut: 2, tried: 4, wanted: 8 } as const;

type SlotFlag = keyof typeof flagBits;

/** The place of a line in results.jsonl, in bytes. */
export interface Place {
  off: number;
  len: number;
}

const keyLength = 32;
const keyBytes = 16;
const keyWords = 4;
const capitals = /[A-F]/;

/**
 * The slots of a batch. A slot is the place of the answers to one key, for one of the rows that have this key: their numbers begin at 1. They
 * are columns with an open hash table, as a million objects would take 85 MiB more.
 */
export class Slots {
  #size = 0;
  /** The bytes of each key, and the same as words: to compare these is faster. */
  #keys: Buffer;
  #words: Uint32Array;
  #numbers: Uint32Array;
  /** From the first slot of a key to its others: the slot plus one, as 0 ends the list. */
  #next: Int32Array;
  #states: Uint8Array;
  #flags: Uint8Array;
  #answers: Uint16Array;
  #offsets: Float64Array;
  #lengths: Uint32Array;
  /** The hash table: the slot plus one, as 0 is empty. */
  #table: Int32Array;
  /** The key that is looked for. */
  readonly #sought = newKeys(1);
  readonly #soughtWords = toWords(this.#sought);
  /** The number of the answer that counts, for slots whose newest answer does not count. */
  readonly #chosen = new Map<number, number>();

  /** `rows`: about how many slots there will be. Columns that grow leave copies, which V8 frees late. */
  constructor(rows = 0) {
    const room = rows + 64;
    this.#keys = newKeys(room);
    this.#words = toWords(this.#keys);
    this.#numbers = new Uint32Array(room);
    this.#next = new Int32Array(room);
    this.#states = new Uint8Array(room);
    this.#flags = new Uint8Array(room);
    this.#answers = new Uint16Array(room);
    this.#offsets = new Float64Array(room);
    this.#lengths = new Uint32Array(room);
    this.#table = newTable(room);
  }

  /** Number of slots; each is smaller than this. */
  get size(): number {
    return this.#size;
  }

  /** The slot of a key with a number; -1 if there is none. */
  find(key: string, number = 1): number {
    return key.length === keyLength && this.#readKey(key) ? this.#findSought(number) : -1;
  }

  /** The slot of a key with a number; if there is none, it is added as pending. Throws RangeError for a text that is no key. */
  add(key: string, number = 1): number {
    if (key.length !== keyLength || !this.#readKey(key)) throw new RangeError(`no key: ${key}`);
    return this.#addSought(number);
  }

  /** The slot of a name, as `nameOf` gives it; -1 if there is none. */
  findNamed(name: string): number {
    const number = readNumber(name);
    return number > 0 && this.#readKey(name) ? this.#findSought(number) : -1;
  }

  /** The slot of a name; if there is none, it is added as pending. Throws RangeError for a text that is no name of a slot. */
  addNamed(name: string): number {
    const number = readNumber(name);
    if (number === 0 || !this.#readKey(name)) throw new RangeError(`no slot: ${name}`);
    return this.#addSought(number);
  }

  /** Whether the key of a slot with the number 1 has other slots. */
  hasOthers(first: number): boolean {
    return this.#next[first] !== 0;
  }

  /** All slots with the key of a slot with the number 1, in the order of their numbers. */
  listSame(first: number): number[] {
    const found = [first];
    for (let next = this.#next[first] as number; next > 0; next = this.#next[next - 1] as number) found.push(next - 1);
    return found.sort((a, b) => this.numberOf(a) - this.numberOf(b));
  }

  numberOf(slot: number): number {
    return this.#numbers[slot] as number;
  }

  /** The slot with the number 1 of its key. */
  firstOf(slot: number): number {
    return (this.#table[this.#seek(this.#words, slot, 1)] as number) - 1;
  }

  /** The first 32 bits of the key of a slot: they decide its shard. */
  headOf(slot: number): number {
    return this.#keys.readUInt32BE(slot * keyBytes);
  }

  keyOf(slot: number): string {
    return this.#keys.toString('hex', slot * keyBytes, (slot + 1) * keyBytes);
  }

  /** The name of a slot in all files, and at the service. */
  nameOf(slot: number): string {
    const number = this.numberOf(slot);
    return number === 1 ? this.keyOf(slot) : `${this.keyOf(slot)}-${number}`;
  }

  stateOf(slot: number): SlotState {
    return slotStates[this.#states[slot] as number] as SlotState;
  }

  setState(slot: number, state: SlotState): void {
    this.#states[slot] = slotStates.indexOf(state);
  }

  has(slot: number, flag: SlotFlag): boolean {
    return ((this.#flags[slot] as number) & flagBits[flag]) !== 0;
  }

  setFlag(slot: number, flag: SlotFlag, on = true): void {
    const flags = this.#flags[slot] as number;
    this.#flags[slot] = on ? flags | flagBits[flag] : flags & ~flagBits[flag];
  }

  /** The number of answers that were paid for a slot. */
  answersOf(slot: number): number {
    return this.#answers[slot] as number;
  }

  /** Whether a slot has an answer, or may have been billed for one. */
  mayBePaid(slot: number): boolean {
    return this.answersOf(slot) > 0 || this.stateOf(slot) === 'sent';
  }

  /** The number of the answer that counts: the newest one, unless another one was chosen. 0 if there is none. */
  countingOf(slot: number): number {
    return this.#chosen.get(slot) ?? this.answersOf(slot);
  }

  /**
   * The generation: the number of the answer that counts, or that is to come. Rows that use the answer have it in their key.
   * `comes`: one is to come though the slot is not marked to be made again.
   */
  generationOf(slot: number, comes = false): number {
    return comes || this.has(slot, 'again') ? this.answersOf(slot) + 1 : Math.max(1, this.countingOf(slot));
  }

  /** Adds an answer, which counts. */
  addAnswer(slot: number): void {
    this.#answers[slot] = this.answersOf(slot) + 1;
    this.#chosen.delete(slot);
  }

  choose(slot: number, number: number): void {
    if (number === this.answersOf(slot)) this.#chosen.delete(slot);
    else this.#chosen.set(slot, number);
  }

  /** The place of the line of a slot: that of the answer that counts, or of the failure if it has no answer. */
  placeOf(slot: number): Place | undefined {
    const len = this.#lengths[slot] as number;
    return len === 0 ? undefined : { off: this.#offsets[slot] as number, len };
  }

  setPlace(slot: number, { off, len }: Place): void {
    this.#offsets[slot] = off;
    this.#lengths[slot] = len;
  }

  /** Reads the key at the beginning of a text. Returns whether there is one: capital digits are of no key. */
  #readKey(text: string): boolean {
    return this.#sought.write(text, 0, keyBytes, 'hex') === keyBytes && !capitals.test(text);
  }

  #findSought(number: number): number {
    return (this.#table[this.#seek(this.#soughtWords, 0, number)] as number) - 1;
  }

  #addSought(number: number): number {
    const known = this.#findSought(number);
    if (known >= 0) return known;
    const first = number === 1 ? -1 : this.#addSought(1);
    const slot = this.#size++;
    if (this.#size === this.#numbers.length) this.#grow();
    this.#words.set(this.#soughtWords, slot * keyWords);
    this.#numbers[slot] = number;
    this.#table[this.#seek(this.#soughtWords, 0, number)] = slot + 1;
    if (first < 0) return slot;
    this.#next[slot] = this.#next[first] as number;
    this.#next[first] = slot + 1;
    return slot;
  }

  /** The index in the hash table of a key with a number, or the index where it can be added. `at`: the place of the key in `keys`. */
  #seek(keys: Uint32Array, at: number, number: number): number {
    const [words, table, numbers] = [this.#words, this.#table, this.#numbers];
    const from = at * keyWords;
    const mask = table.length - 1;
    const head = keys[from] as number;
    const start = head ^ (head >>> 16) ^ Math.imul(number, 0x9e3779b1);
    for (let index = start & mask; ; index = (index + 1) & mask) {
      const slot = (table[index] as number) - 1;
      if (slot < 0) return index;
      const word = slot * keyWords;
      const isSame =
        words[word] === keys[from] &&
        words[word + 1] === keys[from + 1] &&
        words[word + 2] === keys[from + 2] &&
        words[word + 3] === keys[from + 3];
      if (isSame && numbers[slot] === number) return index;
    }
  }

  #grow(): void {
    const room = this.#numbers.length * 2;
    this.#keys = grown(this.#keys, newKeys(room));
    this.#words = toWords(this.#keys);
    this.#numbers = grown(this.#numbers, new Uint32Array(room));
    this.#next = grown(this.#next, new Int32Array(room));
    this.#states = grown(this.#states, new Uint8Array(room));
    this.#flags = grown(this.#flags, new Uint8Array(room));
    this.#answers = grown(this.#answers, new Uint16Array(room));
    this.#offsets = grown(this.#offsets, new Float64Array(room));
    this.#lengths = grown(this.#lengths, new Uint32Array(room));
    this.#table = newTable(room);
    // The last slot is not in the table yet.
    for (let slot = 0; slot < this.#size - 1; slot++)
      this.#table[this.#seek(this.#words, slot, this.numberOf(slot))] = slot + 1;
  }
}

/** Room for keys. Their words need a buffer of their own. */
function newKeys(room: number): Buffer {
  return Buffer.from(new ArrayBuffer(room * keyBytes));
}

function toWords({ buffer }: Buffer): Uint32Array {
  return new Uint32Array(buffer);
}

/** At most half of the table is taken. */
function newTable(room: number): Int32Array {
  return new Int32Array(2 ** Math.ceil(Math.log2(room * 2)));
}

/** Copies a column into a longer one. */
export function grown<Column extends { set(from: Column): void }>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}

/** The number in the name of a slot; 0, which no slot has, if the text is no name. */
function readNumber(name: string): number {
  if (name.length === keyLength) return 1;
  const number = name[keyLength] === '-' ? Number(name.slice(keyLength + 1)) : 0;
  return Number.isSafeInteger(number) && number > 1 ? number : 0;
}
