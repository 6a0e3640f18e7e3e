/**
 * The state of a slot. `pending`: the slot is to be sent, or made again. `sent`: no end is known, and the request may have been
 * billed. `incomplete`: the slot has an answer that may not be whole.
 */
const slotStates = ['pending', 'sent', 'done', 'incomplete', 'failed'] as const;
export type SlotState = (typeof slotStates)[number];

/**
 * `again`: a new answer is to take the place of the one that counts. `cut`: the answer that counts may not be whole. `tried`: the
 * last request failed. `wanted`: a row of the table has this slot.
 */
const flagBits = { again: 1, cut: 2, tried: 4, wanted: 8 } as const;

type SlotFlag = keyof typeof flagBits;

/** The place of a line in results.jsonl, in bytes. */
export interface Place {
  off: number;
  len: number;
}

const keyLength = 32;

/**
 * The slots of a batch. A slot is the place of the answers to one key, for one of the rows that have this key: their numbers begin at 1. They
 * are columns with an open hash table, as a million objects would take 85 MiB more.
 */
export class Slots {
  #size = 0;
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
  /** The four words of the key that is looked for. */
  readonly #sought = new Uint32Array(4);
  /** The number of the answer that counts, for slots whose newest answer does not count. */
  readonly #chosen = new Map<number, number>();

  /** `rows`: about how many slots there will be. Columns that grow leave copies, which V8 frees late. */
  constructor(rows = 0) {
    const room = rows + 64;
    this.#words = new Uint32Array(room * 4);
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
    return readKey(key, this.#sought) ? (this.#table[this.#seek(number)] as number) - 1 : -1;
  }

  /** The slot of a key with a number; if there is none, it is added as pending. Throws RangeError for a text that is no key. */
  add(key: string, number = 1): number {
    if (!readKey(key, this.#sought)) throw new RangeError(`no key: ${key}`);
    const known = (this.#table[this.#seek(number)] as number) - 1;
    if (known >= 0) return known;
    const first = number === 1 ? -1 : this.add(key);
    const slot = this.#size++;
    if (this.#size === this.#numbers.length) this.#grow();
    readKey(key, this.#sought);
    this.#words.set(this.#sought, slot * 4);
    this.#numbers[slot] = number;
    this.#table[this.#seek(number)] = slot + 1;
    if (first < 0) return slot;
    this.#next[slot] = this.#next[first] as number;
    this.#next[first] = slot + 1;
    return slot;
  }

  /** The slot of a name, as `nameOf` gives it; -1 if there is none. */
  findNamed(name: string): number {
    return this.find(name.slice(0, keyLength), readNumber(name));
  }

  /** The slot of a name; if there is none, it is added as pending. Throws RangeError for a text that is no name of a slot. */
  addNamed(name: string): number {
    const number = readNumber(name);
    if (number === 0) throw new RangeError(`no slot: ${name}`);
    return this.add(name.slice(0, keyLength), number);
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
    return this.numberOf(slot) === 1 ? slot : this.find(this.keyOf(slot));
  }

  /** The first 32 bits of the key of a slot: they decide its shard. */
  headOf(slot: number): number {
    return this.#words[slot * 4] as number;
  }

  keyOf(slot: number): string {
    let key = '';
    for (let at = slot * 4; at < slot * 4 + 4; at++) key += (this.#words[at] as number).toString(16).padStart(8, '0');
    return key;
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

  /** The number of the answer that counts: the newest one, unless another one was chosen. 0 if there is none. */
  countingOf(slot: number): number {
    return this.#chosen.get(slot) ?? this.answersOf(slot);
  }

  /** The generation: the number of the answer that counts, or that is to come. Rows that use the answer have it in their key. */
  generationOf(slot: number): number {
    return this.has(slot, 'again') ? this.answersOf(slot) + 1 : Math.max(1, this.countingOf(slot));
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

  /** The index in the hash table of the sought key with a number, or the index where it can be added. */
  #seek(number: number): number {
    const [a, b, c, d] = this.#sought as unknown as [number, number, number, number];
    const mask = this.#table.length - 1;
    for (let at = (a ^ Math.imul(number, 0x9e3779b1)) & mask; ; at = (at + 1) & mask) {
      const slot = (this.#table[at] as number) - 1;
      if (slot < 0) return at;
      const word = slot * 4;
      const isSame =
        this.#words[word] === a &&
        this.#words[word + 1] === b &&
        this.#words[word + 2] === c &&
        this.#words[word + 3] === d;
      if (isSame && this.#numbers[slot] === number) return at;
    }
  }

  #grow(): void {
    const room = this.#numbers.length * 2;
    this.#words = grown(this.#words, new Uint32Array(room * 4));
    this.#numbers = grown(this.#numbers, new Uint32Array(room));
    this.#next = grown(this.#next, new Int32Array(room));
    this.#states = grown(this.#states, new Uint8Array(room));
    this.#flags = grown(this.#flags, new Uint8Array(room));
    this.#answers = grown(this.#answers, new Uint16Array(room));
    this.#offsets = grown(this.#offsets, new Float64Array(room));
    this.#lengths = grown(this.#lengths, new Uint32Array(room));
    this.#table = newTable(room);
    // The last slot is not in the table yet.
    for (let slot = 0; slot < this.#size - 1; slot++) {
      this.#sought.set(this.#words.subarray(slot * 4, slot * 4 + 4));
      this.#table[this.#seek(this.numberOf(slot))] = slot + 1;
    }
  }
}

/** At most half of the table is taken. */
function newTable(room: number): Int32Array {
  return new Int32Array(2 ** Math.ceil(Math.log2(room * 2)));
}

function grown<Column extends { set(from: Column): void }>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}

/** The number in the name of a slot; 0, which no slot has, if the text is no name. */
function readNumber(name: string): number {
  if (name.length === keyLength) return 1;
  const number = name[keyLength] === '-' ? Number(name.slice(keyLength + 1)) : 0;
  return Number.isSafeInteger(number) && number > 1 ? number : 0;
}

/** Reads 32 lower-case hex digits as four words. A regular expression takes as long as the parsing of the record around them. */
function readKey(key: string, words: Uint32Array): boolean {
  if (key.length !== keyLength) return false;
  for (let word = 0; word < 4; word++) {
    let bits = 0;
    for (let at = word * 8; at < word * 8 + 8; at++) {
      const code = key.charCodeAt(at);
      const isNumber = code >= 0x30 && code <= 0x39;
      if (!isNumber && (code < 0x61 || code > 0x66)) return false;
      bits = (bits << 4) | (code - (isNumber ? 0x30 : 0x57));
    }
    words[word] = bits;
  }
  return true;
}
