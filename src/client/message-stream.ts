import { GatewayError, isGatewayError } from '../errors.ts';
import type { StreamDelta } from '../formats/events.ts';
import type { SendProgress } from './call.ts';
import type { MemoryPicture, MessageStream, Received, Reply } from './client-types.ts';

/** Gives the deltas of a generator to the caller's loop, and keeps its result or error for `reply`. */
export function openMessageStream(
  open: () => Promise<AsyncGenerator<StreamDelta, Reply<MemoryPicture>>>,
  progress: SendProgress,
  signal: AbortSignal | undefined,
): MessageStream {
  let opened: ReturnType<typeof open> | undefined;
  let text = '';
  let outcome: { reply: Reply } | { error: unknown } | undefined;
  async function next(): Promise<IteratorResult<StreamDelta, undefined>> {
    try {
      const deltas = await (opened ??= open());
      const step = await deltas.next();
      if (!step.done) {
        if (step.value.type === 'text') text += step.value.text;
        return step;
      }
      outcome ??= step.value === undefined ? undefined : { reply: step.value };
      return { done: true, value: undefined };
    } catch (error) {
      outcome ??= { error };
      if (isGatewayError(error)) progress.billed = error.billed;
      throw error;
    }
  }
  async function leave(): Promise<IteratorResult<StreamDelta, undefined>> {
    const deltas = await (opened ??= open());
    await deltas.return(undefined as never);
    return { done: true, value: undefined };
  }
  return {
    [Symbol.asyncIterator]: () => ({ next, return: leave }),
    async reply() {
      while (outcome === undefined) if ((await next()).done) break;
      if (outcome === undefined) signal?.throwIfAborted();
      if (outcome === undefined) throw new GatewayError('incomplete', 'the stream was left before its end');
      if ('error' in outcome) throw outcome.error;
      return outcome.reply;
    },
    received: (): Received => ({ text, ...progress }),
  };
}
