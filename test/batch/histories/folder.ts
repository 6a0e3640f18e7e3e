import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BatchHooks } from '../../../src/batch/types.ts';
import { bootMark } from '../../../src/library/files/process-mark.ts';

/** The files that a run appends to; others are replaced as a whole. */
type GrowingFile = Parameters<NonNullable<BatchHooks['watch']>>[0];

type Bytes = Record<GrowingFile, number>;

/** What a process leaves that is killed at this moment. */
export interface LeftFiles {
  files: Map<string, Buffer>;
  synced: Bytes;
  /** The last write, if nothing happened since. */
  last: { file: GrowingFile; from: number } | undefined;
}

/** How a process ended: of its last write, some characters can be missing; and the machine can go down with it. */
export interface Ending {
  tear: number;
  losesPower: boolean;
  random: () => number;
}

/** The folder of a batch, on a disk of which is known how much of each file is surely there. */
export class WatchedFolder {
  readonly #place: string;
  #copies = 0;
  #path: string;
  #synced: Bytes = { journal: 0, results: 0 };
  #written: Bytes = { journal: 0, results: 0 };
  #last: LeftFiles['last'];

  /** `place`: its path, to which a number is added. */
  constructor(place: string) {
    this.#place = place;
    this.#path = `${place}-0`;
  }

  get path(): string {
    return this.#path;
  }

  get syncedResults(): number {
    return this.#synced.results;
  }

  /** Empty if it is not there. */
  read(name: string): Buffer {
    try {
      return readFileSync(join(this.#path, name));
    } catch {
      return Buffer.alloc(0);
    }
  }

  /** All that a report of the folder is read from. */
  readAll(): string {
    return ['jobs.jsonl', 'journal.jsonl', 'results.jsonl']
      .map((name) => this.read(name).toString('latin1'))
      .join('\0');
  }

  /** The process begins: what a killed one wrote is in its files, whether it was synced or not. */
  open(): void {
    for (const file of ['journal', 'results'] as const) {
      this.#written[file] = this.read(`${file}.jsonl`).length;
      this.#synced[file] = Math.min(this.#synced[file], this.#written[file]);
    }
  }

  /** Notes what is written and synced. */
  watch(file: GrowingFile, what: 'written' | 'synced', bytes: number): void {
    this.#last = what === 'written' ? { file, from: Math.min(this.#written[file], bytes) } : undefined;
    if (what === 'written') this.#written[file] = bytes;
    else this.#synced[file] = Math.max(this.#synced[file], bytes);
  }

  /** A step without a write is over. */
  pass(): void {
    this.#last = undefined;
  }

  /** Copies what is there now. What holds the lock is dead by the time that others look. */
  copy(): LeftFiles {
    const files = new Map<string, Buffer>();
    for (const name of readdirSync(this.#path))
      if (!name.startsWith('lock.json') && statSync(join(this.#path, name)).isFile()) files.set(name, this.read(name));
    return { files, synced: { ...this.#synced }, last: this.#last };
  }

  /** Goes on with what a killed process left. */
  restore({ files, synced, last }: LeftFiles, { tear, losesPower, random }: Ending): void {
    this.#path = `${this.#place}-${++this.#copies}`;
    mkdirSync(this.#path);
    this.#synced = synced;
    for (const [name, whole] of files) {
      let bytes = whole;
      const file = name === 'journal.jsonl' ? 'journal' : name === 'results.jsonl' ? 'results' : undefined;
      if (file !== undefined && last?.file === file && tear % 2 === 1)
        bytes = bytes.subarray(0, Math.max(last.from, bytes.length - tear));
      if (file !== undefined && losesPower) bytes = losePower(bytes, synced[file], random);
      if (file !== undefined) synced[file] = Math.min(synced[file], bytes.length);
      writeFileSync(join(this.#path, name), file === 'journal' && losesPower ? this.#bootAgain(bytes) : bytes);
    }
  }

  /** The machine was started again since: what it wrote until then has the mark of another boot. */
  #bootAgain(journal: Buffer): Buffer {
    const boot = bootMark() ?? '';
    const before = String(this.#copies).padStart(boot.length, '-');
    return Buffer.from(journal.toString('latin1').replaceAll(boot, before), 'latin1');
  }
}

/** Of what was not synced, any part can be there; and some file systems keep a later block and leave zeros in place of one before it. */
function losePower(bytes: Buffer, synced: number, random: () => number): Buffer {
  const kept = synced + Math.floor(random() * (bytes.length - synced + 1));
  const left = Buffer.from(bytes.subarray(0, kept));
  if (random() < 0.2) left.fill(0, synced, synced + Math.floor(random() * (kept - synced + 1)));
  return left;
}
