import type { Deadline } from '../../client/deadline.ts';

/** A job under way. */
export interface Call {
  attempts: number;
  /** The request, or one of its attempts, went out and may have been billed. */
  out: boolean;
  /** An attempt is under way: its answer is paid for, and worth waiting for. */
  flying: boolean;
  deadline: Deadline;
}

/** All jobs under way: two signals end them, and no job has to listen for itself. */
export interface Flight {
  begin(call: Call): void;
  end(call: Call): void;
  /** Jobs whose request is out and whose answer is waited for. */
  readonly flying: number;
  /** The signal that ends those that fly too, when their time is over. */
  landBy(signal: AbortSignal): void;
}

/** `stop` ends at once what only waits to be sent. */
export function createFlight(stop: AbortSignal): Flight {
  const calls = new Set<Call>();
  let landing: AbortSignal | undefined;
  const endWaiting = (): void => {
    for (const { flying, deadline } of calls) if (!flying) deadline.abort(stop.reason);
  };
  stop.addEventListener('abort', endWaiting, { once: true });
  return {
    begin(call) {
      calls.add(call);
      if (stop.aborted) call.deadline.abort(stop.reason);
    },
    end: (call) => void calls.delete(call),
    get flying() {
      return [...calls].filter(({ flying }) => flying).length;
    },
    landBy(signal) {
      if (landing === signal) return;
      landing = signal;
      signal.addEventListener('abort', () => calls.forEach(({ deadline }) => deadline.abort(signal.reason)));
    },
  };
}
