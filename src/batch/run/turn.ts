import type { Deadline } from '../../client/deadline.ts';
import type { BuiltRequest } from '../../cli/request/build-request.ts';
import type { CheckedJob } from '../jobs/request.ts';
import type { Performing } from './send-job.ts';

/** A job whose turn has come: its time runs. */
export interface Turn {
  call: Call;
  started: number;
  /** With what its URLs name. */
  built: BuiltRequest;
  /** Why that could not be fetched. */
  failure: unknown;
}

/** Starts the time of a job and fetches what its URLs name. */
export async function beginTurn(prepared: CheckedJob, { batch, flight, startDeadline }: Performing): Promise<Turn> {
  const started = batch.context.io.elapsed();
  const deadline = startDeadline(prepared.settings.timeoutMs.value);
  const call: Call = { attempts: 1, out: false, flying: false, deadline };
  flight.begin(call);
  let { built } = prepared;
  const failure = await attempt(async () => {
    built = (await prepared.fetchInputs?.(deadline)) ?? built;
  });
  return { call, started, built, failure };
}

/** The job has ended, or is not sent after all. */
export function endTurn({ call }: Turn, { flight }: Performing): void {
  flight.end(call);
  call.deadline.end();
}

/** What an act throws. */
export async function attempt(act: () => Promise<void>): Promise<unknown> {
  try {
    await act();
    return undefined;
  } catch (error) {
    return error ?? new Error('nothing was thrown');
  }
}

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
export interface ActiveCalls {
  begin(call: Call): void;
  end(call: Call): void;
  /** Jobs whose request is out and whose answer is waited for. */
  readonly flying: number;
  /** The signal that ends those that fly too, when their time is over. */
  landBy(signal: AbortSignal): void;
}

/** `stop` ends at once what only waits to be sent. */
export function trackActiveCalls(stop: AbortSignal): ActiveCalls {
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
