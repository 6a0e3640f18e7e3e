import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import { badReply, describeRequest, type GatewayError } from '../errors.ts';
import { plainBody, streamBody } from '../body.ts';
import type { ConnectionPool } from './connection.ts';
import { type Proxy, proxyAuthorization, proxyRefused } from './proxy.ts';
import { ConnectionEnd, networkError, type ConnectionPhase } from './network-error.ts';
import type { FetchCall, HttpReply, HttpRequest } from './types.ts';
import { decompress } from './decompress.ts';

type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

interface ExchangeOptions extends FetchCall {
  idleTimeoutMs: number;
  /** The proxy that is asked for the URL, if there is no tunnel through it. */
  proxy: Proxy | undefined;
}

/** Sends one request on an idle connection, as `Fetch` promises. */
export async function startExchange(
  pool: ConnectionPool,
  request: HttpRequest,
  options: ExchangeOptions,
): Promise<HttpReply> {
  const { url } = request;
  const { proxy } = options;
  options.signal.throwIfAborted();
  const { origin } = url;
  const connection = pool.acquire(origin);
  const { method, headers, body } = toDispatchContent(request);
  const authorization = proxy && proxyAuthorization(proxy.url);
  const reply = await new Promise<HttpReply>((resolve, reject) => {
    connection.dispatch(
      {
        origin,
        path: (proxy ? origin : '') + url.pathname + url.search,
        method,
        headers: authorization === undefined ? headers : { ...headers, 'proxy-authorization': authorization },
        body,
        // The time is limited here: undici's timers are coarse and ignore the command's deadline.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      new ExchangeHandler(request, options, {
        resolve,
        reject,
        release: () => pool.release(origin, connection),
        discard: () => pool.discard(origin, connection),
      }),
    );
  });
  const encoding = reply.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (options.acceptsAnyHead || encoding === '' || encoding === 'identity') return reply;
  return decompress(reply, encoding, describeRequest(request));
}

/** Method, headers and body; only a request that needs no body by its method is sent without a length. */
function toDispatchContent({
  method = 'POST',
  headers,
  body,
}: HttpRequest): Required<Pick<Dispatcher.DispatchOptions, 'method' | 'headers' | 'body'>> {
  const sent = { ...headers, 'accept-encoding': 'identity' };
  if (body.bytes === 0 && ['GET', 'HEAD', 'DELETE', 'OPTIONS'].includes(method))
    return { method, headers: sent, body: null };
  return {
    method,
    headers: { ...sent, 'content-length': String(body.bytes) },
    // undici accepts any iterable, though its type omits it; wrapping it in a Readable would add a step to every chunk.
    body: (plainBody(body) ?? streamBody(body)) as Uint8Array,
  };
}

/** Settles the promise of the reply, and gives back the connection on which it arrives. */
interface Caller {
  release: () => void;
  discard: () => void;
  resolve: (reply: HttpReply) => void;
  reject: (error: unknown) => void;
}

/** One exchange in flight. undici calls `onRequestStart` right before it writes the head: from then on it counts as sent. */
class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest;
  readonly #options: ExchangeOptions;
  readonly #caller: Caller;
  readonly #onAbort = (): void => this.#stop(this.#options.signal.reason, { atOnce: true });
  #phase: ConnectionPhase = 'connecting';
  #over = false;
  #controller: Controller | undefined;
  #queue: ChunkQueue | undefined;

  constructor(request: HttpRequest, options: ExchangeOptions, caller: Caller) {
    this.#request = request;
    this.#options = options;
    this.#caller = caller;
    // A batch has one signal for many requests: Node would warn of a leak from the eleventh on.
    setMaxListeners(0, options.signal);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Controller): void {
    if (this.#over) return controller.abort(new ConnectionEnd('given up'));
    this.#controller = controller;
    this.#phase = 'waiting';
    this.#options.onSent?.();
  }

  onResponseStart(controller: Controller, status: number, rawHeaders: Headers): void {
    // 1xx: the final head is still to come.
    if (status < 200) return;
    const headers = joinHeaders(rawHeaders);
    const { proxy } = this.#options;
    if (status === 407 && proxy) return this.#stop(proxyRefused(proxy, status, this.#request.url));
    const isRedirect = status >= 300 && status < 400 && !this.#options.acceptsAnyHead;
    if (isRedirect) return this.#stop(redirectError(status, headers, this.#request.url));
    this.#phase = 'body';
    const { idleTimeoutMs } = this.#options;
    const queue = new ChunkQueue({
      idleMs: idleTimeoutMs,
      onIdle: () => this.#stop(new ConnectionEnd(`nothing came for ${idleTimeoutMs / 1000} s`)),
      onRoom: () => controller.resume(),
      onReturn: () => this.#stop(new ConnectionEnd('the reader left')),
    });
    this.#queue = queue;
    this.#caller.resolve({ status, headers, body: queue });
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#queue?.push(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    this.#caller.release();
    this.#queue?.end();
    this.#release();
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#caller.discard();
    this.#stop(error);
  }

  #release(): void {
    this.#over = true;
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }

  #stop(reason: unknown, { atOnce = false } = {}): void {
    this.#release();
    // The caller has aborted only if our own signal says so: undici uses the same error names when a proxy refuses.
    const error = this.#options.signal.aborted ? (this.#options.signal.reason as unknown) : this.#explain(reason);
    if (this.#queue === undefined) this.#caller.reject(error);
    else this.#queue.end(error, { atOnce });
    this.#controller?.abort(reason instanceof Error ? reason : new ConnectionEnd('aborted'));
  }

  #explain(reason: unknown): GatewayError {
    const request = describeRequest(this.#request);
    return networkError(reason, this.#phase, this.#request.url.host).withDefaults({ request });
  }
}

/** The body of a redirect is not read: it would send key and prompt elsewhere. */
function redirectError(status: number, headers: Readonly<Record<string, string>>, url: URL): GatewayError {
  const message = `the gateway redirects (${status})${redirectTarget(headers['location'], url)}`;
  return badReply(message, { status, reason: 'redirect', billed: 'unknown' });
}

/** The origin of a redirect. The rest is left out: paths and queries of redirects contain tokens. */
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

/** Bytes that may wait in memory for the reader; above it the sender has to pause. */
const highWaterBytes = 128 * 1024;

interface ChunkQueueOptions {
  /** Longest time that the reader waits for a chunk. */
  idleMs: number;
  onIdle: () => void;
  /** The sender may resume. */
  onRoom: () => void;
  /** The reader stopped before the end. */
  onReturn: () => void;
}

/** Chunks between a socket that pushes and a reader that pulls. Chunks that arrived before a failure are still read. */
export class ChunkQueue implements AsyncIterableIterator<Uint8Array> {
  readonly #options: ChunkQueueOptions;
  #idle: NodeJS.Timeout | undefined;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isOver = false;
  #error: unknown;
  /** Wakes the waiting reader. */
  #wake: (() => void) | undefined;

  constructor(options: ChunkQueueOptions) {
    this.#options = options;
  }

  /** Adds a chunk; false if the sender has to pause. */
  push(chunk: Uint8Array): boolean {
    if (this.#isOver) return true;
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    this.#wake?.();
    return this.#bytes < highWaterBytes;
  }

  /** Ends the queue: no more chunks follow. The reader gets an error after the waiting chunks, or with `atOnce` instead of them. */
  end(error?: unknown, { atOnce = false } = {}): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    clearTimeout(this.#idle);
    if (atOnce) this.#chunks = [];
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#chunks.length === 0 && !this.#isOver) await this.#nextChunk();
    if (this.#chunks.length > 0) return { done: false, value: this.#takeAll() };
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
    return { done: true, value: undefined };
  }

  /** Takes all waiting chunks as one, so that a slow reader catches up. */
  #takeAll(): Uint8Array {
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
    if (isEarly) this.#options.onReturn();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Waits for a chunk, with a new idle time. A reply that arrived whole never waits. */
  #nextChunk(): Promise<void> {
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
    // A busy process may not have read bytes that already arrived: check the socket once more.
    setImmediate(() => {
      if (this.#wake === waiting) this.#options.onIdle();
    });
  }
}
