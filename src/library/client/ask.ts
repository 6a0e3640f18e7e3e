import type { StreamDelta } from '../formats/events.ts';
import { type ApiRequest, loadFormat, type RequestLimits } from '../formats/format.ts';
import { createMemoryStore } from '../images/store.ts';
import type { BlobStore } from '../images/types.ts';
import type { Use } from '../vendors/services.ts';
import { askInHops, type Hop } from './continuation.ts';
import { describeCutPrompt } from './cut-prompt.ts';
import { type Deadline, checkEnd } from './deadline.ts';
import type { PaidEnd } from './payment.ts';
import { readDeltas, type ReadOptions } from './read-reply.ts';
import { type ModelSending, type PayOptions, sendPaid } from './repairs.ts';
import type { Answer, InsteadOf, Result } from './result.ts';

/** One request to a model, ready to be shown, counted, estimated or sent. */
export interface PreparedRequest {
  /** The API request: it has a body, and so goes out by POST. */
  post: ApiRequest;
  model: string;
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
export interface AskOptions extends PayOptions, Pick<ReadOptions, 'endOf' | 'mostImages'> {
  /** The most requests of one answer, if the service ends it in the middle; 10 by default. */
  maxTurns?: number | undefined;
  /** The place of the images; memory by default. */
  store?: BlobStore | undefined;
}

/** The options of a call with its deadline. */
type BoundedAskOptions = AskOptions & { deadline: Deadline };

/**
 * Sends a request, pays for it and reads its reply: every request to a model whose reply is read goes this way. If the service
 * ends the answer in the middle, the requests for the rest go the same way. Yields the deltas of one arriving chunk together. An
 * answer that was cut, or came with an error, is returned with that error; throws GatewayError if nothing came.
 */
export function ask(
  request: PreparedRequest,
  options: BoundedAskOptions,
  sending: ModelSending,
): AsyncGenerator<StreamDelta[], Performed> {
  const { store = createMemoryStore(), onEvent = sending.options.onEvent, maxTurns } = options;
  return askInHops(request, (hop, listener) => askHop(hop, { ...options, store, onEvent: listener }, sending), {
    maxTurns,
    onEvent,
  });
}

async function* askHop(
  request: PreparedRequest,
  options: BoundedAskOptions & { store: BlobStore },
  sending: ModelSending,
): AsyncGenerator<StreamDelta[], Performed> {
  const { deadline, endOf = () => checkEnd(deadline), mostImages, store } = options;
  const { reply, attempts, prepared: sent, payment } = await sendPaid(request, options, sending);
  let end: PaidEnd = {};
  try {
    const { post, insteadOf } = sent;
    const format = await loadFormat(post.format);
    const reading = { ...toReadOptions(sent), endOf, mostImages, store };
    const read = yield* readDeltas(reply, reading, format);
    const isRecorded = reply.recordedAt !== undefined;
    const came = read.result;
    const modelEnds = isRecorded ? undefined : await sending.models.tellEnd(came);
    const passed = describePassedLimit(came, format.limits(post.body));
    const cut = describeCutPrompt(post, came.usage?.inputTokens, sending.endpoint.service);
    const warnings = [...came.warnings, passed, cut].filter((text) => text !== undefined);
    const result = { ...came, ...(insteadOf && { insteadOf }), ...(modelEnds && { modelEnds }), warnings };
    const answer = { ...read, result, request: sent, attempts, isRecorded };
    end = { answer };
    return answer;
  } catch (error) {
    end = { error };
    throw error;
  } finally {
    await payment?.end(end, deadline.signal);
  }
}

/** The facts of a request by which its reply is read. */
export function toReadOptions({
  post: { keepThink, body: asked },
  model,
}: PreparedRequest): Pick<ReadOptions, 'model' | 'keepThink' | 'asked'> {
  return { model, keepThink, asked };
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
