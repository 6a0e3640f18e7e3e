import { defaultTimeoutMs } from '../clock.ts';
import { usageError } from '../errors.ts';
import type { SentKey } from '../formats/key-advice.ts';
import { services } from '../services.ts';
import type { Use } from '../transport/auth.ts';
import { defaultRetryPolicy, type RetryPolicy } from '../transport/retry.ts';
import type { Exchange, Transport } from '../transport/types.ts';
import type { AuthForm, CallOptions, ClientOptions } from './client-types.ts';
import { type Answered, openConnections, type SendOptions, sendPost } from './connection.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { addressPost, createTarget, keyHeaders, type PostOrGet, type Target } from './target.ts';

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
      target ??= readKey(options.apiKey).then((key) => ({ ...known, key }));
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

/** `auto` is what the service does of itself. */
function authOf(auth: ClientOptions['auth'] = 'auto', own: AuthForm): Record<'text' | 'image' | 'messages', AuthForm> {
  const given = typeof auth === 'string' ? { text: auth, image: auth, messages: auth } : auth;
  const formOf = (form: AuthForm = 'auto'): AuthForm => (form === 'auto' ? own : form);
  return { text: formOf(given.text), image: formOf(given.image), messages: formOf(given.messages) };
}

async function readKey(apiKey: ClientOptions['apiKey']): Promise<string | undefined> {
  return typeof apiKey === 'function' ? apiKey() : apiKey;
}
