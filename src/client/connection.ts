import { GatewayError } from '../errors.ts';
import type { FailedReply } from '../formats/failure.ts';
import { type Gate, sendWithRetries } from '../transport/attempts.ts';
import type { RetryNotice } from '../transport/retry-types.ts';
import type { RetryPolicy } from '../transport/retry.ts';
import type { Exchange, HttpReply, HttpRequest, Transport, TransportOptions } from '../transport/types.ts';
import type { Deadline, Phase } from './deadline.ts';
import type { Post } from './target.ts';

/** How a post is sent. */
export interface SendOptions {
  deadline: Deadline;
  policy: RetryPolicy;
  /** Told of every attempt, for `-v`. */
  onRequest?: ((request: HttpRequest) => void) | undefined;
  onReply?: ((reply: HttpReply) => void) | undefined;
  onRetry?: ((notice: RetryNotice) => void) | undefined;
  onSent?: (() => void) | undefined;
  /** Told of the body of a reply that is no success, for `--raw`. */
  onFailedBody?: ((body: Uint8Array) => void) | undefined;
  /** Shared pause of many calls after a 429. */
  gate?: Gate | undefined;
}

/** A reply whose body is still to be read. Errors of reading it are told by the deadline too. */
export interface Answered {
  reply: HttpReply;
  /** Requests that were sent: none where a cache answered. */
  attempts: number;
  /** Bounds what is done with the reply, too. */
  deadline: Deadline;
}

/** Opens connections; the HTTP client is loaded now, not at start-up. Throws GatewayError usage for a proxy that is none, and for a store that cannot be read. */
export async function openConnections(options: TransportOptions): Promise<Transport> {
  const { openTransport } = await import('../transport/transport.ts');
  if (options.systemCa) (await import('../transport/trust.ts')).requireSystemStore();
  return openTransport(options);
}

/** Sends a post, with retries. The reply has a 2xx status; every other end is thrown as a GatewayError. */
export async function sendPost(
  transport: Pick<Transport, 'exchange'>,
  request: HttpRequest,
  options: SendOptions & Pick<Post, 'use' | 'streamsContent'> & Pick<FailedReply, 'sentKey'>,
): Promise<Answered> {
  let phase: Phase = 'unsent';
  const { deadline } = options;
  const name = `${request.method ?? 'POST'} ${request.url.origin}${request.url.pathname}`;
  const exchange: Exchange = async (attempt, { signal, onSent }) => {
    phase = 'unsent';
    options.onRequest?.(attempt);
    const reply = await transport.exchange(attempt, {
      signal,
      onSent() {
        phase = 'sent';
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
      policy: options.policy,
      classify: async (failed) => {
        const { failureOf } = await import('../formats/failure.ts');
        options.onFailedBody?.(failed.bytes);
        const { sentKey, streamsContent } = options;
        const format = options.use === 'messages' ? 'messages' : 'content';
        return failureOf({ ...failed, format, sentKey, streamsContent });
      },
      onRetry: options.onRetry,
      gate: options.gate,
    });
    const { status, headers, body, recordedAt } = reply;
    const explain = (error: unknown) => explainAt(name, error, () => deadline.explain(error, 'reading'));
    const sent = recordedAt === undefined ? attempts : attempts - 1;
    const answer = { status, headers, body: explained(body, explain), recordedAt, request: name };
    return { attempts: sent, deadline, reply: answer };
  } catch (error) {
    throw explainAt(name, error, () => deadline.explain(error, phase));
  }
}

/** What the deadline makes of an error says where the request went; an error that stays as it is knows that. */
function explainAt(request: string, error: unknown, explain: () => unknown): unknown {
  const explained = explain();
  return explained !== error && explained instanceof GatewayError ? explained.with({ request }) : explained;
}

/** No generator: every chunk of every reply passes here. */
function explained(
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
