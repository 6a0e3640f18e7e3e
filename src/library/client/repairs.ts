import { GatewayError } from '../errors.ts';
import { type AnyApiRequest, type ApiRequest, changeRequest, formatFacts } from '../formats/format.ts';
import type { Answered } from '../transport/types.ts';
import type { PreparedRequest } from './ask.ts';
import { applyLessons, correctionNames, type Learnt, learnFormat, learnFrom, toTaughtFormat } from './correct.ts';
import type { Deadline } from './deadline.ts';
import { countOn, type Resent } from './events.ts';
import type { Memory } from './memory.ts';
import type { ModelChoice } from './model-choice.ts';
import type { Payment, Payments } from './payment.ts';
import { type Exchange, type SendOptions, type Sending, sendRequest } from './send.ts';

/** Options of one request that is paid for. */
export interface PayOptions extends SendOptions {
  /** The payments for the requests of the answer, in place of those of the client. */
  payments?: Payments | undefined;
}

/** A prepared request and its payment. Another model that is asked in its place has a payment of its own. */
interface PaidRequest {
  readonly prepared: PreparedRequest;
  /** Absent if the request costs nothing. */
  readonly payment: Payment | undefined;
}

/** A paid request as it was sent, and its reply. Who reads the reply ends the payment. */
export interface PaidExchange extends Answered, PaidRequest {}

/** The parts that all requests of a client share, and the choice of the models that they go to. */
export interface ModelSending extends Sending {
  readonly models: ModelChoice;
}

/** The same, with the deadline of the call. */
export type RepairOptions = PayOptions & { deadline: Deadline };

/** A request on its way. It is never changed: a repair makes another one. */
interface Outgoing {
  /** The API request before corrections. */
  original: AnyApiRequest;
  /** The API request as it is sent: in the form that its service is known to want. */
  apiRequest: AnyApiRequest;
  /** The prepared request that it belongs to, and its payment; absent if it is free. */
  paid?: PaidRequest | undefined;
}

/** A failed request. The error counts the attempts before, too. */
interface Failed extends Outgoing {
  error: GatewayError;
}

/** The request that goes out after a failed one. */
interface Next {
  outgoing: Outgoing;
  /** The change, for the listener. */
  change: Omit<Resent, 'type' | 'error'>;
  /** Called if the request was answered. */
  keep?(): Promise<void> | void;
}

/**
 * A kind of second chance: finds the request to send in place of a failed one that was certainly not billed. Each kind is tried
 * once.
 */
type Repair = (
  failed: Failed,
  own: RepairOptions,
  sending: ModelSending,
) => Next | undefined | Promise<Next | undefined>;

/** The repairs of one request, the cheapest first. */
const ofRequest: readonly Repair[] = [
  ...correctionNames.map(
    (name): Repair =>
      (failed, _own, { endpoint }) =>
        toNext(failed, learnFrom(failed, endpoint, [name]), endpoint),
  ),
  async function toOtherFormat(failed, _own, { endpoint }) {
    return toNext(failed, await learnFormat(failed, endpoint.memory), endpoint);
  },
];

function toNext(
  { original, paid }: Failed,
  learnt: Learnt | undefined,
  { memory }: { memory: Memory },
): Next | undefined {
  if (learnt === undefined) return undefined;
  const { apiRequest, notice, keep } = learnt;
  return {
    outgoing: { original, apiRequest, paid },
    change: { by: 'correction', ...notice },
    keep: () => keep(memory),
  };
}

/** The repairs that make a different request, which is corrected anew. */
const others: readonly Repair[] = [
  async function toLiveLane({ original, paid, error }, _own, { endpoint, options: { laneFallback } }) {
    const live = laneFallback === 'live' && isBusy(error) ? withoutTier(original) : undefined;
    return live && { outgoing: await toOutgoing(live, paid, endpoint), change: { by: 'live-lane' } };
  },
  async function toOtherModel({ paid, error }, own, sending) {
    const { models, endpoint } = sending;
    const other = paid && (await models.chooseOther(error, paid.prepared, own.deadline));
    if (other === undefined) return undefined;
    const outgoing = await toOutgoing(other.post, openPayment(other, own, sending), endpoint);
    return { outgoing, change: { by: 'other-model' }, keep: () => models.keep(other) };
  },
];

async function toOutgoing(
  original: AnyApiRequest,
  paid: PaidRequest | undefined,
  { memory }: { memory: Memory },
): Promise<Outgoing> {
  return { original, apiRequest: applyLessons(await toTaughtFormat(original, memory), memory), paid };
}

function openPayment(prepared: PreparedRequest, own: RepairOptions, { options }: ModelSending): PaidRequest {
  const { payments = options.payments } = own;
  return { prepared, payment: payments?.open(prepared) };
}

/**
 * Sends a request to the model that the client chooses, and pays for it. Another model may answer in its place. The payment of a
 * request without a reply has ended.
 */
export async function sendPaid(
  prepared: PreparedRequest,
  own: RepairOptions,
  sending: ModelSending,
): Promise<PaidExchange> {
  const chosen = await sending.models.choose(prepared, own.deadline);
  const opened = openPayment(chosen, own, sending);
  const { reply, attempts, apiRequest, paid = opened } = await sendAndRepair(chosen.post, opened, own, sending);
  return { reply, attempts, prepared: { ...paid.prepared, post: apiRequest as ApiRequest }, payment: paid.payment };
}

/** Sends a request that is not paid for. */
export async function sendFree(given: AnyApiRequest, own: RepairOptions, sending: ModelSending): Promise<Exchange> {
  const { reply, attempts, apiRequest } = await sendAndRepair(given, undefined, own, sending);
  return { reply, attempts, request: apiRequest };
}

/**
 * Sends an API request in the form that its service is known to want, and once more for each repair that is found. All attempts count
 * together, and so do those that may have been billed. Throws the error of the last request, whose payment has ended.
 */
async function sendAndRepair(
  given: AnyApiRequest,
  paid: PaidRequest | undefined,
  own: RepairOptions,
  sending: ModelSending,
): Promise<Answered & Outgoing> {
  const { options, endpoint } = sending;
  const { deadline, onEvent = options.onEvent } = own;
  const taken: Next[] = [];
  let tried = new Set<Repair>();
  let outgoing: Outgoing = { original: given, apiRequest: given, paid };
  let failed: GatewayError | undefined;
  try {
    outgoing = await toOutgoing(given, paid, endpoint);
    for (;;) {
      const before = failed?.details.attempts ?? 0;
      const payment = outgoing.paid?.payment;
      const came = await trySend(outgoing.apiRequest, { ...own, payment, onEvent: countOn(onEvent, before) }, sending);
      if ('reply' in came) {
        for (const { keep } of taken) await keep?.();
        const { reply } = came;
        const attempts = before + came.attempts;
        await onEvent?.({ type: 'answered', attempts, isRecorded: reply.recordedAt !== undefined });
        return { ...outgoing, reply, attempts };
      }
      const { error } = came;
      failed = failed ? error.after(failed).withDetails({ attempts: before + (error.details.attempts ?? 0) }) : error;
      const found = await findRepair({ ...outgoing, error: failed }, tried, own, sending);
      if (found === undefined) throw options.explain ? await options.explain(failed, given) : failed;
      const [repair, next] = found;
      await onEvent?.({ type: 'resent', ...next.change, error: failed });
      if (next.outgoing.paid === outgoing.paid) payment?.retry(failed);
      else await payment?.end({ error: failed }, deadline.signal);
      // A different request is corrected anew.
      if (next.outgoing.original !== outgoing.original)
        tried = new Set([...tried].filter((one) => others.includes(one)));
      tried.add(repair);
      taken.push(next);
      ({ outgoing } = next);
    }
  } catch (error) {
    await outgoing.paid?.payment?.end({ error }, deadline.signal);
    throw error;
  }
}

/** The reply to an API request that is sent once, with retries, or its error. */
async function trySend(...call: Parameters<typeof sendRequest>): Promise<Answered | { error: GatewayError }> {
  try {
    return await sendRequest(...call);
  } catch (error) {
    if (error instanceof GatewayError) return { error };
    throw error;
  }
}

async function findRepair(
  failed: Failed,
  tried: ReadonlySet<Repair>,
  own: RepairOptions,
  sending: ModelSending,
): Promise<[Repair, Next] | undefined> {
  for (const repair of [...ofRequest, ...others]) {
    if (tried.has(repair) || own.deadline.signal.aborted) continue;
    const next = await repair(failed, own, sending);
    if (next !== undefined) return [repair, next];
  }
  return undefined;
}

/** Whether the lane was too busy: nothing was billed. With a spent quota the live lane would refuse the request, too. */
function isBusy({ details: { reason, status = 0 } }: GatewayError): boolean {
  return reason !== 'quota-spent' && [429, 503, 529].includes(status);
}

/** Undefined if the request asks for no tier. */
function withoutTier(request: AnyApiRequest): AnyApiRequest | undefined {
  const { tierField } = formatFacts[request.format];
  if (tierField === undefined || request.body?.[tierField] !== 'flex') return undefined;
  return changeRequest(request as ApiRequest, (post) => {
    const { [tierField]: _, ...body } = post.body;
    return { ...post, body };
  });
}
