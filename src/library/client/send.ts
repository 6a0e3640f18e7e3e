import { describeRequest, GatewayError } from '../errors.ts';
import { readFailedReply } from '../formats/failure.ts';
import { type AnyApiRequest, getAskedModel } from '../formats/format.ts';
import type { Gate } from '../transport/gate.ts';
import { toReadableBody } from '../transport/readable-body.ts';
import { defaultRetryPolicy, sendWithRetries } from '../transport/retry.ts';
import type { Answered, Fetch, RetryPolicy } from '../transport/types.ts';
import type { CallOptions } from './client-types.ts';
import type { GatewayClientOptions } from './gateway-client.ts';
import type { Deadline } from './deadline.ts';
import { addressRequest, type Endpoint, describeSentKey } from './endpoint.ts';
import type { CallEvent, Listener } from './events.ts';
import type { Payment } from './payment.ts';

/** An API request and its reply, whose body is still to be read. */
export interface Exchange extends Answered {
  /** The API request as it was sent: after a refusal it can differ from the one that was given. */
  readonly request: AnyApiRequest;
}

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

/** The parts that all requests of a client share. */
export interface Sending {
  readonly endpoint: Endpoint;
  readonly fetch: Fetch;
  readonly options: GatewayClientOptions;
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
  const name = describeRequest(request);
  const explainFailure = (error: unknown, phase: Parameters<Deadline['explain']>[1]) => {
    const explained = deadline.explain(error, phase);
    // An error that stays unchanged has the destination of the request.
    return explained !== error && explained instanceof GatewayError
      ? explained.withDefaults({ request: name })
      : explained;
  };
  const tellSent = async (attempts: number): Promise<unknown> => onEvent?.({ type: 'sent', attempts });
  const { reply, attempts } = await sendWithRetries(request, {
    fetch,
    signal: deadline.signal,
    policy: toRetryPolicy(options, own.policy),
    gate: own.gate,
    reserve: payment && ((signal) => payment.reserve(signal)),
    // It is not awaited, so a failure of the listener ends the call from outside.
    onSent: (attempts) => void tellSent(attempts).catch(deadline.abort),
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
  { retries, retryMaxWaitMs, retrySafeOnly = false, busyRetries }: GatewayClientOptions,
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

/** A body whose errors are explained. */
function withExplainedErrors(
  body: AsyncIterable<Uint8Array>,
  explain: (error: unknown) => unknown,
): AsyncIterableIterator<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  const rethrow = (error: unknown): never => {
    throw explain(error);
  };
  return toReadableBody(
    () => source.next().catch(rethrow),
    () => source.return?.(),
  );
}
