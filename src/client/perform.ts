import type { StreamDelta } from '../formats/messages/types.ts';
import type { HttpReply } from '../transport/types.ts';
import { type Answered, type PostOptions, type Sender, formatOf, type Post } from './connection.ts';
import type { Answer, ContentReading } from './content.ts';
import { endOf } from './deadline.ts';
import type { ReadingOptions } from './messages.ts';

/** One request to a model, and what it asks for. */
export interface Operation {
  post: Post;
  model: string;
  /** Candidates that are asked for; 1 by default. */
  candidates?: number | undefined;
}

/** How a reply is read, whatever its format. */
export type Reading = ContentReading & ReadingOptions;

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

/** The one module that reads a format; loaded where a reply of it comes. */
const readers = {
  content: async () => (await import('./content.ts')).readStreamedContent,
  messages: async () => (await import('./messages.ts')).readMessage,
};

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
  const answer = yield* readReply(reply, reading, formatOf(post.use));
  return { ...answer, attempts, isRecorded: reply.recordedAt !== undefined };
}

/** Reads the reply of a format, streamed or not, whatever was asked for. */
export async function* readReply(
  reply: HttpReply,
  reading: Reading,
  format: keyof typeof readers,
): AsyncGenerator<StreamDelta[], Answer> {
  const read = await readers[format]();
  return yield* read(reply, reading);
}

/** What deltas lead to, for who does not want them. */
export async function outcomeOf<Outcome>(deltas: AsyncGenerator<unknown, Outcome>): Promise<Outcome> {
  for (;;) {
    const next = await deltas.next();
    if (next.done) return next.value;
  }
}
