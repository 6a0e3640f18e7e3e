import { GatewayError } from '../errors.ts';
import { type AnyApiRequest, type ApiRequest, changeRequest, formatFacts } from '../formats/format.ts';
import type { Answered } from '../transport/types.ts';
import type { GatewayClientOptions } from './gateway-client.ts';
import { correctionNames, type Learnt, learnFormat, learnFrom, type Refused, toTaughtRequest } from './correct.ts';
import type { Deadline } from './deadline.ts';
import { countOn, type Resent } from './events.ts';
import type { Payment } from './payment.ts';
import { type Sending, type SendOptions, sendRequest } from './send.ts';

type RepairedSending = Sending & {
  options: Pick<GatewayClientOptions, 'laneFallback' | 'explain'>;
};

/** A failed request: before corrections, and as it was sent. The error counts the attempts before, too. */
interface Failed extends Refused {
  original: AnyApiRequest;
}

/** The request that goes out after a failed one. */
export interface Next {
  /** The request in the form that the service asks for. */
  request?: AnyApiRequest;
  /** A different request, which is corrected anew. */
  other?: AnyApiRequest;
  /** The payment, if it differs from the one before. */
  payment?: Payment | undefined;
  /** The change, for the listener. */
  change: Omit<Resent, 'type' | 'error'>;
  /** Called if the request was answered. */
  keep?(): void;
}

/**
 * A kind of second chance: finds the request to send in place of a failed one that was certainly not billed. Each kind is tried
 * once.
 */
type Repair = (failed: Failed, own: SendOptions, sending: RepairedSending) => Found | Promise<Found>;
type Found = Next | undefined;

/** The repairs of one request, the cheapest first. */
const ofRequest: readonly Repair[] = [
  ...correctionNames.map(
    (name): Repair =>
      (failed, _own, sending) =>
        toNext(learnFrom(failed, sending.endpoint, [name]), sending),
  ),
  async function toOtherFormat(failed, _own, sending) {
    return toNext(await learnFormat(failed.original, failed, sending.endpoint.memory), sending);
  },
];

function toNext(learnt: Learnt | undefined, { endpoint }: RepairedSending): Found {
  if (learnt === undefined) return undefined;
  const { request, notice, keep } = learnt;
  return { request, change: { by: 'correction', ...notice }, keep: () => keep(endpoint.memory) };
}

/** The repairs that need a different request. */
const others: readonly Repair[] = [
  function toLiveLane({ original, error }, _own, { options: { laneFallback } }) {
    const live = laneFallback === 'live' && isBusy(error) ? withoutTier(original) : undefined;
    return live && { other: live, change: { by: 'live-lane' } };
  },
  function toOtherModel({ error }, { findOther }) {
    return findOther?.(error);
  },
];

/**
 * Sends a request in the form that its service is known to want, and once more for each repair that is found. All attempts count
 * together, and so do those that may have been billed. Throws the error of the last request.
 */
export async function sendRepaired(
  first: AnyApiRequest,
  own: SendOptions & { deadline: Deadline },
  sending: RepairedSending,
): Promise<Answered> {
  const { options } = sending;
  const { memory } = sending.endpoint;
  const { onEvent = options.onEvent } = own;
  const taken: Next[] = [];
  let tried = new Set<Repair>();
  let [original, request, payment] = [first, await toTaughtRequest(first, memory), own.payment];
  let failed: GatewayError | undefined;
  for (;;) {
    const before = failed?.details.attempts ?? 0;
    try {
      const { reply, attempts } = await sendRequest(
        request,
        { ...own, payment, onEvent: countOn(onEvent, before) },
        sending,
      );
      for (const { keep } of taken) keep?.();
      const answered = { reply, attempts: before + attempts };
      const isRecorded = reply.recordedAt !== undefined;
      await onEvent?.({ type: 'answered', attempts: answered.attempts, isRecorded });
      return answered;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const earlier = failed;
      failed = earlier ? error.after(earlier).withDetails({ attempts: before + (error.details.attempts ?? 0) }) : error;
      const found = await findRepair({ original, request, error: failed }, tried, { ...own, payment }, sending);
      if (found === undefined) throw options.explain ? await options.explain(failed, first) : failed;
      const [repair, next] = found;
      await onEvent?.({ type: 'resent', ...next.change, error: failed });
      if (!('payment' in next)) payment?.retry(failed);
      if (next.other) tried = new Set([...tried].filter((one) => others.includes(one)));
      tried.add(repair);
      taken.push(next);
      original = next.other ?? original;
      if ('payment' in next) payment = next.payment;
      request = next.request ?? (await toTaughtRequest(original, memory));
    }
  }
}

async function findRepair(
  failed: Failed,
  tried: ReadonlySet<Repair>,
  own: SendOptions & { deadline: Deadline },
  sending: RepairedSending,
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
