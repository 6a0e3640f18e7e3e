/** Longest time a timer can take; a longer one would fire at once (faults.md 0, finding 9). */
export const longestTimerMs = 2 ** 31 - 1;

interface HintOptions {
  /** Wall clock in ms, used where the reply has no Date. */
  now: number;
  /** RetryInfo of the body in ms, where it had one. */
  bodyHintMs?: number | undefined;
}

/** How long the gateway wants us to wait, in ms: retry-after-ms, retry-after, then the body's RetryInfo. Nonsense is ignored. */
export function retryHintMs(
  headers: Readonly<Record<string, string>>,
  { now, bodyHintMs }: HintOptions,
): number | undefined {
  return (
    clamped(decimal(headers['retry-after-ms'])) ??
    clamped(retryAfterMs(headers, now)) ??
    clamped(bodyHintMs === undefined ? undefined : Math.ceil(bodyHintMs))
  );
}

function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const text = headers['retry-after'];
  const seconds = decimal(text);
  if (seconds !== undefined) return seconds * 1000;
  const until = httpDate(text);
  // The clocks of both machines may differ by days: the reply's own Date is the one that counts.
  return until === undefined ? undefined : Math.max(0, until - (httpDate(headers['date']) ?? now));
}

function decimal(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

/** `Date.parse` takes almost anything for a date; an HTTP-date begins with the name of a day. */
function httpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

function clamped(ms: number | undefined): number | undefined {
  if (ms === undefined || Number.isNaN(ms) || ms < 0) return undefined;
  return Math.min(Math.ceil(ms), longestTimerMs);
}
