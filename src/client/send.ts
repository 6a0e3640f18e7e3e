import type { StreamDelta } from '../formats/events.ts';
import { byAuthUse, loadFormat, type Post, type PostOrGet } from '../formats/format.ts';
import { addressPost, createTarget, keyHeaders, type Target } from '../transport/request.ts';
import { type Deadline, endOf, type Phase, startDeadline } from './deadline.ts';
import { readDeltas, type ReadOptions } from './read-reply.ts';
import type { Answer } from './result.ts';
import { GatewayError, type RetryNotice, usageError } from '../errors.ts';
import { type FailedReply, failureOf } from '../formats/failure.ts';
import type { Gate } from '../transport/gate.ts';
import { defaultRetryPolicy, type RetryPolicy, sendWithRetries } from '../transport/retry.ts';
import type { Exchange, HttpReply, HttpRequest, Transport, TransportOptions } from '../transport/types.ts';
import { defaultTimeoutMs } from '../clock.ts';
import type { SentKey } from '../formats/key-advice.ts';
import { type AuthForm, services } from '../services.ts';
import type { CallOptions, ClientOptions } from './client-types.ts';
import type { AuthUse } from '../formats/types.ts';

/** One request to a model. */
export interface Operation {
  post: Post;
  model: string;
  /** Candidates that are asked for; 1 by default. */
  candidates?: number | undefined;
}

/** The outcome of an operation. */
export interface Performed extends Answer {
  /** Requests that were sent: none if a cache answered. */
  attempts: number;
  /** A recording answered. */
  isRecorded: boolean;
}

/** One request that is paid from a budget. */
export interface Payment {
  /** Reserves what it can cost, once; awaited right before the request is sent. Throws GatewayError over-budget if that is too much. */
  reserve(signal: AbortSignal): Promise<void>;
  /** An attempt failed, and another one follows. */
  retry(error: GatewayError): void;
  /** Writes down what it cost, once. A failure is a warning: the request counts with what was reserved. */
  end(end: PaidEnd, signal?: AbortSignal): Promise<void>;
  /** It is not sent after all. Does nothing after `end`. */
  cancel(): Promise<void>;
}

/** How a request that is paid from a budget ended: with an answer or an error; with neither if its reader stopped. */
export interface PaidEnd {
  answer?: Performed;
  error?: unknown;
}

/** Sends operations, and pays for them if there is a budget. */
export interface PayingSender extends Pick<Sender, 'send'> {
  pay?: ((operation: Pick<Operation, 'post' | 'model'>) => Payment) | undefined;
}

/** How an operation is sent, and where its pictures go. */
interface PerformOptions extends PostOptions, Omit<ReadOptions, 'model' | 'candidates'> {
  /** Waited for between the head of the reply and its body. */
  beforeRead?: ((answered: Answered) => Promise<void> | void) | false | undefined;
}

/**
 * Sends a request, pays for it and reads its reply: every request goes this way. Yields the deltas of one arriving chunk together.
 * An answer that was cut, or came with an error, is returned with that error; throws GatewayError if nothing came.
 */
export async function* perform(
  { post, model, candidates }: Operation,
  sender: PayingSender,
  options: PerformOptions,
): AsyncGenerator<StreamDelta[], Performed> {
  const { deadline, beforeRead, payment = sender.pay?.({ post, model }) } = options;
  let end: PaidEnd = {};
  try {
    const answered = await sender.send(post, { ...options, payment });
    if (beforeRead) await beforeRead(answered);
    const { reply, attempts } = answered;
    const reading = { endOf: () => endOf(deadline), ...options, model, candidates };
    const read = yield* readDeltas(reply, reading, await loadFormat(post.format));
    const answer = { ...read, attempts, isRecorded: reply.recordedAt !== undefined };
    end = { answer };
    return answer;
  } catch (error) {
    end = { error };
    throw error;
  } finally {
    await payment?.end(end, deadline.signal);
  }
}

/** Options of one post. */
export interface PostOptions {
  deadline: Deadline;
  /** Overrides parts of the sender's policy. */
  policy?: Partial<RetryPolicy> | undefined;
  /** Replaces the sender's own. */
  onRetry?: ((notice: RetryNotice) => void) | undefined;
  onSent?: (() => void) | undefined;
  /** Called with the body of a failed reply, for `--raw`. */
  onFailedBody?: ((body: Uint8Array) => void) | undefined;
  /** Shared pause of many calls after a 429. */
  gate?: Gate | undefined;
  payment?: Payment | undefined;
  /** Which of several answers to the same request is wanted, from 0. */
  sample?: number | undefined;
}

/** What the commands give a sender, and the library does not offer. */
interface SenderInternals {
  /** Recordings, or connections that are open already; without them connections are opened at the first post. */
  exchanges?: Exchanges;
  /** Called at every attempt, for `-v`. */
  onRequest?: ((request: HttpRequest) => void) | undefined;
  onReply?: ((reply: HttpReply) => void) | undefined;
}

/** Exchanges below a base URL, and their end. */
export interface Exchanges {
  at(base: URL): Exchange;
  close(): Promise<void>;
}

/** A reply whose body is still to be read. The deadline explains errors of reading it, too. */
export interface Answered {
  reply: HttpReply;
  /** Requests that were sent: none if a cache answered. */
  attempts: number;
}

/** Opens connections; the HTTP client is loaded now, not at start-up. Throws GatewayError usage for an invalid proxy, and for a store of certificates that cannot be read. */
export async function openConnections(options: TransportOptions): Promise<Transport> {
  const { openTransport } = await import('../transport/transport.ts');
  if (options.systemCa) (await import('../transport/trust.ts')).requireSystemStore();
  return openTransport(options);
}

type SendOptions = PostOptions &
  Omit<SenderInternals, 'exchanges'> &
  Pick<FailedReply, 'format' | 'streamsContent' | 'sentKey'> & { policy: RetryPolicy };

/** Sends a post, with retries. The reply has a 2xx status; every other end is thrown as a GatewayError. */
export async function sendPost(
  transport: Pick<Transport, 'exchange'>,
  request: HttpRequest,
  options: SendOptions,
): Promise<Answered> {
  const { deadline, policy, gate, payment, format, streamsContent, sentKey } = options;
  let phase: Phase = 'unsent';
  let sent = 0;
  const name = `${request.method ?? 'POST'} ${request.url.origin}${request.url.pathname}`;
  const explain = (error: unknown, at: Phase) => {
    const explained = deadline.explain(error, at);
    // An error that stays as it is knows where the request went.
    return explained !== error && explained instanceof GatewayError
      ? explained.withDefaults({ request: name })
      : explained;
  };
  const exchange: Exchange = async (attempt, { signal, onSent }) => {
    phase = 'unsent';
    options.onRequest?.(attempt);
    const reply = await transport.exchange(attempt, {
      signal,
      beforeSend: payment && (() => payment.reserve(signal)),
      onSent() {
        phase = 'sent';
        sent++;
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
      policy,
      async classify(failed) {
        options.onFailedBody?.(failed.bytes);
        return failureOf({ ...failed, format, sentKey, streamsContent });
      },
      onRetry(notice) {
        payment?.retry(notice.error);
        options.onRetry?.(notice);
      },
      gate,
    });
    const { status, headers, recordedAt } = reply;
    const body = withExplainedErrors(reply.body, (error) => explain(error, 'reading'));
    return {
      attempts: recordedAt === undefined ? attempts : attempts - 1,
      reply: { status, headers, body, recordedAt, request: name },
    };
  } catch (error) {
    const explained = explain(error, phase);
    throw explained instanceof GatewayError ? explained.withDefaults({ attempts: sent }) : explained;
  }
}

/** A body whose errors are explained. Not a generator, which is slower: every chunk of every reply passes here. */
function withExplainedErrors(
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
  /** Starts the time limit of a call, which holds for all of it and not only for its request. */
  startDeadline(call: Pick<CallOptions, 'timeoutMs' | 'signal'>): Deadline;
  send(post: PostOrGet, options: PostOptions): Promise<Answered>;
  close(): Promise<void>;
}

/** The gateway of a client, before its key is read. Throws GatewayError usage. Corrections of its URL are warnings. */
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

/** Throws GatewayError usage for an invalid base URL; the key is read at the first post. */
export function createSender(options: ClientOptions, internals: SenderInternals = {}): Sender {
  const { env = {}, systemCa, ca, clientCert, clientKey, timeoutMs = defaultTimeoutMs } = options;
  const proxy = options.proxy === undefined ? undefined : { value: options.proxy, from: 'option proxy' };
  const { exchanges, onRequest, onReply } = internals;
  const known = targetOf(options).target;
  const readKey = async () => (typeof options.apiKey === 'function' ? options.apiKey() : options.apiKey);
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
      // What failed once, such as a key store that was locked, is tried again by the next request.
      target ??= forgetIfItFails(
        readKey().then((key) => ({ ...known, key })),
        () => (target = undefined),
      );
      transport ??= forgetIfItFails(
        openConnections({ env, proxy, systemCa, ca, clientCert, clientKey }),
        () => (transport = undefined),
      );
      const request = { ...addressPost(await target, post), sample: own.sample };
      return sendPost(await transport, request, {
        ...own,
        format: post.format,
        streamsContent: post.streamsContent,
        sentKey: sentKeyOf(await target, post.use, options.service),
        policy: { ...policy, ...own.policy },
        onRetry: own.onRetry ?? options.onRetry,
        onRequest,
        onReply,
      });
    },
    async close() {
      // The post has thrown for settings that cannot be used: there is nothing to close then.
      await (await transport?.catch(() => undefined))?.close();
    },
  };
}

function forgetIfItFails<T>(work: Promise<T>, forget: () => void): Promise<T> {
  work.catch(forget);
  return work;
}

/** How the key is sent, by which a refusal is explained. */
function sentKeyOf(target: Target, use: AuthUse, service: ClientOptions['service'] = 'gateway'): SentKey {
  const version = target.headerNames.version.toLowerCase();
  const header = Object.keys(keyHeaders(target, use)).find((name) => name !== version);
  const { baseUrl } = services[service];
  const isElsewhere = baseUrl !== undefined && new URL(baseUrl).origin !== target.baseUrl.origin;
  return { service, form: target.auth[use], header, version, ...(isElsewhere && { isElsewhere }) };
}

/** `auto` is the form that the service uses. */
function authOf(auth: ClientOptions['auth'] = 'auto', own: AuthForm): Record<AuthUse, AuthForm> {
  return byAuthUse((use) => {
    const { [use]: form = 'auto' } = typeof auth === 'string' ? { [use]: auth } : auth;
    return form === 'auto' ? own : form;
  });
}
