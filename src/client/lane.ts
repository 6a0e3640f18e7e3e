import { GatewayError } from '../errors.ts';
import { type AnyApiRequest, type ApiRequest, changeRequest, formatFacts } from '../formats/format.ts';
import type { Answered } from '../transport/types.ts';
import type { ClientOptions } from './client-types.ts';
import type { Deadline } from './deadline.ts';
import { type Failed, sendAfter, sendCorrected, toTaughtRequest } from './correct.ts';
import { type Sending, type SendOptions, sendRequest } from './send.ts';

type LaneSending = Sending & {
  options: Pick<ClientOptions, 'onLaneFallback' | 'onAnswered' | 'onFailure' | 'onCorrection'>;
};

/** Sends a request as its service is known to want it. One that fails may be sent in another way. */
export async function sendOrFallBack(
  given: AnyApiRequest,
  own: SendOptions & { deadline: Deadline },
  sending: LaneSending,
): Promise<Answered> {
  const request = await toTaughtRequest(given, sending.endpoint.lessons);
  const answered = await sendRequest(request, own, sending).catch((error: unknown) => {
    if (error instanceof GatewayError) return sendOtherwise({ given, request, error }, own, sending);
    throw error;
  });
  sending.options.onAnswered?.(answered);
  return answered;
}

/** Sends what failed as its service asks for it, or where the client allows it, at full price. */
async function sendOtherwise(
  failed: Failed,
  own: SendOptions & { deadline: Deadline },
  sending: LaneSending,
): Promise<Answered> {
  const { onFailure } = sending.options;
  const { given } = failed;
  try {
    return await sendCorrected(failed, own, sending).catch((error: unknown) => sendLive(error, given, own, sending));
  } catch (error) {
    throw onFailure && error instanceof GatewayError ? await onFailure(error, given) : error;
  }
}

/** Sends a request at full price for which the flex lane stays too busy. Throws what it failed with where that may not be. */
async function sendLive(
  error: unknown,
  given: AnyApiRequest,
  own: SendOptions & { deadline: Deadline },
  sending: LaneSending,
): Promise<Answered> {
  const { onLaneFallback } = sending.options;
  const live = onLaneFallback && withoutTier(given);
  if (live === undefined || !isBusy(error) || own.deadline.signal.aborted) throw error;
  const { attempts = 0 } = error.details;
  onLaneFallback?.(error);
  own.onRetry?.({ attempt: attempts, retries: attempts, waitMs: 0, error });
  const request = await toTaughtRequest(live, sending.endpoint.lessons);
  return sendAfter(error, request, own, sending).catch((thrown: unknown) => {
    if (thrown instanceof GatewayError) return sendCorrected({ given: live, request, error: thrown }, own, sending);
    throw thrown;
  });
}

/** Whether the lane was too busy: nothing was billed. With a spent quota the live lane would refuse the request, too. */
function isBusy(error: unknown): error is GatewayError {
  if (!(error instanceof GatewayError)) return false;
  const { reason, status = 0 } = error.details;
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
