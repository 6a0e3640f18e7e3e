import { randomUUID, randomBytes } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { monotonic, vendorHeaderNames } from '../library/index.ts';
import { checkContentType, checkBodyLength, readRequestBody } from './http/body.ts';
import {
  corsHeaders,
  isPreflight,
  preflightReply,
  type Allowed,
  guard,
  checkCallerKey,
  checkVersionHeader,
} from './http/guard.ts';
import type { GatewayRequest, Handler, KeyForm, LogEntry, GatewayReply, ServedHeaderNames } from './types.ts';
import { findRoute, chooseErrorFormat, type Route, withVersion } from './routes.ts';
import { sendReply } from './http/send.ts';
import { createOfflineHandler, type OfflineOptions } from './offline-handler.ts';
import { toProblem, problemReply } from './problem.ts';
import { listen } from './listen.ts';

/** Options of a gateway. */
export interface AppOptions extends OfflineOptions, Allowed {
  /** The key that callers must send; without one, every caller on this machine is answered. */
  key?: string | undefined;
  /** Real names of the two vendor headers, accepted beside the neutral ones. */
  headerNames?: ServedHeaderNames | undefined;
  /** The handler gets every path and every method. */
  everyPath?: boolean | undefined;
  /** Largest request body, bytes (default 256 MiB). */
  maxBody?: number | undefined;
  log?: ((entry: LogEntry) => void) | undefined;
  /** Answers the requests; the offline models by default. */
  handler?: Handler | undefined;
  /** Monotonic clock, ms. */
  elapsed?: (() => number) | undefined;
}

interface AppSettings extends AppOptions {
  headerNames: ServedHeaderNames;
  maxBody: number;
  handler: Handler;
  elapsed: () => number;
}

/** The local gateway as a `node:http` request listener, not listening yet: all formats, and GET /healthz. */
export function createApp(options: AppOptions = {}): RequestListener {
  const { rules, maxBody = 256 * 2 ** 20, elapsed = monotonic } = options;
  const headerNames = rules ? vendorHeaderNames : (options.headerNames ?? {});
  const { handler = createOfflineHandler(options) } = options;
  const settings: AppSettings = { ...options, headerNames, maxBody, handler, elapsed };
  return (request, response) => void serveRequest(request, response, settings);
}

/** Answers one request. It never throws: a failing handler must not stop the server. */
async function serveRequest(request: IncomingMessage, response: ServerResponse, settings: AppSettings): Promise<void> {
  const started = settings.elapsed();
  const { url = '' } = request;
  const end = url.indexOf('?');
  const path = withVersion(end === -1 ? url : url.slice(0, end));
  const query = new URLSearchParams(end === -1 ? '' : url.slice(end + 1));
  const format = chooseErrorFormat(path, request.headers, settings);
  const requestId = `req_${randomUUID().replaceAll('-', '')}`;
  const left = watchCaller(response);
  let failure: string | undefined;
  const toErrorReply = (error: unknown): GatewayReply => {
    const problem = toProblem(error, format);
    failure = left.aborted ? callerLeft : (failure ?? problem.message);
    return problemReply(problem, format, requestId);
  };
  const incoming = { request, path, query, format, left };
  const reply = await respond(incoming, settings).catch(toErrorReply);
  if (format.idHeader) reply.headers = { [format.idHeader]: requestId, ...reply.headers };
  if (settings.origins) reply.headers = { ...reply.headers, ...corsHeaders(request, settings.origins) };
  const bytes = await sendReply(request, response, reply).catch((error: unknown) => {
    toErrorReply(error);
    response.destroy();
    return 0;
  });
  settings.log?.({
    method: request.method ?? '',
    path,
    status: reply.status,
    model: reply.model,
    durationMs: settings.elapsed() - started,
    bytes,
    note: chooseNote(reply, failure, left.aborted),
  });
}

const callerLeft = 'the caller left';

/** A signal that aborts when the caller leaves before it has the whole reply. */
function watchCaller(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) left.abort();
  });
  return left.signal;
}

/** The note in the log, beside the status. */
function chooseNote({ ending, note }: GatewayReply, failure: string | undefined, isGone: boolean): string | undefined {
  const own = failure ?? ending ?? (isGone ? callerLeft : undefined);
  return note === undefined || own === undefined ? (note ?? own) : `${note}; ${own}`;
}

interface Incoming extends Pick<GatewayRequest, 'path' | 'query' | 'format' | 'left'> {
  request: IncomingMessage;
}

/** Checks host, route, key, version header, content type and declared length, in this order. Throws Problem. */
async function respond(incoming: Incoming, settings: AppSettings): Promise<GatewayReply> {
  const { request, path, query, format, left } = incoming;
  const { headers, method = '' } = request;
  const { maxBody } = settings;
  guard(request, settings);
  if (settings.origins !== undefined && isPreflight(request)) return preflightReply(request);
  const destination = findRoute(method, path, format.name, settings);
  if (destination === 'health')
    return { status: 200, headers: { 'content-type': 'application/json' }, body: '{"status":"ok"}' };
  const { route, pathId } = destination;
  const keyForm = checkCaller({ format, headers, query }, route, settings);
  if (route?.handle) checkContentType(request, ...(route.form ? ['multipart/form-data'] : []), 'application/json');
  checkBodyLength(request, maxBody);
  return settings.handler({
    path,
    query,
    format,
    left,
    route,
    method,
    pathId,
    headers,
    readBody: () => readRequestBody(request, maxBody),
    keyForm,
  });
}

function checkCaller(
  shown: Parameters<typeof checkCallerKey>[0],
  route: Route | undefined,
  settings: AppSettings,
): KeyForm | undefined {
  const keyForm = checkCallerKey(shown, settings);
  if (shown.format.hasVersion && (route?.handle ?? route?.kept)) checkVersionHeader(shown.headers, settings);
  return keyForm;
}

/** Starts the local gateway of `--offline` on an ephemeral loopback port with a key of its own. */
export async function startOffline(
  options: Omit<AppOptions, 'key'> = {},
): Promise<{ url: URL; key: string; close(): Promise<void> }> {
  const key = createKey();
  const { url, close } = await listen(createApp({ varied: true, refuseUnknown: true, ...options, key }));
  // The command is over or aborted when it closes its gateway, so no request is in flight.
  return { url: new URL(url), key, close: () => close(0) };
}

/** A random key for one start of a local gateway; its prefix distinguishes it from a real key. */
export function createKey(): string {
  return `local-${randomBytes(24).toString('base64url')}`;
}
