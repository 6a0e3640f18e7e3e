interface SimulatedFile {
  data: string;
  /** So much of it is surely on the disk. */
  synced: number;
}

export interface SimulatedLine {
  text: string;
  whole: boolean;
  off: number;
  len: number;
}

/** The files of a folder as they were written, and as far as they are surely on the disk. */
export class SimulatedDisk {
  readonly #files = new Map<string, SimulatedFile>();

  #file(name: string): SimulatedFile {
    const file = this.#files.get(name) ?? { data: '', synced: 0 };
    this.#files.set(name, file);
    return file;
  }

  append(name: string, text: string): number {
    const file = this.#file(name);
    const off = file.data.length;
    file.data += text;
    return off;
  }

  sync(name: string): void {
    const file = this.#file(name);
    file.synced = file.data.length;
  }

  syncedBytes(name: string): number {
    return this.#file(name).synced;
  }

  /** In one step that the power can only lose whole. */
  replace(name: string, text: string): void {
    this.#files.set(name, { data: text, synced: text.length });
  }

  read(name: string, off = 0, len?: number): string {
    return this.#file(name).data.slice(off, len === undefined ? undefined : off + len);
  }

  *lines(name: string, from = 0): Generator<SimulatedLine, void> {
    const { data } = this.#file(name);
    for (let off = from; off < data.length;) {
      const end = data.indexOf('\n', off);
      if (end < 0) return yield { text: data.slice(off), whole: false, off, len: data.length - off };
      yield { text: data.slice(off, end), whole: true, off, len: end + 1 - off };
      off = end + 1;
    }
  }

  /** Takes off a last line without an end, as a run does that opens the file. */
  cutTorn(name: string): void {
    const last = [...this.lines(name)].at(-1);
    if (last === undefined || last.whole) return;
    const file = this.#file(name);
    file.data = file.data.slice(0, last.off);
    file.synced = Math.min(file.synced, last.off);
  }

  /** A process is killed while it writes: of the last write, some characters are missing. */
  tear(name: string, characters: number): void {
    const file = this.#file(name);
    file.data = file.data.slice(0, Math.max(file.synced, file.data.length - characters));
  }

  /** The machine goes down: of what was not synced, any part can be there. */
  losePower(random: () => number): void {
    for (const file of this.#files.values())
      file.data = file.data.slice(0, file.synced + Math.floor(random() * (file.data.length - file.synced + 1)));
  }
}
