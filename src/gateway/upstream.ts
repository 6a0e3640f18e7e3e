import {
  type Fetch,
  GatewayError,
  getErrorCode,
  getErrorMessage,
  type HttpReply,
  type HttpRequest,
} from '../library/index.ts';
import { Problem } from './problem.ts';
import type { GatewayRequest, Handler, GatewayReply } from './types.ts';
import type { IncomingHttpHeaders } from 'node:http';

/** The address of a request, and the headers that authenticate it there. */
interface UpstreamAddress {
  url: URL;
  /** Lower-case names; they win over the caller's. */
  headers: Readonly<Record<string, string>>;
  /** The part of `headers` that the user set. */
  ownHeaders?: Readonly<Record<string, string>> | undefined;
  /** The header for the key, if the key is added later. */
  keyHeader?: HttpRequest['keyHeader'];
  base?: HttpRequest['base'];
}

/** The payment for one request. */
interface UpstreamPayment {
  /** Awaited right before the request is sent. Throws Problem if it is not paid for. */
  reserve(signal: AbortSignal): Promise<void>;
  /** The reply, whose cost is read while it is passed on. */
  watch(reply: HttpReply): HttpReply;
  /** Called if there is no reply. */
  fail(error: unknown): Promise<void>;
}

/** The upstream gateway for requests, and options for passing them on. */
export interface UpstreamOptions {
  fetch: Fetch;
  address: (request: GatewayRequest) => UpstreamAddress;
  /** Lower-case names of headers that are meant for this gateway, in addition to the usual ones: they are never passed on. */
  localHeaders?: readonly string[] | undefined;
  /** Time limit for the head of a reply, ms (default 10 min). */
  timeoutMs?: number | undefined;
  /** Opens the payment for a request; undefined for a request that costs nothing. Throws Problem for a request that is not passed on. */
  pay?: ((request: GatewayRequest, body: Buffer) => Promise<UpstreamPayment | undefined>) | undefined;
  /** Status of a failure of class usage: 404 if it means that nothing was recorded (default 502). */
  usageStatus?: number | undefined;
}

const defaultTimeoutMs = 600_000;

/**
 * Answers requests by passing them on: the body once it is whole, the reply's status, headers and chunks as they come, with
 * back-pressure, to the ending that they had. A caller that leaves ends the fetch. Throws Problem 502, 503 or 504.
 */
export function createUpstreamHandler(options: UpstreamOptions): Handler {
  return async (request) => {
    const bytes = await request.readBody();
    const payment = await options.pay?.(request, bytes);
    // The timeout covers only the head: a body may take as long as it flows.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error('the time is over')), options.timeoutMs ?? defaultTimeoutMs);
    const signal = AbortSignal.any([request.left, late.signal]);
    try {
      const beforeSend = payment && (() => payment.reserve(signal));
      const reply = await options.fetch(requestTo(request, bytes, options), { signal, beforeSend });
      return passReply(payment?.watch(reply) ?? reply, request);
    } catch (error) {
      await payment?.fail(error);
      if (request.left.aborted) throw error;
      if (late.signal.aborted) throw new Problem(504, 'the upstream gateway did not answer in time', notAgain);
      throw failureProblem(error, options.usageStatus ?? 502);
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Answers requests from recordings; a request that is not recorded is answered with 404. */
export function createReplayHandler(fetch: Fetch): Handler {
  const base = new URL('http://127.0.0.1');
  return createUpstreamHandler({
    // Each reply is a recording: the log need not say so.
    fetch: async (request, call) => ({ ...(await fetch(request, call)), recordedAt: undefined }),
    address: ({ path }) => ({ url: new URL(path, base), headers: {}, base }),
    usageStatus: 404,
  });
}

function requestTo(
  request: GatewayRequest,
  bytes: Buffer,
  { address, localHeaders = [] }: UpstreamOptions,
): HttpRequest {
  const { url, headers, ownHeaders, keyHeader, base } = address(request);
  const parameters = new URLSearchParams(request.query);
  parameters.delete('key');
  return {
    method: request.method,
    url: Object.assign(new URL(url), { search: parameters.toString() }),
    ownHeaders,
    keyHeader,
    base,
    headers: { ...forwardedHeaders(request.headers, localHeaders), ...headers },
    body: { segments: [bytes], bytes: bytes.length },
  };
}

function passReply({ status, headers, body, recordedAt }: HttpReply, request: GatewayRequest): GatewayReply {
  const note = recordedAt === undefined ? undefined : 'from the cache';
  const reply: GatewayReply = {
    status,
    headers: passedHeaders(headers),
    body: passedChunks(),
    model: request.pathId,
    note,
  };
  async function* passedChunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      if (request.left.aborted) throw error;
      // The caller sees the failure upstream: an early end, or a reset.
      reply.ending = getErrorCode(error) === 'ECONNRESET' ? 'reset' : 'cut';
    }
  }
  return reply;
}

/** Clients of all formats retry a 502 or 504 unless this header says no. */
const notAgain = { headers: { 'x-should-retry': 'false' } };

/**
 * The error reply for a fetch without a reply: 503 if nothing was sent and so nothing billed, otherwise 502. If it may have been
 * billed, it says that clients must not retry. An error that is not a GatewayError is our bug, and is returned as it is.
 */
function failureProblem(error: unknown, usageStatus: number): unknown {
  if (!(error instanceof GatewayError)) return error;
  if (error.class === 'usage') return new Problem(usageStatus, getErrorMessage(error), notAgain);
  const again = error.class === 'not-sent' && error.details.retryable !== false;
  const status = error.class === 'not-sent' ? 503 : 502;
  return new Problem(status, `the upstream gateway gave no reply: ${getErrorMessage(error)}`, again ? {} : notAgain);
}

/** Headers of one connection (RFC 9110 7.6.1), and headers that the connection upstream sets itself. */
const connectionHeaders = [
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/**
 * Headers for this gateway alone: keys, a browser's facts about the calling page, and a method override, which could differ from
 * the paid request.
 */
const usualLocalHeaders = [
  'authorization',
  'cookie',
  'forwarded',
  'origin',
  'referer',
  'x-api-key',
  'x-goog-api-key',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-vendor-a-api-key',
  'vendor-b-version',
];

/** Beginnings of the names of headers that are not passed on to the caller: a browser would apply them to this gateway. */
const droppedStarts = [
  'access-control-',
  'alt-svc',
  'clear-site-data',
  'content-security-policy',
  'set-cookie',
  'strict-transport-security',
  'x-content-type-options',
];

/** The caller's headers that go upstream: none of the connection's, none with a key. */
function forwardedHeaders(headers: IncomingHttpHeaders, localHeaders: readonly string[]): Record<string, string> {
  const dropped = new Set([
    ...connectionHeaders,
    ...usualLocalHeaders,
    ...localHeaders,
    ...splitNames(headers.connection),
  ]);
  const kept = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || dropped.has(name) || /^(?:sec-|x-forwarded-)/.test(name)) return [];
    return [[name, Array.isArray(value) ? value.join(', ') : value]];
  });
  return Object.fromEntries(kept);
}

/** The reply's headers that go on to the caller. */
function passedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const dropped = new Set([
    ...connectionHeaders.filter((name) => name !== 'content-length'),
    ...splitNames(headers['connection']),
  ]);
  const kept = Object.entries(headers).filter(
    ([name]) => !dropped.has(name) && !droppedStarts.some((start) => name.startsWith(start)),
  );
  return Object.fromEntries(kept);
}

function splitNames(list: string | undefined): string[] {
  return (list ?? '').split(',').map((name) => name.trim().toLowerCase());
}
