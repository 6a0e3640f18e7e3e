/** What waits in memory until the reader takes it; past it the sender is told to pause. */
const highWaterBytes = 128 * 1024;

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
  #isOver = false;
  #error: unknown;
  /** Tells the waiting reader that something came. */
  #wake: (() => void) | undefined;

  constructor(options: ChunkQueueOptions) {
    this.#options = options;
  }

  /** Takes a chunk; false when the sender should pause. */
  push(chunk: Uint8Array): boolean {
    if (this.#isOver) return true;
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    this.#wake?.();
    return this.#bytes < highWaterBytes;
  }

  /** Nothing comes any more. With an error the reader gets it after the chunks, or at once and instead of them. */
  end(error?: unknown, { atOnce = false } = {}): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    clearTimeout(this.#idle);
    if (atOnce) this.#chunks = [];
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#chunks.length === 0 && !this.#isOver) await this.#arrival();
    if (this.#chunks.length > 0) return { done: false, value: this.#take() };
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
    return { done: true, value: undefined };
  }

  /** All that waits: a reader that fell behind catches up. */
  #take(): Uint8Array {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#bytes = 0;
    if (!this.#isOver) this.#options.onRoom();
    return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    const isEarly = !this.#isOver;
    this.end();
    this.#chunks = [];
    this.#error = undefined;
    if (isEarly) this.#options.onLeave();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The time of a silence begins anew. A reply that came whole never waits. */
  #arrival(): Promise<void> {
    if (this.#idle === undefined) this.#idle = setTimeout(() => this.#checkIdle(), this.#options.idleMs).unref();
    else this.#idle.refresh();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  #checkIdle(): void {
    const waiting = this.#wake;
    if (waiting === undefined) return;
    // A busy process may be late to see bytes that are there: look at the socket once more.
    setImmediate(() => {
      if (this.#wake === waiting) this.#options.onIdle();
    });
  }
}
