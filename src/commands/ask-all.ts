import pLimit from 'p-limit';
import { type Answer, readContent } from '../client/content.ts';
import type { Post } from '../client/target.ts';
import { type ErrorClass, GatewayError, messageOf } from '../errors.ts';
import type { Lost } from './document.ts';
import type { ImageOutput } from './image-output.ts';
import type { Session } from './session.ts';

/** Requests under way at once with `--count`. */
const atOnce = 4;

/** What is asked, how often, and where the pictures go. */
export interface Asking {
  session: Session;
  post: Post;
  model: string;
  images: ImageOutput;
  count: number;
  lost: Lost;
}

/** The outcome of one of several requests. */
export type Outcome = { answer: Answer; failure?: undefined } | { answer?: undefined; failure: GatewayError };

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
 * Makes the requests, four at a time; pictures are published in the order of the requests, each as soon as it can be.
 * After a failure that all would share no more are sent, but those under way were paid for: theirs are published.
 */
export async function askAll(asking: Asking): Promise<Asked> {
  const limit = pLimit(atOnce);
  const state: State = { over: undefined, thrown: undefined };
  const asked = Array.from({ length: asking.count }, () => limit(() => ask(asking, state)));
  const outcomes: Outcome[] = [];
  for (const outcome of asked) {
    const { answer } = await outcome;
    outcomes.push(await outcome);
    if (answer) await asking.images.save(answer.result.images, answer.result).catch((error) => noteEnd(error, state));
  }
  return { outcomes, thrown: state.thrown };
}

interface State {
  /** Why no more requests are made. */
  over: GatewayError | undefined;
  thrown: { value: unknown } | undefined;
}

async function ask({ session, post, model, images, lost }: Asking, state: State): Promise<Outcome> {
  const over = state.over ?? lost.failure;
  if (over !== undefined) return { failure: over };
  try {
    const store = images.openStore();
    const { reply } = await session.send(post);
    return { answer: await readContent(reply, { store, model }) };
  } catch (error) {
    return { failure: noteEnd(error, state) };
  }
}

function noteEnd(error: unknown, state: State): GatewayError {
  const failure =
    error instanceof GatewayError ? error : new GatewayError('internal', messageOf(error), { cause: error });
  if (endings.has(failure.class)) state.thrown ??= { value: error };
  if (endings.has(failure.class) || hopeless.has(failure.class)) state.over ??= failure;
  return failure;
}
