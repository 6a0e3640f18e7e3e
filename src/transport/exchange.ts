import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { plainBody, streamBody } from './request.ts';
import type { ConnectionPool, PooledConnection } from './transport.ts';
import { ConnectionEnd, networkError, type Phase } from './network-error.ts';
import type { ExchangeOptions, HttpReply, HttpRequest } from './types.ts';

type Content = Pick<Dispatcher.DispatchOptions, 'method' | 'headers' | 'body'>;
type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** Sends one request on a connection that is free: see `Exchange` in types.ts. */
export async function startExchange(
  pool: ConnectionPool,
  request: HttpRequest,
  options: ExchangeOptions & { idleTimeoutMs: number },
): Promise<HttpReply> {
  const { url } = request;
  options.signal.throwIfAborted();
  const connection = pool.acquire(url.origin);
  return new Promise((resolve, reject) => {
    connection.client.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        ...contentOf(request),
        // Time is kept here: undici's own timers are coarse, and know nothing of the command's deadline.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      new Running(request, options, { resolve, reject, connection }),
    );
  });
}

/** Method, headers and body; only what has none by its method goes out without a length. */
function contentOf({ method = 'POST', headers, body }: HttpRequest): Content {
  const sent = { ...headers, 'accept-encoding': 'identity' };
  if (body.bytes === 0 && ['GET', 'HEAD', 'DELETE', 'OPTIONS'].includes(method))
    return { method, headers: sent, body: null };
  return {
    method,
    headers: { ...sent, 'content-length': String(body.bytes) },
    // undici takes any iterable, which its type does not say; a Readable around it would copy every chunk's way.
    body: (body.arriving ?? plainBody(body) ?? streamBody(body)) as Uint8Array,
  };
}

/** Who waits for the reply, and the connection on which it comes. */
interface Caller {
  connection: PooledConnection;
  resolve: (reply: HttpReply) => void;
  reject: (error: unknown) => void;
}

/** One exchange under way. undici calls `onRequestStart` right before it writes the head: from there on it counts as sent. */
class Running implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest;
  readonly #options: ExchangeOptions & { idleTimeoutMs: number };
  readonly #caller: Caller;
  readonly #onAbort = (): void => this.#stop(this.#options.signal.reason, { atOnce: true });
  #phase: Phase = 'connecting';
  #over = false;
  #controller: Controller | undefined;
  #queue: ChunkQueue | undefined;

  constructor(request: HttpRequest, options: ExchangeOptions & { idleTimeoutMs: number }, caller: Caller) {
    this.#request = request;
    this.#options = options;
    this.#caller = caller;
    // A batch has one signal and many requests: Node would warn of a leak from the eleventh on.
    setMaxListeners(0, options.signal);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Controller): void {
    if (this.#over) return controller.abort(new ConnectionEnd('given up'));
    this.#controller = controller;
    this.#phase = 'waiting';
    this.#caller.connection.markBusy();
    this.#options.onSent?.();
  }

  onResponseStart(controller: Controller, status: number, rawHeaders: Headers): void {
    // 1xx: the head proper is still to come.
    if (status < 200) return;
    const headers = joinHeaders(rawHeaders);
    const refusal = this.#options.acceptsAnyHead ? undefined : checkHead(status, headers, this.#request.url);
    if (refusal !== undefined) return this.#stop(refusal);
    this.#phase = 'body';
    const { idleTimeoutMs } = this.#options;
    const queue = new ChunkQueue({
      idleMs: idleTimeoutMs,
      onIdle: () => this.#stop(new ConnectionEnd(`nothing came for ${idleTimeoutMs / 1000} s`)),
      onRoom: () => controller.resume(),
      onLeave: () => this.#stop(new ConnectionEnd('the reader left')),
    });
    this.#queue = queue;
    this.#caller.resolve({ status, headers, body: queue });
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#queue?.push(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    this.#caller.connection.release();
    this.#queue?.end();
    this.#release();
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#caller.connection.discard();
    this.#stop(error);
  }

  #release(): void {
    this.#over = true;
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }

  #stop(reason: unknown, { atOnce = false } = {}): void {
    this.#release();
    // Who aborted is told by our own signal: undici gives the same names to a proxy's refusal.
    const error = this.#options.signal.aborted ? (this.#options.signal.reason as unknown) : this.#explain(reason);
    if (this.#queue === undefined) this.#caller.reject(error);
    else this.#queue.end(error, { atOnce });
    this.#controller?.abort(reason instanceof Error ? reason : new ConnectionEnd('aborted'));
  }

  #explain(reason: unknown): GatewayError {
    const { method = 'POST', url } = this.#request;
    return networkError(reason, this.#phase, url.host).with({ request: `${method} ${url.origin}${url.pathname}` });
  }
}

/** Why a reply must not be read on: a redirect would carry key and prompt away, a coding was not asked for. */
export function checkHead(
  status: number,
  headers: Readonly<Record<string, string>>,
  url: URL,
): GatewayError | undefined {
  if (status >= 300 && status < 400) {
    return new GatewayError(
      'bad-reply',
      `the gateway redirects (${status})${redirectTarget(headers['location'], url)}`,
      {
        hint: 'redirects are not followed: set the base URL to where the gateway really is',
        status,
        sent: 'yes',
        billed: 'unknown',
        retryable: false,
      },
    );
  }
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return undefined;
  return new GatewayError(
    'bad-reply',
    `the reply is encoded as ${coding.slice(0, 40)}, although the request accepts no encoding`,
    {
      hint: 'the gateway, or a proxy before it, compresses though Accept-Encoding: identity is sent: switch that off there',
      status,
      sent: 'yes',
      retryable: false,
    },
  );
}

/** Only the origin: paths and queries of redirects hold tokens. */
function redirectTarget(location: string | undefined, base: URL): string {
  if (location === undefined || !URL.canParse(location, base.href)) return '';
  const target = new URL(location, base);
  return target.origin === 'null' ? ` to a ${target.protocol} URL` : ` to ${target.origin}`;
}

function joinHeaders(headers: Headers): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) joined[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return joined;
}

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
