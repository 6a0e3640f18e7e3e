/** What waits in memory until the reader takes it; past it the sender is told to pause. */
const highWaterBytes = 128 * 1024;

/** Chunks up to this size are worth a copy: what follows costs more a chunk than a byte. */
const smallBytes = 8 * 1024;

interface ChunkQueueOptions {
  /** Longest time the reader waits for a chunk. */
  idleMs: number;
  onIdle: () => void;
  /** The reader has room again. */
  onRoom: () => void;
  /** The reader left before the end. */
  onLeave: () => void;
}

/** Chunks between a socket that pushes and a reader that pulls. What came before a failure is still read. */
export class ChunkQueue implements AsyncIterableIterator<Uint8Array> {
  readonly #options: ChunkQueueOptions;
  #idle: NodeJS.Timeout | undefined;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #over = false;
  #error: unknown;
  #waiting: PromiseWithFunctions | undefined;

  constructor(options: ChunkQueueOptions) {
    this.#options = options;
  }

  /** Takes a chunk; false when the sender should pause. */
  push(chunk: Uint8Array): boolean {
    if (this.#over) return true;
    if (this.#waiting !== undefined) {
      this.#settle()?.resolve({ done: false, value: chunk });
      return true;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    return this.#bytes < highWaterBytes;
  }

  /** Nothing comes any more. With an error the reader gets it after the chunks, or at once and instead of them. */
  end(error?: unknown, { atOnce = false } = {}): void {
    if (this.#over) return;
    this.#over = true;
    this.#error = error;
    clearTimeout(this.#idle);
    if (atOnce) this.#chunks = [];
    const waiting = this.#settle();
    if (error === undefined) waiting?.resolve({ done: true, value: undefined });
    else waiting?.reject(error);
    if (waiting !== undefined) this.#error = undefined;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const value = this.#take();
    if (value !== undefined) {
      this.#bytes -= value.byteLength;
      // Only now: with every pause undici puts the rest of what it read back in front of what came meanwhile, and a reader
      // that takes less at a time than one read from the socket brings would see that grow without end.
      if (this.#bytes === 0 && !this.#over) this.#options.onRoom();
      return Promise.resolve({ done: false, value });
    }
    if (!this.#over) {
      this.#watch();
      return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }));
    }
    const error = this.#error;
    this.#error = undefined;
    return error === undefined ? Promise.resolve({ done: true, value: undefined }) : Promise.reject(error);
  }

  /** Small chunks that wait are taken together: a reader that fell behind catches up. */
  #take(): Uint8Array | undefined {
    const small = this.#chunks.findIndex((chunk) => chunk.byteLength > smallBytes);
    const count = small < 0 ? this.#chunks.length : small;
    return count > 1 ? Buffer.concat(this.#chunks.splice(0, count)) : this.#chunks.shift();
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#over) {
      this.end();
      this.#options.onLeave();
    }
    this.#chunks = [];
    this.#error = undefined;
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The time begins anew. A reply that came whole never waits. */
  #watch(): void {
    if (this.#idle === undefined) this.#idle = setTimeout(() => this.#checkIdle(), this.#options.idleMs).unref();
    else this.#idle.refresh();
  }

  #settle(): PromiseWithFunctions | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }

  #checkIdle(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    // A busy process may be late to see bytes that are there: look at the socket once more.
    setImmediate(() => {
      if (this.#waiting === waiting) this.#options.onIdle();
    });
  }
}

interface PromiseWithFunctions {
  resolve: (result: IteratorResult<Uint8Array>) => void;
  reject: (error: unknown) => void;
}
