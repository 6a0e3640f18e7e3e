import type { StreamDelta } from '../formats/events.ts';
import { loadFormat } from '../formats/format.ts';
import type { Answered, PostOptions, Sender } from './connection.ts';
import type { Post } from './post.ts';
import { endOf } from './deadline.ts';
import { type Reading, readReply } from './read-reply.ts';
import type { Answer } from './result.ts';

/** One request to a model, and what it asks for. */
export interface Operation {
  post: Post;
  model: string;
  /** Candidates that are asked for; 1 by default. */
  candidates?: number | undefined;
}

/** How an operation is sent, and where its pictures go. */
export interface Performing extends PostOptions, Omit<Reading, 'model' | 'candidates'> {
  /** Waited for between the head of the reply and its body. */
  beforeRead?: ((answered: Answered) => Promise<void> | void) | false | undefined;
}

/** What came of an operation. */
export interface Performed extends Answer {
  /** Requests that were sent: none where a cache answered. */
  attempts: number;
  /** A recording answered. */
  isRecorded: boolean;
}

/**
 * The way of every request: it is sent, and its reply read. Yields the deltas of one arriving chunk together. What was cut, or
 * came with an error, is returned with that error; throws GatewayError where nothing came.
 */
export async function* perform(
  { post, model, candidates }: Operation,
  sender: Pick<Sender, 'send'>,
  options: Performing,
): AsyncGenerator<StreamDelta[], Performed> {
  const { deadline } = options;
  const answered = await sender.send(post, options);
  if (options.beforeRead) await options.beforeRead(answered);
  const { reply, attempts } = answered;
  const reading = { endOf: () => endOf(deadline), ...options, model, candidates };
  const answer = yield* readReply(reply, reading, await loadFormat(post.format));
  return { ...answer, attempts, isRecorded: reply.recordedAt !== undefined };
}

/** What deltas lead to, for who does not want them. */
export async function outcomeOf<Outcome>(deltas: AsyncGenerator<unknown, Outcome>): Promise<Outcome> {
  for (;;) {
    const next = await deltas.next();
    if (next.done) return next.value;
  }
}
