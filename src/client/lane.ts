import { GatewayError } from '../errors.ts';
import { type AnyApiRequest, type ApiRequest, changeRequest, formatFacts } from '../formats/format.ts';
import type { Answered } from '../transport/types.ts';
import type { ClientOptions } from './client-types.ts';
import type { Deadline } from './deadline.ts';
import { sendCorrected } from './correct.ts';
import type { Sending, SendOptions } from './send.ts';

/** Sends a request; where the client allows it, one of the flex lane goes out at full price if the lane stays too busy for it. */
export async function sendOrFallBack(
  request: AnyApiRequest,
  own: SendOptions & { deadline: Deadline },
  sending: Sending & { options: Pick<ClientOptions, 'onLaneFallback' | 'onAnswered' | 'onFailure' | 'onCorrection'> },
): Promise<Answered> {
  const { onLaneFallback, onAnswered, onFailure } = sending.options;
  try {
    const answered = await sendCorrected(request, own, sending).catch(async (error: unknown) => {
      const live = onLaneFallback && withoutTier(request);
      if (live === undefined || !isBusy(error) || own.deadline.signal.aborted) throw error;
      const { attempts: failed = 0 } = error.details;
      onLaneFallback?.(error);
      own.onRetry?.({ attempt: failed, retries: failed, waitMs: 0, error });
      return sendCorrected(live, own, sending, error);
    });
    onAnswered?.(answered);
    return answered;
  } catch (error) {
    throw onFailure && error instanceof GatewayError ? await onFailure(error, request) : error;
  }
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
