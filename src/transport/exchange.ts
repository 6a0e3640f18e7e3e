import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { plainBody, streamBody } from './body.ts';
import { ChunkQueue } from './chunk-queue.ts';
import type { ConnectionPool, PooledConnection } from './connection-pool.ts';
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
