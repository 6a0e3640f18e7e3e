import { longestTimerMs, usageError } from '../../library/index.ts';

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The form of a typed duration. Its groups are the number and the unit. */
export const durationForm = /^\s*(\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})(ms|s|m|h)?\s*$/;

/**
 * Milliseconds of a duration: `500ms`, `90s`, `2m`, `1h`, or `90` for seconds; decimals are allowed. Throws usage for every other
 * text, zero, and what is too long; the message has its source: `flag --timeout`.
 */
export function parseDuration(text: string, name: string): number {
  const match = durationForm.exec(text);
  if (match === null) throw usageError(`${name} is not a duration: ${JSON.stringify(text.slice(0, 40))}`, forms);
  const unit = (match[2] ?? 's') as keyof typeof unitMs;
  const exact = Number(match[1]) * unitMs[unit];
  if (!(exact > 0)) throw usageError(`${name} takes a duration above 0`, forms);
  if (exact > longestTimerMs) throw usageError(`${name} is too long: ${text.trim()}`, 'at most 596h');
  return Math.max(1, Math.round(exact));
}

const forms = 'write 90 (seconds), 500ms, 90s, 2m or 1h';

/** Milliseconds of an age: `7d`, `12h`, `30m`, `90s`, `500ms`, however long. Throws usage like `parseDuration`. */
export function parseAge(text: string, name: string): number {
  const [, count, unit] = /^\s*(\d{1,9}(?:\.\d{1,9})?)(ms|[smhd])\s*$/.exec(text) ?? [];
  if (unit === undefined)
    throw usageError(`${name} is not an age: ${JSON.stringify(text.slice(0, 40))}`, 'write 7d, 12h, 30m or 90s');
  return Math.round(Number(count) * unitMs[unit as keyof typeof unitMs]);
}

/** A duration or an age in the form that users type, in the largest unit that keeps it whole: 600000 is `10m`, 1500 is `1500ms`. */
export function formatDuration(ms: number): string {
  const whole = Math.round(ms);
  for (const unit of ['h', 'm', 's'] as const) {
    if (whole >= unitMs[unit] && whole % unitMs[unit] === 0) return `${whole / unitMs[unit]}${unit}`;
  }
  return `${whole}ms`;
}

/** The form of a typed budget: `team:20/month`. Its groups are the name or path, the amount and the period. */
export const budgetForm = /^([^:].*):(?=[0.]*[1-9])(\d{1,12}(?:\.\d{1,12})?)(?:\/(day|month))?$/;

/** The value for no budget, whatever a profile says. */
export const noBudget = 'none';

/** A limit of costs that runs share. */
export interface BudgetSetting {
  /** A name in the state folder, or a path. */
  place: string;
  amount: string;
  per: 'day' | 'month' | undefined;
}

/** Reads a budget. Throws GatewayError usage that names its source. */
export function parseBudget(text: string, from: string): BudgetSetting {
  const [, place, amount, per] = budgetForm.exec(text.trim()) ?? [];
  if (place !== undefined && amount !== undefined) return { place, amount, per: per as BudgetSetting['per'] };
  throw usageError(
    `${from}: not a budget: ${JSON.stringify(text.slice(0, 60))}`,
    'write <name|path>:<amount>, with /day or /month if it has a period: --budget team:20/month',
  );
}

/** Whether a budget is a file, and not a name in the state folder. */
export function isBudgetPath(place: string): boolean {
  return /[\\/]/.test(place) || place.endsWith('.jsonl');
}

/** The same budget for a program that runs in another folder: `move` changes its path. */
export function moveBudget(text: string, move: (path: string) => string): string {
  const [, place] = budgetForm.exec(text.trim()) ?? [];
  return place !== undefined && isBudgetPath(place) ? move(place) + text.trim().slice(place.length) : text;
}
