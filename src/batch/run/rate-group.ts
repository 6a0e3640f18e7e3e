import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import {
  describeReadError,
  getErrorCode,
  notWritten,
  parseObject,
  type SharedGate,
  type Sleep,
  usageError,
  withLock,
} from '../../library/index.ts';
import type { Pacer } from './pace.ts';

/** The content of the file of a group. Times are wall clock, ms since 1970. */
interface GroupState {
  /** The time at which the next request can go out. */
  next: number;
  /** The end of the wait that a service asked of one of the processes. */
  until: number;
}

interface Group {
  path: string;
  spacingMs: number;
  now: () => number;
  sleep: Sleep;
}

/** A turn that is farther away, in ms, cannot be: the clock was set back. */
const farthestMs = 24 * 60 * 60_000;

/** Spaces the requests of all processes that name the file, and holds all of them back while a service has one of them wait. */
export function shareRate(gate: SharedGate, group: Group): { gate: SharedGate; pace: Pacer } {
  let holding: Promise<void> = Promise.resolve();
  const takeTurn = queueTurns(group);
  const pace = async (signal: AbortSignal): Promise<void> => {
    await holding;
    for (;;) {
      const turn = await takeTurn(signal);
      for (let ms = turn - group.now(); ms > 0; ms = turn - group.now()) await group.sleep(ms, signal);
      // Another process may have been asked to wait since the turn was taken.
      if (readGroup(group).until <= group.now()) return;
    }
  };
  const holdOthers = (waitMs: number): void => {
    gate.close(waitMs);
    holding = Promise.all([holding, extendWait(group, waitMs)]).then(() => undefined);
    // The failure is thrown by the next turn.
    holding.catch(() => undefined);
  };
  const { enter, allowRetry, succeeded } = gate;
  return {
    pace,
    gate: {
      enter,
      allowRetry,
      succeeded,
      close: holdOthers,
      get waitMs() {
        return gate.waitMs;
      },
    },
  };
}

/** The requests of this process take their turns one after the other, so that they do not contend for the lock. */
function queueTurns(group: Group): (signal: AbortSignal) => Promise<number> {
  let last: Promise<unknown> = Promise.resolve();
  return (signal) => {
    const taken = last.then(() => takeTurn(group, signal));
    last = taken.catch(() => undefined);
    return taken;
  };
}

async function takeTurn(group: Group, signal: AbortSignal): Promise<number> {
  let turn = 0;
  await changeGroup(group, signal, ({ next, until }) => {
    turn = Math.max(group.now(), next, until);
    return { next: turn + group.spacingMs, until };
  });
  return turn;
}

function extendWait(group: Group, waitMs: number): Promise<void> {
  const signal = AbortSignal.timeout(farthestMs);
  return changeGroup(group, signal, ({ next, until }) => ({ next, until: Math.max(until, group.now() + waitMs) }));
}

async function changeGroup(
  group: Group,
  signal: AbortSignal,
  change: (state: GroupState) => GroupState,
): Promise<void> {
  const { path } = group;
  await withLock(`${path}.lock`, signal, () => {
    // The file is replaced by a rename, so that readers without the lock see a whole file.
    const part = `${path}.part`;
    writeFileSync(part, `${JSON.stringify(change(readGroup(group)))}\n`);
    renameSync(part, path);
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw notWritten(path, error);
  });
}

/** Reads the state of a group. A file that is not there, or was broken by a crash, holds no request back. */
function readGroup({ path, now }: Group): GroupState {
  const { next, until } = parseObject(readGroupText(path));
  const toTime = (value: unknown): number =>
    typeof value === 'number' && value < now() + farthestMs ? value : Number.NEGATIVE_INFINITY;
  return { next: toTime(next), until: toTime(until) };
}

function readGroupText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return '';
    const hint = 'make it readable, then run the same command again: it continues where it stopped';
    throw usageError(`the rate group ${path} cannot be read: ${describeReadError(error)}`, hint, error);
  }
}
