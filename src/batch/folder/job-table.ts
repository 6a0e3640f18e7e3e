import { type Key, keyFromHex, keyToHex } from '../jobs/digest.ts';
import { type JobState, jobStates } from '../types.ts';

/**
 * `seen`: the id stands in the job file. `due`: this run shall send it. `reread`: its line was read a second time, to be sent.
 * `incomplete`: a limit cut its answer, or the reply does not say that it is whole; of jobs that are done.
 */
const marks = { seen: 8, due: 16, reread: 64, incomplete: 128 } as const;
type Mark = keyof typeof marks;
const usedBit = 32;
const stateBits = 7;

/**
 * What is known of every job, in 17 bytes of typed arrays each instead of objects: a million jobs stay small. A hash table
 * with open addressing; a slot is only valid until the next `add`.
 */
export class JobTable {
  /** A power of two: at first 70 kB, for 2,700 ids. */
  #capacity = 4096;
  #size = 0;
  #words = new Uint32Array(this.#capacity * 4);
  #flags = new Uint8Array(this.#capacity);

  /** Number of ids. */
  get size(): number {
    return this.#size;
  }

  /** Slots are smaller than this. */
  get capacity(): number {
    return this.#capacity;
  }

  /** The slot of an id, or -1. */
  find(id: Key): number {
    const slot = this.#probe(id);
    return this.#flags[slot] === 0 ? -1 : slot;
  }

  /** The slot of an id; a new one is in state `new`. */
  add(id: Key): number {
    let slot = this.#probe(id);
    if (this.#flags[slot] !== 0) return slot;
    if ((this.#size + 1) * 3 > this.#capacity * 2) {
      this.#grow();
      slot = this.#probe(id);
    }
    this.#words[slot * 4] = id.high;
    this.#words[slot * 4 + 1] = id.low;
    this.#flags[slot] = usedBit;
    this.#size++;
    return slot;
  }

  /** The id's hash. */
  keyAt(slot: number): Key {
    return { high: this.#words[slot * 4] ?? 0, low: this.#words[slot * 4 + 1] ?? 0 };
  }

  stateOf(slot: number): JobState {
    return jobStates[this.#flagsAt(slot) & stateBits] as JobState;
  }

  setState(slot: number, state: JobState): void {
    this.#flags[slot] = (this.#flagsAt(slot) & ~stateBits) | jobStates.indexOf(state);
  }

  /** The hash of the job's canonical request: 16 hex digits, all zero where none is known. */
  requestOf(slot: number): string {
    return keyToHex({ high: this.#words[slot * 4 + 2] ?? 0, low: this.#words[slot * 4 + 3] ?? 0 });
  }

  setRequest(slot: number, request: string): void {
    const key = keyFromHex(request);
    this.#words[slot * 4 + 2] = key?.high ?? 0;
    this.#words[slot * 4 + 3] = key?.low ?? 0;
  }

  has(slot: number, mark: Mark): boolean {
    return (this.#flagsAt(slot) & marks[mark]) !== 0;
  }

  mark(slot: number, mark: Mark, on = true): void {
    this.#flags[slot] = on ? this.#flagsAt(slot) | marks[mark] : this.#flagsAt(slot) & ~marks[mark];
  }

  /** Every slot in use. */
  *slots(): Generator<number, void> {
    for (let slot = 0; slot < this.#capacity; slot++) if (this.#flags[slot] !== 0) yield slot;
  }

  #flagsAt(slot: number): number {
    return this.#flags[slot] ?? 0;
  }

  #probe({ high, low }: Key): number {
    const mask = this.#capacity - 1;
    let slot = low & mask;
    while (this.#flags[slot] !== 0 && (this.#words[slot * 4] !== high || this.#words[slot * 4 + 1] !== low))
      slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const [words, flags] = [this.#words, this.#flags];
    this.#capacity *= 2;
    this.#words = new Uint32Array(this.#capacity * 4);
    this.#flags = new Uint8Array(this.#capacity);
    for (let from = 0; from < flags.length; from++) {
      if (flags[from] === 0) continue;
      const to = this.#probe({ high: words[from * 4] ?? 0, low: words[from * 4 + 1] ?? 0 });
      for (let word = 0; word < 4; word++) this.#words[to * 4 + word] = words[from * 4 + word] ?? 0;
      this.#flags[to] = flags[from] ?? 0;
    }
  }
}
