import { GatewayError, usageError } from '../errors.ts';
import type { FailedReply } from '../formats/failure.ts';
import { type Gate, sendWithRetries } from '../transport/retry.ts';
import type { RetryNotice } from '../transport/types.ts';
import { type RetryPolicy, defaultRetryPolicy } from '../transport/retry.ts';
import type { Exchange, HttpReply, HttpRequest, Transport, TransportOptions } from '../transport/types.ts';
import { type Deadline, type Phase, startDeadline } from './deadline.ts';
import { defaultTimeoutMs } from '../clock.ts';
import type { SentKey } from '../formats/key-advice.ts';
import { services } from '../services.ts';
import {
  type Use,
  authHeaders,
  type HeaderNames,
  versionHeaders,
  describeBody,
  segmentBody,
  joinUrl,
  parseBaseUrl,
  requireSafeUrl,
} from '../transport/request.ts';
import type { AuthForm, CallOptions, ClientOptions } from './client-types.ts';
import type { JsonObject } from '../json.ts';
import type { Body } from '../upload.ts';
import { version } from '../version.ts';

/** How a post is sent. */
export interface SendOptions {
  deadline: Deadline;
  policy: RetryPolicy;
  /** Told of every attempt, for `-v`. */
  onRequest?: ((request: HttpRequest) => void) | undefined;
  onReply?: ((reply: HttpReply) => void) | undefined;
  onRetry?: ((notice: RetryNotice) => void) | undefined;
  onSent?: (() => void) | undefined;
  /** Told of the body of a reply that is no success, for `--raw`. */
  onFailedBody?: ((body: Uint8Array) => void) | undefined;
  /** Shared pause of many calls after a 429. */
  gate?: Gate | undefined;
}

/** A reply whose body is still to be read. Errors of reading it are told by the deadline too. */
export interface Answered {
  reply: HttpReply;
  /** Requests that were sent: none where a cache answered. */
  attempts: number;
}

/** Opens connections; the HTTP client is loaded now, not at start-up. Throws GatewayError usage for a proxy that is none, and for a store that cannot be read. */
export async function openConnections(options: TransportOptions): Promise<Transport> {
  const { openTransport } = await import('../transport/transport.ts');
  if (options.systemCa) (await import('../transport/trust.ts')).requireSystemStore();
  return openTransport(options);
}

/** Sends a post, with retries. The reply has a 2xx status; every other end is thrown as a GatewayError. */
export async function sendPost(
  transport: Pick<Transport, 'exchange'>,
  request: HttpRequest,
  options: SendOptions & Pick<Post, 'use' | 'streamsContent'> & Pick<FailedReply, 'sentKey'>,
): Promise<Answered> {
  let phase: Phase = 'unsent';
  const { deadline } = options;
  const name = `${request.method ?? 'POST'} ${request.url.origin}${request.url.pathname}`;
  const exchange: Exchange = async (attempt, { signal, onSent }) => {
    phase = 'unsent';
    options.onRequest?.(attempt);
    const reply = await transport.exchange(attempt, {
      signal,
      onSent() {
        phase = 'sent';
        onSent?.();
        options.onSent?.();
      },
    });
    options.onReply?.(reply);
    return reply;
  };
  try {
    const { reply, attempts } = await sendWithRetries(request, {
      exchange,
      signal: deadline.signal,
      policy: options.policy,
      classify: async (failed) => {
        const { failureOf } = await import('../formats/failure.ts');
        options.onFailedBody?.(failed.bytes);
        const { sentKey, streamsContent } = options;
        const format = formatOf(options.use);
        return failureOf({ ...failed, format, sentKey, streamsContent });
      },
      onRetry: options.onRetry,
      gate: options.gate,
    });
    const { status, headers, body, recordedAt } = reply;
    const explain = (error: unknown) => explainAt(name, error, () => deadline.explain(error, 'reading'));
    const sent = recordedAt === undefined ? attempts : attempts - 1;
    const answer = { status, headers, body: explained(body, explain), recordedAt, request: name };
    return { attempts: sent, reply: answer };
  } catch (error) {
    throw explainAt(name, error, () => deadline.explain(error, phase));
  }
}

/** What the deadline makes of an error says where the request went; an error that stays as it is knows that. */
function explainAt(request: string, error: unknown, explain: () => unknown): unknown {
  const explained = explain();
  return explained !== error && explained instanceof GatewayError ? explained.with({ request }) : explained;
}

/** No generator: every chunk of every reply passes here. */
function explained(
  body: AsyncIterable<Uint8Array>,
  explain: (error: unknown) => unknown,
): AsyncIterableIterator<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  const rethrow = (error: unknown): never => {
    throw explain(error);
  };
  return {
    next: () => source.next().catch(rethrow),
    return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Sends posts to one gateway. */
export interface Sender {
  /** Starts the time of a call: the whole of it is bounded, not its request alone. */
  startDeadline(call: Pick<CallOptions, 'timeoutMs' | 'signal'>): Deadline;
  send(post: PostOrGet, options: PostOptions): Promise<Answered>;
  close(): Promise<void>;
}

/** What one post has of its own; what it leaves out of the policy is as for all, and so is `onRetry`. */
export interface PostOptions extends Pick<SendOptions, 'deadline' | 'onRetry' | 'onSent' | 'onFailedBody' | 'gate'> {
  policy?: Partial<RetryPolicy> | undefined;
  /** Which of several answers to the same request is wanted, from 0. */
  sample?: number | undefined;
}

/** Exchanges below a base URL, and their end. */
export interface Exchanges {
  at(base: URL): Exchange;
  close(): Promise<void>;
}

/** What the commands give a sender, and the library does not offer. */
export interface SenderInternals extends Pick<SendOptions, 'onRequest' | 'onReply'> {
  /** Recordings, or connections that are open already; without them connections are opened at the first post. */
  exchanges?: Exchanges;
}

/** The gateway of a client, its key not read yet. Throws GatewayError usage; oddities that were mended are warnings. */
export function targetOf(options: ClientOptions): ReturnType<typeof createTarget> {
  const service = services[options.service ?? 'gateway'];
  const { baseUrl = service.baseUrl, auth, headerNames, headers = {}, allowHttp = false } = options;
  if (baseUrl === undefined)
    throw usageError('no base URL is set', "give createClient a baseUrl, or a service: 'gemini'");
  return createTarget({
    baseUrl: typeof baseUrl === 'string' ? baseUrl : baseUrl.href,
    key: undefined,
    auth: authOf(auth, service.auth),
    headerNames: {
      apiKey: headerNames?.apiKey ?? service.headerNames.apiKey,
      version: headerNames?.version ?? service.headerNames.version,
    },
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    allowHttp,
  });
}

/** Throws GatewayError usage for a base URL that is none; the key is read at the first post. */
export function createSender(options: ClientOptions, internals: SenderInternals = {}): Sender {
  const { env = {}, systemCa, ca, clientCert, clientKey, timeoutMs = defaultTimeoutMs } = options;
  const proxy = options.proxy === undefined ? undefined : { value: options.proxy, from: 'option proxy' };
  const { exchanges, onRequest, onReply } = internals;
  const known = targetOf(options).target;
  let target: Promise<Target> | undefined;
  let transport: Promise<Transport> | undefined =
    exchanges && Promise.resolve({ exchange: exchanges.at(known.baseUrl), close: () => exchanges.close() });
  const policy: RetryPolicy = {
    retries: options.retries ?? defaultRetryPolicy.retries,
    maxWaitMs: options.retryMaxWaitMs ?? defaultRetryPolicy.maxWaitMs,
    safeOnly: options.retrySafeOnly === true,
  };
  return {
    startDeadline: (call) => startDeadline(call.timeoutMs ?? timeoutMs, call.signal),
    async send(post, own) {
      target ??= withKey(known, options.apiKey);
      transport ??= openConnections({ env, proxy, systemCa, ca, clientCert, clientKey });
      const request = { ...addressPost(await target, post), sample: own.sample };
      return sendPost(await transport, request, {
        ...own,
        use: post.use,
        streamsContent: post.streamsContent,
        sentKey: sentKeyOf(await target, post.use, options.service),
        policy: { ...policy, ...own.policy },
        onRetry: own.onRetry ?? options.onRetry,
        onRequest,
        onReply,
      });
    },
    async close() {
      // Settings that did not work were told by the post: there is nothing to close then.
      await (await transport?.catch(() => undefined))?.close();
    },
  };
}

/** How the key goes out: a refusal is judged by it. */
function sentKeyOf(target: Target, use: Use, service: ClientOptions['service'] = 'gateway'): SentKey {
  const version = target.headerNames.version.toLowerCase();
  const header = Object.keys(keyHeaders(target, use)).find((name) => name !== version);
  return { service, form: target.auth[use], header, version };
}

async function withKey(target: Target, apiKey: ClientOptions['apiKey']): Promise<Target> {
  return { ...target, key: typeof apiKey === 'function' ? await apiKey() : apiKey };
}

/** `auto` is what the service does of itself. */
function authOf(auth: ClientOptions['auth'] = 'auto', own: AuthForm): Record<'text' | 'image' | 'messages', AuthForm> {
  const given = typeof auth === 'string' ? { text: auth, image: auth, messages: auth } : auth;
  const formOf = (form: AuthForm = 'auto'): AuthForm => (form === 'auto' ? own : form);
  return { text: formOf(given.text), image: formOf(given.image), messages: formOf(given.messages) };
}

/** A gateway and how to speak to it. */
export interface Target {
  baseUrl: URL;
  /** Absent: requests go out without a key. */
  key: string | undefined;
  auth: Readonly<Record<Use, AuthForm>>;
  headerNames: HeaderNames;
  /** Further headers of every request, lower-case names. */
  headers: Readonly<Record<string, string>>;
  allowHttp: boolean;
}

/** A request before it is addressed. */
export interface Post {
  /** Below the base URL: `/v1/messages`. */
  path: string;
  /** Behind the path, without its `?`. */
  query?: string | undefined;
  use: Use;
  body: Body;
  accept?: string | undefined;
  /** A stream of the content format, which a gateway need not have. */
  streamsContent?: true | undefined;
}

/** The format of what a use sends and gets. */
export function formatOf(use: Use): 'content' | 'messages' {
  return use === 'messages' ? 'messages' : 'content';
}

/** A post, or without a body a GET. */
export type PostOrGet = Omit<Post, 'body'> & Partial<Pick<Post, 'body'>>;

/** Reads the base URL. Throws GatewayError usage; oddities that were mended are warnings. */
export function createTarget(options: Omit<Target, 'baseUrl'> & { baseUrl: string }): {
  target: Target;
  warnings: string[];
} {
  const { url, warnings } = parseBaseUrl(options.baseUrl);
  return { target: { ...options, baseUrl: url }, warnings };
}

/** The HTTP request of a post or a GET: what `--dry-run` shows and what is sent. Throws GatewayError usage for an unsafe URL. */
export function addressPost(target: Target, post: PostOrGet): HttpRequest {
  requireSafeUrl(target.baseUrl, { allowHttp: target.allowHttp, hasKey: target.key !== undefined });
  const headers = {
    ...(post.body && { 'content-type': 'application/json' }),
    accept: post.accept ?? 'application/json',
    'user-agent': `gateway-cli/${version}`,
  };
  const url = joinUrl(target.baseUrl, post.path);
  url.search = post.query ?? '';
  return {
    method: post.body ? 'POST' : 'GET',
    url,
    ownHeaders: target.headers,
    headers: Object.assign(headers, target.headers, keyHeaders(target, post.use)),
    body: post.body ? segmentBody(post.body) : { segments: [], bytes: 0 },
  };
}

/** The headers that authenticate, and that of the version; without a key the latter alone. */
export function keyHeaders(target: Target, use: Use): Record<string, string> {
  if (target.key === undefined) return versionHeaders(use, target.headerNames);
  return authHeaders({ use, form: target.auth[use], names: target.headerNames, key: target.key });
}

/** The body as a person may read it: Base64 shortened to its length. */
export function describePost(post: Post): JsonObject {
  return describeBody(post.body);
}
