import { chooseHint } from '../reasons.ts';
import { GatewayError } from '../errors.ts';
import { replaceModel } from '../formats/format.ts';
import type { FormatName } from '../formats/types.ts';
import { chooseDefault, describeEnd, endsWithin, isEnding, type ModelEnd } from '../vendors/model-rules.ts';
import { services } from '../vendors/services.ts';
import type { Sender } from './client-types.ts';
import { applyLessons } from './correct.ts';
import type { Deadline } from './deadline.ts';
import { type ModelList, readModelList } from './free-requests.ts';
import type { ListedModel } from './listed-model.ts';
import { type Sending, sendRequest } from './send.ts';
import type { Result } from './result.ts';
import type { PreparedRequest } from './ask.ts';

/** Decides which model gets a request. */
export interface ModelChoice {
  /** Chooses the request that is sent. Throws GatewayError incomplete if its model ends too soon. */
  choose(request: PreparedRequest, deadline: Deadline): Promise<PreparedRequest>;
  /** The request that replaces, once, a request that was refused and certainly not billed; undefined if there is none. */
  chooseOther(error: unknown, request: PreparedRequest, deadline: Deadline): Promise<PreparedRequest | undefined>;
  /** Remembers the model that answered in place of a default that is gone. */
  keep(request: PreparedRequest): void;
  /** Tells the end of the model that answered, and returns it: as its reply says, otherwise by the kept list. */
  tellEnd(result: Pick<Result, 'model' | 'modelEnds'>): Promise<ModelEnd | undefined>;
}

/** The facts of models that a client has found so far, and what it needs to find more. */
interface Choosing extends Sending {
  list: ReturnType<typeof createListReader>;
  replacements: Map<string, Promise<string | undefined>>;
  examined: Map<string, Promise<void>>;
}

/** Opens the choice of the model that a request goes to. */
export function createModelChoice(sending: Sending): ModelChoice {
  const list = createListReader(sending);
  const choosing: Choosing = { ...sending, list, replacements: new Map(), examined: new Map() };
  const { memory } = sending.endpoint;
  return {
    choose: (request, deadline) => chooseAsked(request, deadline, choosing),
    chooseOther: (error, request, deadline) => chooseOther(error, request, deadline, choosing),
    keep({ model, fallback, defaultFor, insteadOf }) {
      if (defaultFor && insteadOf && model !== fallback) memory.set(choiceName(insteadOf.model), model);
    },
    async tellEnd({ model, modelEnds }) {
      const end = modelEnds ?? (await memory.findEnd?.(model));
      if (end === undefined) return undefined;
      await sending.options.onEvent?.({ type: 'ends', end });
      return end;
    },
  };
}

/** The name of a choice in the memory. */
function choiceName(model: string): string {
  return `choice ${model}`;
}

async function chooseAsked(request: PreparedRequest, deadline: Deadline, choosing: Choosing): Promise<PreparedRequest> {
  const { replacements, examined, options } = choosing;
  const { aliveMs } = options;
  const { model, defaultFor } = request;
  // A model that somebody named is never replaced.
  const other = defaultFor && ((await replacements.get(model)) ?? (await findKeptChoice(model, choosing)));
  const asked = other === undefined ? request : toOther(request, other, 'it is gone');
  if (aliveMs !== undefined) await once(examined, asked.model, () => examine(asked, aliveMs, deadline, choosing));
  return asked;
}

/** The model that was chosen in place of a default within a day. */
async function findKeptChoice(model: string, { endpoint, options }: Choosing): Promise<string | undefined> {
  const kept = endpoint.memory.get(choiceName(model));
  if (kept !== undefined) await options.onEvent?.({ type: 'kept', from: model, to: kept });
  return kept;
}

async function chooseOther(
  error: unknown,
  request: PreparedRequest,
  deadline: Deadline,
  choosing: Choosing,
): Promise<PreparedRequest | undefined> {
  if (!(error instanceof GatewayError) || error.billed !== 'no') return undefined;
  if (deadline.signal.aborted) return undefined;
  const { replacements, examined, options } = choosing;
  const { aliveMs, onEvent } = options;
  const { model, fallback, defaultFor } = request;
  const isGone = saysGone(error);
  const replacement =
    isGone && defaultFor !== undefined
      ? await once(replacements, model, () => findReplacement(request, error, deadline, choosing))
      : undefined;
  if (replacement !== undefined) return toOther(request, replacement, error.message);
  // A spent quota counts as busy, too: it can be the quota of one model.
  const isBusy = [429, 503, 529].includes(error.details.status ?? 0);
  if (fallback === undefined || fallback === model || !(isGone || isBusy)) return undefined;
  const other = toOther(request, fallback, error.message);
  if (aliveMs !== undefined) await once(examined, fallback, () => examine(other, aliveMs, deadline, choosing));
  await onEvent?.({ type: 'replaced', from: model, to: fallback, because: 'fallback', error });
  return other;
}

/** Looks a model up in the list of the service. Throws GatewayError incomplete if it ends within this time, in ms. */
async function examine(
  { model, post }: PreparedRequest,
  aliveMs: number,
  deadline: Deadline,
  { list, options: { onEvent } }: Choosing,
): Promise<void> {
  const end = findListedEnd(await list(post.format, deadline), model);
  if (typeof end === 'string') return void (await onEvent?.({ type: 'unknown', model, why: end }));
  const now = Date.now();
  if (endsWithin(aliveMs / 86_400_000, end, now)) throw endsTooSoon(end, now);
  if (isEnding(end, now)) await onEvent?.({ type: 'ends', end });
}

/** The model in place of a default that is gone, by the list. */
async function findReplacement(
  { model, post, defaultFor: use }: PreparedRequest,
  error: GatewayError,
  deadline: Deadline,
  { endpoint: { service }, list, options: { payments, onEvent } }: Choosing,
): Promise<string | undefined> {
  const models = await list(post.format, deadline);
  if (use === undefined || models instanceof GatewayError) return undefined;
  const isListed = models.some(({ id }) => id === model);
  // A 404 that does not name the model was about something else, if the list has the model.
  if (isBare404(error) && isListed) return undefined;
  const to = chooseDefault({ service, use, gone: model }, models, Date.now());
  if (to === undefined) return undefined;
  const unpaid = payments?.refuse?.(to);
  if (unpaid !== undefined) {
    const hint = [`${to} is not asked in its place: ${unpaid.message}`, chooseHint(unpaid)].join('\n');
    throw error.withDetails({ hint });
  }
  await onEvent?.({ type: 'replaced', from: model, to, because: isListed ? 'refused' : 'gone', error });
  return to;
}

/**
 * Asks for the list of each format once, and returns the list, or the error if there is none. It throws only the error that ends
 * the call.
 */
function createListReader(sending: Sending) {
  const { memory } = sending.endpoint;
  const lists = new Map<string, Promise<ListedModel[] | GatewayError>>();
  return (format: FormatName, deadline: Deadline) =>
    once(lists, format, async () => {
      try {
        const found = await listModels(format, deadline, sending);
        await memory.keepList?.(found);
        return found.models;
      } catch (error) {
        if (deadline.signal.aborted || !(error instanceof GatewayError)) throw error;
        return error;
      }
    });
}

/** The models that the service lists, without the hooks of requests to models: a list is free. */
function listModels(format: FormatName, deadline: Deadline, sending: Sending): Promise<ModelList> {
  const { service, memory } = sending.endpoint;
  const send: Sender['send'] = async (given, call) => {
    const request = applyLessons(given, memory);
    return { request, ...(await sendRequest(request, { ...call, deadline }, sending)) };
  };
  return readModelList({ send }, format, { query: services[service].listQuery, policy: { retries: 0 }, onEvent() {} });
}

/** The end of a model by a list of models, or the reason that it is not known. */
function findListedEnd(models: readonly ListedModel[] | GatewayError, model: string): ModelEnd | string {
  if (models instanceof GatewayError) return models.message;
  const id = model.replace(/^models\//, '');
  const listed = models.find((one) => one.id === id || one.id === `${id}:latest`);
  if (listed === undefined) return 'its list does not have it';
  const { endsOn, lifecycle, successor } = listed;
  if (endsOn === undefined && lifecycle === undefined) return 'its list does not say';
  return { model, endsOn, lifecycle, successor };
}

function once<Key, Value>(map: Map<Key, Promise<Value>>, key: Key, find: () => Promise<Value>): Promise<Value> {
  const known = map.get(key);
  if (known) return known;
  const found = find();
  map.set(key, found);
  found.catch(() => map.delete(key));
  return found;
}

/** The request to another model; `why`: the reason that its own is not asked. */
function toOther(request: PreparedRequest, model: string, why: string): PreparedRequest {
  const { post, insteadOf } = request;
  const first = insteadOf?.model ?? request.model;
  return { ...request, model, post: replaceModel(post, model), insteadOf: { model: first, why } };
}

const goneReasons = new Set<GatewayError['details']['reason']>(['model', 'nearest-model', 'pull-model', 'successor']);

/** Whether a refusal says that there is no such model, or may mean it. */
function saysGone(error: GatewayError): boolean {
  const { reason } = error.details;
  return isBare404(error) || goneReasons.has(reason);
}

function isBare404({ details: { reason, status } }: GatewayError): boolean {
  return status === 404 && (reason === 'no-such-path' || reason === 'no-stream');
}

function endsTooSoon(end: ModelEnd, now: number): GatewayError {
  return new GatewayError('incomplete', describeEnd(end, now), {
    reason: 'ends-soon',
    value: end.successor,
    sent: 'no',
    billed: 'no',
    retryable: false,
  });
}
