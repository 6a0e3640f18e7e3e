import { isObject, type JsonValue } from '../json.ts';
import { maxOf } from '../long-lists.ts';

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const span = /^(\d{1,12}(?:\.\d{1,12})?) ?(ms|s(?:econds?)?|m(?:inutes?)?|h(?:ours?)?)(?![a-z])/;
const leads = ['retry in ', 'try again in ', 'retry after '];

/** Milliseconds of a protobuf duration: `"34.4s"`, or `{seconds, nanos}` as some libraries write it (formats 2). */
export function durationMs(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'string') return readSpan(value);
  if (!isObject(value)) return undefined;
  const seconds = Number(value['seconds'] ?? 0);
  const nanos = Number(value['nanos'] ?? 0);
  return usable(seconds * 1000 + nanos / 1e6);
}

/** Milliseconds that a message asks for in prose: `Please retry in 25.465784708s.` (formats 2). */
export function proseDelayMs(message: string): number | undefined {
  const text = message.toLowerCase();
  for (const lead of leads) {
    const at = text.indexOf(lead);
    const delay = at < 0 ? undefined : readSpan(text.slice(at + lead.length, at + lead.length + 40));
    if (delay !== undefined) return delay;
  }
  return undefined;
}

/**
 * Milliseconds until a limit is over. OpenAI: `x-ratelimit-reset-requests: 1m20s`; Anthropic:
 * `anthropic-ratelimit-requests-reset: 2026-01-27T12:00:00Z`. There are limits of requests and of tokens; those that are used up
 * count. `resetAt` is a moment by the clock of the service.
 */
export function resetDelayMs(
  headers: Readonly<Record<string, string | undefined>>,
  resetAt?: number,
): number | undefined {
  if (resetAt !== undefined) return usable(resetAt - Date.parse(headers['date'] ?? ''));
  const isLimitUsedUp = (name: string): boolean => (headers[name] ?? '0').trim() === '0';
  const delays = ['requests', 'tokens']
    .filter((kind) => isLimitUsedUp(`x-ratelimit-remaining-${kind}`))
    .flatMap((kind) => readSpan(headers[`x-ratelimit-reset-${kind}`]?.trim() ?? '') ?? []);
  const now = Date.parse(headers['date'] ?? '');
  for (const kind of ['requests', 'tokens', 'input-tokens', 'output-tokens']) {
    const delay = usable(Date.parse(headers[`anthropic-ratelimit-${kind}-reset`] ?? '') - now);
    if (delay !== undefined && isLimitUsedUp(`anthropic-ratelimit-${kind}-remaining`)) delays.push(delay);
  }
  return delays.length === 0 ? undefined : maxOf(delays);
}

/** Reads `1m2.5s` from the beginning of a short text. */
function readSpan(text: string): number | undefined {
  let total: number | undefined;
  for (let rest = text.slice(0, 40), match = span.exec(rest); match; match = span.exec(rest)) {
    const unit = match[2] === 'ms' ? 'ms' : (match[2]?.[0] ?? '');
    total = (total ?? 0) + Number(match[1]) * (unitMs[unit] ?? 0);
    rest = rest.slice(match[0].length);
  }
  return usable(total);
}

function usable(ms: number | undefined): number | undefined {
  return ms !== undefined && Number.isFinite(ms) && ms >= 0 ? Math.ceil(ms) : undefined;
}
