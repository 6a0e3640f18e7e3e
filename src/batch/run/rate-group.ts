import { readFile, rename, writeFile } from 'node:fs/promises';
import { withLock } from '../../files/lock.ts';
import { notWritten } from '../../files/temp-file.ts';
import { parseObject } from '../../json.ts';
import type { SharedGate, Sleep } from '../../transport/gate.ts';
import type { Pacer } from './pace.ts';

/** What the file of a group holds: wall clock, ms since 1970. */
interface GroupState {
  /** When the next request can go out. */
  next: number;
  /** Until when a service asked one of the processes to wait. */
  until: number;
}

interface Group {
  path: string;
  spacingMs: number;
  now: () => number;
  sleep: Sleep;
}

/** No turn is so far away, in ms: the clock was set back. */
const farthestMs = 24 * 60 * 60_000;

/** Spaces the requests of all processes that name the file, and holds all of them back while one was asked to wait. */
export function shareRate(gate: SharedGate, group: Group): { gate: SharedGate; pace: Pacer } {
  let holding: Promise<void> = Promise.resolve();
  const pace = async (signal: AbortSignal): Promise<void> => {
    await holding;
    for (;;) {
      const turn = await takeTurn(group, signal);
      for (let ms = turn - group.now(); ms > 0; ms = turn - group.now()) await group.sleep(ms, signal);
      // Another process may have been asked to wait since the turn was taken.
      if ((await readGroup(group)).until <= group.now()) return;
    }
  };
  const holdOthers = (waitMs: number): void => {
    gate.close(waitMs);
    holding = Promise.all([holding, extendWait(group, waitMs)]).then(() => undefined);
    // The next turn throws it.
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

async function changeGroup(group: Group, signal: AbortSignal, next: (state: GroupState) => GroupState): Promise<void> {
  const { path } = group;
  await withLock(`${path}.lock`, signal, async () => {
    // Renamed, so that readers without the lock see a whole file.
    const part = `${path}.part`;
    await writeFile(part, `${JSON.stringify(next(await readGroup(group)))}\n`);
    await rename(part, path);
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw notWritten(path, error);
  });
}

/** A file that is not there, or was broken by a crash, holds no request back. */
async function readGroup({ path, now }: Group): Promise<GroupState> {
  const { next, until } = parseObject(await readGroupText(path));
  const toTime = (value: unknown): number =>
    typeof value === 'number' && value < now() + farthestMs ? value : Number.NEGATIVE_INFINITY;
  return { next: toTime(next), until: toTime(until) };
}

function readGroupText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw notWritten(path, error);
  });
}
