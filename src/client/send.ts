import { monotonic } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import type { StreamDelta } from '../formats/events.ts';
import { readFailedReply } from '../formats/failure.ts';
import {
  loadFormat,
  type ApiRequest,
  type AnyApiRequest,
  type Format,
  getAskedModel,
  type RequestLimits,
} from '../formats/format.ts';
import type { Gate } from '../transport/gate.ts';
import { defaultRetryPolicy, sendWithRetries } from '../transport/retry.ts';
import type { Answered, Fetch, RetryPolicy } from '../transport/types.ts';
import type { BlobStore } from '../images/types.ts';
import type { CallOptions } from './client-types.ts';
import type { GatewayClient, GatewayClientOptions } from './gateway-client.ts';
import {
  type AnsweredHop,
  type AskHop,
  askInHops,
  type ContinuationOptions,
  holdEnding,
  type Hop,
} from './continuation.ts';
import { type Deadline, checkEnd } from './deadline.ts';
import type { CallEvent, Listener } from './events.ts';
import { addressRequest, type Endpoint, describeSentKey } from './endpoint.ts';
import type { PaidEnd, Payment, Payments } from './payment.ts';
import { createMemoryStore } from '../images/store.ts';
import { readDeltas, type ReadOptions } from './read-reply.ts';
import type { Answer, InsteadOf, Result } from './result.ts';
import type { ServiceName, Use } from '../vendors/services.ts';
import { describeCutPrompt } from './cut-prompt.ts';

/** One request to a model, ready to be shown, counted, estimated or sent. */
export interface PreparedRequest {
  /** The API request: it has a body, and so goes out by POST. */
  post: ApiRequest;
  model: string;
  /** Number of requested candidates; 1 by default. */
  candidates?: number | undefined;
  /** The use for which the service has this model as its default; absent if somebody named it. */
  defaultFor?: Use | undefined;
  /** The model that is asked once if this one refuses and nothing was billed: with 429, 503 or 529 after the retries, or if it is gone. */
  fallback?: string | undefined;
  /** The model that should have been asked. */
  insteadOf?: InsteadOf | undefined;
}

/** The answer that a client gives. */
export interface Performed extends Answer {
  /** The request that was answered, as it was sent: after a refusal its model, its format or a part of it can be another. */
  request: PreparedRequest;
  /** Requests that were sent: none if a cache answered. */
  attempts: number;
  /** A recording answered. */
  isRecorded: boolean;
  /** The requests of an answer that took several, for its cost. */
  hops?: readonly Hop[];
}

/** The options for sending a request, and the place of its images. */
export interface AskOptions
  extends PayOptions, ContinuationOptions, Pick<ReadOptions, 'endOf' | 'mostImages' | 'joined' | 'patience'> {
  /** The place of the images; memory by default. */
  store?: BlobStore | undefined;
}

interface Asking {
  deadline: Deadline;
  service: ServiceName;
}

/** The members of a client that are needed to ask. */
type AskingClient = Pick<GatewayClient, 'sendPaid' | 'models' | 'onEvent'>;

/**
 * Sends a request, pays for it and reads its reply: every request to a model whose reply is read goes this way. If the service
 * ends the answer in the middle, the requests for the rest go the same way. Yields the deltas of one arriving chunk together. An
 * answer that was cut, or came with an error, is returned with that error; throws GatewayError if nothing came.
 */
export async function* ask(
  request: PreparedRequest,
  client: AskingClient,
  options: AskOptions & Asking,
): AsyncGenerator<StreamDelta[], Performed> {
  const started = monotonic();
  const { store = createMemoryStore(), onEvent = client.onEvent } = options;
  const askOne: AskHop = (hop, listener) => askHop(hop, client, { ...options, store, onEvent: listener });
  const answer = yield* askInHops(request, askOne, { ...options, onEvent });
  const { attempts, result } = answer;
  return { ...answer, result: { ...result, attempts, durationMs: Math.round(monotonic() - started) } };
}

async function* askHop(
  prepared: PreparedRequest,
  client: AskingClient,
  options: AskOptions & Asking & { store: BlobStore },
): AsyncGenerator<StreamDelta[], AnsweredHop> {
  const { deadline, endOf = () => checkEnd(deadline), mostImages, joined, patience, store } = options;
  const { reply, attempts, request, payment } = await client.sendPaid(prepared, options);
  let end: PaidEnd = {};
  try {
    const { post, insteadOf } = request;
    const format = await loadFormat(post.format);
    const reading = { ...describeRequest(request, format), endOf, mostImages, joined, patience, store };
    const { answer: read, ending } = yield* holdEnding(readDeltas(reply, reading, format));
    const isRecorded = reply.recordedAt !== undefined;
    const came = read.result;
    const modelEnds = isRecorded ? came.modelEnds : await client.models.tellEnd(came);
    const passed = describePassedLimit(came, format.limits(post.body));
    const cut = describeCutPrompt(post, came.usage?.inputTokens, options.service);
    const warnings = [...came.warnings, passed, cut].filter((text) => text !== undefined);
    const result = { ...came, ...(insteadOf && { insteadOf }), ...(modelEnds && { modelEnds }), warnings };
    const answer = { ...read, result, request, attempts, isRecorded };
    end = { answer };
    return { answer, ending };
  } catch (error) {
    end = { error };
    throw error;
  } finally {
    await payment?.end(end, deadline.signal);
  }
}

/** The facts of a request by which its reply is read. */
export function describeRequest(
  { post, model, candidates }: PreparedRequest,
  { toolNames }: Pick<Format, 'toolNames'>,
): Pick<ReadOptions, 'model' | 'candidates' | 'keepThink' | 'offered' | 'asked'> {
  return { model, candidates, keepThink: post.keepThink, offered: toolNames(post.body), asked: post.body };
}

/**
 * The warning about an answer that is longer than its limit of tokens: a service that knows the limit only by another name ignores
 * it, and the cost is then not limited.
 */
function describePassedLimit({ usage, images }: Result, { maxTokens, candidates }: RequestLimits): string | undefined {
  const { outputTokens = 0 } = usage ?? {};
  // Some services count the tokens of thinking apart.
  if (maxTokens === undefined || images.length > 0 || outputTokens <= 2 * maxTokens * candidates) return undefined;
  return `the service did not keep the limit of ${maxTokens} tokens: the answer has ${outputTokens}`;
}

/** A request and its reply, whose body is still to be read. */
export interface Exchange extends Answered {
  /** The request as it was sent: after a refusal it can differ from the one that was given. */
  readonly request: AnyApiRequest;
}

/** A request to a model, and its payment. Another model that is asked in its place has a payment of its own. */
export interface PaidRequest {
  readonly request: PreparedRequest;
  /** Absent if the request costs nothing. */
  readonly payment: Payment | undefined;
}

/** A paid request as it was sent, and its reply. Who reads the reply ends the payment. */
export interface PaidExchange extends Answered, PaidRequest {}

/** Options of one request. */
export interface SendOptions extends Pick<CallOptions, 'signal' | 'timeoutMs'> {
  /** The deadline of several steps, in place of `signal` and `timeoutMs`. */
  deadline?: Deadline | undefined;
  /** Overrides parts of the client's policy. */
  policy?: Partial<RetryPolicy> | undefined;
  /** Gets the events of the request, in place of the client's own listener. */
  onEvent?: Listener<CallEvent> | undefined;
  /** Shared pause of many calls after a 429. */
  gate?: Gate | undefined;
  /** Number of the wanted answer among several answers to the same request, from 0. */
  sample?: number | undefined;
}

/** Options of one request that is paid for. */
export interface PayOptions extends SendOptions {
  /** The payments for the requests of the answer, in place of those of the client. */
  payments?: Payments | undefined;
}

/** The parts that all requests of a client share. */
export interface Sending {
  endpoint: Endpoint;
  fetch: Fetch;
  options: Pick<GatewayClientOptions, 'retries' | 'retryMaxWaitMs' | 'retrySafeOnly' | 'busyRetries' | 'onEvent'>;
}

/** Sends a request, with retries. The reply has a 2xx status; every other end is thrown as a GatewayError. */
export async function sendRequest(
  apiRequest: AnyApiRequest,
  own: SendOptions & { deadline: Deadline; payment?: Payment | undefined },
  sending: Sending,
): Promise<Answered> {
  const { endpoint, fetch, options } = sending;
  const { deadline, payment, onEvent = options.onEvent } = own;
  const { format, use, streamsContent } = apiRequest;
  const request = addressRequest(endpoint, apiRequest, own.sample);
  const name = `${request.method ?? 'POST'} ${request.url.origin}${request.url.pathname}`;
  const explainFailure = (error: unknown, phase: Parameters<Deadline['explain']>[1]) => {
    const explained = deadline.explain(error, phase);
    // An error that stays unchanged has the destination of the request.
    return explained !== error && explained instanceof GatewayError
      ? explained.withDefaults({ request: name })
      : explained;
  };
  const { reply, attempts } = await sendWithRetries(request, {
    fetch,
    signal: deadline.signal,
    policy: toRetryPolicy(options, own.policy),
    gate: own.gate,
    reserve: payment && ((signal) => payment.reserve(signal)),
    onSent: (attempts) => void onEvent?.({ type: 'sent', attempts }),
    async onRetry(notice) {
      payment?.retry(notice.error);
      await onEvent?.({ type: 'retry', ...notice });
    },
    async classify(failed) {
      await onEvent?.({ type: 'refused', body: failed.bytes });
      const sentKey = describeSentKey(endpoint, use);
      const { body: asked } = apiRequest;
      return readFailedReply({ ...failed, format, model: getAskedModel(apiRequest), asked, streamsContent, sentKey });
    },
    explain: (error, isSent) => explainFailure(error, isSent ? 'sent' : 'unsent'),
  });
  const { status, headers, recordedAt } = reply;
  const body = withExplainedErrors(reply.body, (error) => explainFailure(error, 'reading'));
  return { attempts, reply: { status, headers, body, recordedAt, request: name } };
}

function toRetryPolicy(
  { retries, retryMaxWaitMs, retrySafeOnly = false, busyRetries }: Sending['options'],
  own: Partial<RetryPolicy> = {},
): RetryPolicy {
  return {
    retries: own.retries ?? retries ?? defaultRetryPolicy.retries,
    maxWaitMs: own.maxWaitMs ?? retryMaxWaitMs ?? defaultRetryPolicy.maxWaitMs,
    safeOnly: own.safeOnly ?? retrySafeOnly,
    undoneOnly: own.undoneOnly,
    busyRetries: own.busyRetries ?? busyRetries,
  };
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
