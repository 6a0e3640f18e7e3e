import type { Lost } from '../context.ts';
import pLimit from 'p-limit';
import type { BatchGate } from '../../batch/throttle.ts';
import { type EndOf, endOf } from '../../client/deadline.ts';
import { type Answer, blobsOf, readContent } from '../../client/content.ts';
import type { Post } from '../../client/target.ts';
import { type ErrorClass, GatewayError, isQuotaSpent, messageOf } from '../../errors.ts';
import type { ImageOutput } from '../output/pictures.ts';
import type { Connection } from './connection.ts';

/** Requests under way at once with `--count`, where nobody says otherwise. */
const defaultConcurrency = 4;

/** What is asked, how often, and where the pictures go. */
export interface Asking {
  connection: Connection;
  post: Post;
  model: string;
  images: ImageOutput;
  count: number;
  concurrency?: number | undefined;
  /** After a 429 all wait. */
  gate?: Pick<BatchGate, 'enter' | 'close'> | undefined;
  /** Candidates that each reply should have. */
  candidates: number | undefined;
  lost: Lost;
  /** Told after each answer how many have come. */
  onAnswer?: (answered: number) => void;
}

/** The outcome of one of several requests. */
export type Outcome =
  | { answer: Answer; isSent: boolean; failure?: undefined }
  | { answer?: undefined; isSent?: undefined; failure: GatewayError };

/** How all requests ended; `thrown` is what ended more than its own request. */
export interface Asked {
  outcomes: Outcome[];
  thrown: { value: unknown } | undefined;
}

/** A signal, a closed stdout, a full disk and a bug end the command. */
const endings = new Set<ErrorClass>(['interrupted', 'terminated', 'hangup', 'closed', 'not-written', 'internal']);
/** What no repetition of the same request could change. */
const hopeless = new Set<ErrorClass>(['auth', 'rejected', 'usage']);

/**
 * Makes the requests, so many at a time; pictures are published in the order of the requests, each as soon as it can be.
 * After a failure that all would share no more are sent, but those under way were paid for: theirs are published.
 */
export async function sendAll(asking: Asking): Promise<Asked> {
  const limit = pLimit(asking.concurrency ?? defaultConcurrency);
  const state: State = {
    over: undefined,
    thrown: undefined,
    endOf: () => undefined,
    isDiskInDoubt: false,
    answered: 0,
  };
  const saved: Promise<Outcome>[] = [];
  for (let index = 0; index < asking.count; index++) {
    const before = saved[index - 1];
    const asked = limit(() => ask(index, before, { asking, state }));
    saved.push(saveBehind(before, asked, { asking, state }));
  }
  return { outcomes: await Promise.all(saved), thrown: state.thrown };
}

interface State {
  /** Why no more requests are made. */
  over: GatewayError | undefined;
  thrown: { value: unknown } | undefined;
  /** Of all requests together. */
  endOf: EndOf;
  /** A picture went elsewhere. Whether it reaches its place after all is known before the next one is paid for. */
  isDiskInDoubt: boolean;
  answered: number;
}

async function ask(
  index: number,
  before: Promise<unknown> | undefined,
  { asking, state }: { asking: Asking; state: State },
): Promise<Outcome> {
  const { connection, post, model, images, gate, lost, candidates, onAnswer } = asking;
  if (state.isDiskInDoubt) await before;
  const over = state.over ?? lost.failure;
  if (over !== undefined) return { failure: over };
  try {
    const store = images.openStore(() => (state.isDiskInDoubt = true));
    const { reply, deadline } = await connection.send(post, { sample: index, gate });
    state.endOf = () => endOf(deadline);
    const reading = { store, model, endOf: state.endOf, candidates, mostImages: images.most };
    const answer = await readContent(reply, reading);
    onAnswer?.(++state.answered);
    if (asking.count > 1)
      for (const part of [...answer.result.candidates, ...blobsOf(answer.result)]) part.reply = index;
    return { answer, isSent: reply.recordedAt === undefined };
  } catch (error) {
    return { failure: noteEnd(error, state) };
  }
}

async function saveBehind(
  before: Promise<unknown> | undefined,
  asked: Promise<Outcome>,
  { asking: { images }, state }: { asking: Asking; state: State },
): Promise<Outcome> {
  await before;
  const outcome = await asked;
  const result = outcome.answer?.result;
  if (result) await images.save(blobsOf(result), result, state.endOf).catch((error) => noteEnd(error, state));
  return outcome;
}

function noteEnd(error: unknown, state: State): GatewayError {
  const failure =
    error instanceof GatewayError ? error : new GatewayError('internal', messageOf(error), { cause: error });
  if (endings.has(failure.class)) state.thrown ??= { value: error };
  if (endings.has(failure.class) || hopeless.has(failure.class) || isQuotaSpent(failure)) state.over ??= failure;
  return failure;
}
