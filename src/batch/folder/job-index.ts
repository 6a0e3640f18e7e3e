import { type JobState, jobStates } from '../types.ts';

/**
 * `inFile`: the job file has this id. `toSend`: this run sends it. `reread`: its line was read a second time, to be sent.
 * `incomplete`: a limit cut its answer, or the reply does not say that it is whole; of jobs that are done.
 */
const marks = { inFile: 8, toSend: 16, reread: 32, incomplete: 64 } as const;
type Mark = keyof typeof marks;
const stateBits = 7;

/**
 * What is known of each job of a folder. A job has a row, in the order in which the ids came, and what is known of it is in columns:
 * for a million jobs, objects would take 85 MiB more.
 */
export class JobIndex {
  readonly #rows = new Map<string, number>();
  #flags = new Uint8Array(1024);
  #requests = new BigUint64Array(1024);
  #places = new Uint32Array(1024);

  /** Number of ids; rows are smaller than this. */
  get size(): number {
    return this.#rows.size;
  }

  /** In the order of their rows. */
  ids(): IterableIterator<string> {
    return this.#rows.keys();
  }

  /** The row of an id, or -1. */
  find(id: string): number {
    return this.#rows.get(id) ?? -1;
  }

  /** The row of an id; a new one is in state `new`. */
  add(id: string): number {
    const known = this.#rows.get(id);
    if (known !== undefined) return known;
    const row = this.#rows.size;
    this.#rows.set(id, row);
    if (row === this.#flags.length) {
      this.#flags = grown(this.#flags, new Uint8Array(row * 2));
      this.#requests = grown(this.#requests, new BigUint64Array(row * 2));
      this.#places = grown(this.#places, new Uint32Array(row * 2));
    }
    return row;
  }

  stateOf(row: number): JobState {
    return jobStates[this.#flagsOf(row) & stateBits] as JobState;
  }

  setState(row: number, state: JobState): void {
    this.#flags[row] = (this.#flagsOf(row) & ~stateBits) | jobStates.indexOf(state);
  }

  has(row: number, mark: Mark): boolean {
    return (this.#flagsOf(row) & marks[mark]) !== 0;
  }

  mark(row: number, mark: Mark, on = true): void {
    this.#flags[row] = on ? this.#flagsOf(row) | marks[mark] : this.#flagsOf(row) & ~marks[mark];
  }

  /** The hash of the job's canonical request: 16 hex digits, all zero where it is not known. */
  requestOf(row: number): string {
    return (this.#requests[row] ?? 0n).toString(16).padStart(16, '0');
  }

  setRequest(row: number, request: string): void {
    this.#requests[row] = /^[0-9a-f]{16}$/.test(request) ? BigInt(`0x${request}`) : 0n;
  }

  /** The place of the job in its file, for the order of results; 0 where it is not known. */
  placeOf(row: number): number {
    return this.#places[row] ?? 0;
  }

  setPlace(row: number, place: number): void {
    this.#places[row] = place;
  }

  #flagsOf(row: number): number {
    return this.#flags[row] ?? 0;
  }
}

function grown<Column extends Uint8Array | Uint32Array | BigUint64Array>(from: Column, to: Column): Column {
  (to as Uint8Array).set(from as Uint8Array);
  return to;
}
