import { isRunning, type ProcessMark } from '../files/process-mark.ts';
import { addAmounts, areWithin } from './cost.ts';
import { dayOf, type LedgerLimit, type LedgerState, type Period, type ReservedLine } from './ledger-lines.ts';

/** Requests of hosts that cannot be seen from here count as under way for this time, ms. */
const unseenMs = 15 * 60_000;

/** Whether a request has room: if not, what is spent, or that requests under way have taken what they may leave. */
export type Room = 'free' | 'taken' | { spent: string };

export function roomFor(amount: string, state: LedgerState, { limit, now }: { limit: LedgerLimit; now: number }): Room {
  const { spent: ended, held, inFlight } = spentOf(state, limit.per, now);
  // A batch can take a day: no request waits for what it may leave.
  const spent = addAmounts(ended, held);
  const isOver = !areWithin([spent, amount], limit.amount) || areWithin([limit.amount], spent);
  if (isOver) return { spent };
  return areWithin([spent, inFlight, amount], limit.amount) ? 'free' : 'taken';
}

/**
 * What is spent in the period of a time, what batches hold, and what requests under way have reserved. A request whose process has
 * ended may have been billed: it counts as spent.
 */
export function spentOf(
  { days, open }: LedgerState,
  per: Period,
  now: number,
): { spent: string; held: string; inFlight: string } {
  const today = new Date(now).toISOString();
  const period = per === undefined ? '' : today.slice(0, per === 'day' ? 10 : 7);
  const ended = [...days].flatMap(([day, amount]) => (day.startsWith(period) ? [amount] : []));
  const isInFlight = judgeProcesses(now);
  const all = [...open.values()].filter(({ at }) => dayOf(at).startsWith(period));
  const alone = all.filter(({ held }) => held === undefined);
  return {
    spent: addAmounts(...ended, sumOfLines(alone.filter((line) => !isInFlight(line)))),
    held: sumOfLines(all.filter(({ held }) => held !== undefined)),
    inFlight: sumOfLines(alone.filter(isInFlight)),
  };
}

/** Whether the process of a reservation is running; each is looked at once. */
export function judgeProcesses(now: number): (line: { by: ProcessMark; at: string }) => boolean {
  const known = new Map<string, boolean | undefined>();
  return ({ by, at }) => {
    const key = JSON.stringify(by);
    if (!known.has(key)) known.set(key, isRunning(by));
    return known.get(key) ?? Math.abs(now - Date.parse(at)) < unseenMs;
  };
}

function sumOfLines(lines: readonly ReservedLine[]): string {
  return addAmounts(...lines.map(({ amount }) => amount));
}
