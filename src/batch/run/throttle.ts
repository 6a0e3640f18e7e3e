import { usageError } from '../../errors.ts';
import { createGate, type GateOptions, type SharedGate } from '../../transport/gate.ts';
import type { Lock } from '../folder/lock.ts';
import type { Context } from '../../cli/context.ts';
import type { BatchFlags } from '../flags.ts';

/** Waits for the turn of one request; rejects with the signal's reason. */
export type Pacer = (signal: AbortSignal) => Promise<void>;

/** Throws GatewayError usage for a group without a rate. */
export function requireRate({ rate, rateGroup }: Pick<BatchFlags, 'rate' | 'rateGroup'>): void {
  if (rateGroup !== undefined && rate === undefined)
    throw usageError('--rate-group shares a rate, and none is given', 'add it: --rate 60/m');
}

/** How the requests of a run are spaced, and what holds them back after a 429: alone, or with all processes of `--rate-group`. */
export async function openThrottle(
  { rate, rateGroup }: Pick<BatchFlags, 'rate' | 'rateGroup'>,
  options: GateOptions,
  context: Context,
): Promise<{ gate: SharedGate; pace: Pacer }> {
  const gate = createGate(options);
  if (rateGroup === undefined || rate === undefined) return { gate, pace: createPacer(rate, options) };
  const { joinGroup } = await import('./rate-group.ts');
  return joinGroup(gate, { rateGroup, spacingMs: rate, sleep: options.sleep }, context);
}

/** Spaces requests evenly: each call waits for its own turn. A time without requests is not made up for by a burst. */
export function createPacer(
  spacingMs: number | undefined,
  { elapsed, sleep }: Pick<GateOptions, 'elapsed' | 'sleep'>,
): Pacer {
  const atOnce = Promise.resolve();
  if (spacingMs === undefined) return () => atOnce;
  let nextAt = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    const turn = Math.max(nextAt, elapsed());
    nextAt = turn + spacingMs;
    for (let ms = turn - elapsed(); ms > 0; ms = turn - elapsed()) await sleep(ms, signal);
  };
}

/** The part of the gate that one job uses. */
type JobGate = Pick<SharedGate, 'enter' | 'close' | 'allowRetry'>;

/** The gate of one job, which each of its attempts enters. The first one had its turn before it was recorded as sent. */
export function paceRetries(gate: JobGate, pace: Pacer, lock: Pick<Lock, 'check'>): JobGate {
  let isFirst = true;
  return {
    close: gate.close,
    allowRetry: gate.allowRetry,
    async enter(signal) {
      if (!isFirst) await pace(signal);
      isFirst = false;
      // It may close while the turn is waited for, and the lock may be lost while it is closed.
      await gate.enter(signal);
      await lock.check();
    },
  };
}

/** The longest work in one turn of the event loop, in ms. What is left waits for turns of its own. */
const longestMs = 2;

/**
 * Keeps turns short. Many replies may come at once; read all in one turn, they would hold up the requests that follow them
 * until its end, and go out together again. Undefined: there is time left.
 */
export function createYield(elapsed: () => number): () => Promise<void> | undefined {
  const waiting: (() => void)[] = [];
  let began: number | undefined;
  const end = (): void => void (began = undefined);
  const next = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(next);
  };
  const isShort = (): boolean => {
    if (began === undefined) setImmediate(end);
    began ??= elapsed();
    return elapsed() - began < longestMs;
  };
  return () => {
    if (waiting.length === 0 && isShort()) return undefined;
    return new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(next);
    });
  };
}
