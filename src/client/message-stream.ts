import { GatewayError } from '../errors.ts';
import type { StreamDelta } from '../formats/messages/types.ts';
import type { MemoryPicture, MessageStream, Reply } from './client-types.ts';

/** What a generator returns or throws is kept for `reply`; its deltas go to whoever loops. */
export function openStream(
  asking: AsyncGenerator<StreamDelta, Reply<MemoryPicture>>,
  signal: AbortSignal | undefined,
): MessageStream {
  let outcome: { reply: Reply } | { error: unknown } | undefined;
  async function next(): Promise<IteratorResult<StreamDelta, undefined>> {
    try {
      const step = await asking.next();
      if (!step.done) return step;
      outcome ??= step.value === undefined ? undefined : { reply: step.value };
      return { done: true, value: undefined };
    } catch (error) {
      outcome ??= { error };
      throw error;
    }
  }
  async function leave(): Promise<IteratorResult<StreamDelta, undefined>> {
    await asking.return(undefined as never);
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
  };
}
