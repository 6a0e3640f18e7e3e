import { timeText } from '../time-text.ts';

/** What is known of a run under way. */
export interface ProgressFacts {
  /** Jobs that this run sends, and how many of them have ended. */
  due: number;
  ended: number;
  failed: number;
  tokens: number;
  elapsedMs: number;
  /** ms until a pause that the gateway asked for is over. */
  pausedMs: number;
}

/** One line for people: done, failed, rate, tokens, time left. */
export function progressText({ due, ended, failed, tokens, elapsedMs, pausedMs }: ProgressFacts): string {
  const perSecond = elapsedMs > 0 ? (ended / elapsedMs) * 1000 : 0;
  const parts = [`${ended} of ${due}`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (ended > 0) parts.push(rateText(perSecond));
  if (tokens > 0) parts.push(`${short(tokens)} tokens`);
  if (pausedMs > 0) parts.push(`paused for ${timeText(Math.ceil(pausedMs / 1000) * 1000)}`);
  else if (ended > 0 && ended < due) parts.push(`${timeText(((due - ended) / perSecond) * 1000)} left`);
  return parts.join(', ');
}

function rateText(perSecond: number): string {
  if (perSecond >= 10) return `${Math.round(perSecond)}/s`;
  if (perSecond >= 1) return `${perSecond.toFixed(1)}/s`;
  return `${(perSecond * 60).toFixed(1)}/min`;
}

function short(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}
