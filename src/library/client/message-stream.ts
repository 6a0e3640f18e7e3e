import { GatewayError, isGatewayError } from '../errors.ts';
import type { StreamDelta } from '../formats/events.ts';
import type { CallEvent } from './events.ts';
import type { MemoryPicture, MessageStream, Received, Reply } from './client-types.ts';

/** Gives the deltas of a generator to the caller's loop, and keeps its result or error for `reply`. */
export function openMessageStream(
  open: (listener: (event: CallEvent) => void) => Promise<AsyncGenerator<StreamDelta, Reply<MemoryPicture>>>,
  signal: AbortSignal | undefined,
): MessageStream {
  let opened: ReturnType<typeof open> | undefined;
  let text = '';
  let known: Omit<Received, 'text'> = { attempts: 0, sent: 'no', billed: 'no' };
  const listener = (event: CallEvent): void => {
    if (event.type === 'sent') known = { attempts: event.attempts, sent: 'yes', billed: 'unknown' };
    if (event.type === 'answered') known = { ...known, billed: 'yes' };
  };
  let outcome: { reply: Reply } | { error: unknown } | undefined;
  async function next(): Promise<IteratorResult<StreamDelta, undefined>> {
    try {
      const deltas = await (opened ??= open(listener));
      const step = await deltas.next();
      if (!step.done) {
        if (step.value.type === 'text') text += step.value.text;
        return step;
      }
      outcome ??= step.value === undefined ? undefined : { reply: step.value };
      return { done: true, value: undefined };
    } catch (error) {
      outcome ??= { error };
      if (isGatewayError(error)) known = { ...known, billed: error.billed };
      throw error;
    }
  }
  async function leave(): Promise<IteratorResult<StreamDelta, undefined>> {
    const deltas = await (opened ??= open(listener));
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
    received: () => ({ text, ...known }),
  };
}
