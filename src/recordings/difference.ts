import { isObject, type JsonValue } from '../json.ts';
import type { RecordedRequest } from './format.ts';

/** One place where two requests are not the same; undefined where only one of them has it. */
export interface Difference {
  /** `path`, `body.messages.0.content` */
  place: string;
  recorded: string | undefined;
  asked: string | undefined;
}

const mostDifferences = 1000;
const shownLength = 60;

/** What differs between a recorded request and one that was asked for, place by place. */
export function differences(recorded: RecordedRequest, asked: RecordedRequest): Difference[] {
  const found: Difference[] = [];
  compare('method', recorded.method, asked.method, found);
  compare('path', recorded.path, asked.path, found);
  compare('body', recorded.body, asked.body, found);
  return found;
}

/** How unlike two requests are: another path weighs more than any text. */
export function distance(found: readonly Difference[]): number {
  return found.reduce((sum, { place }) => sum + (place === 'path' || place === 'method' ? 100 : 1), 0);
}

/** One line a difference, at most `most`; long texts begin where they part. */
export function describeDifferences(found: readonly Difference[], most = 5): string[] {
  const lines = found.slice(0, most).map(({ place, recorded, asked }) => {
    const from = Math.max(0, commonStart(recorded ?? '', asked ?? '') - 20);
    return `${place}: recorded ${excerpt(recorded, from)}, asked ${excerpt(asked, from)}`;
  });
  return found.length > most ? [...lines, `and ${found.length - most} more`] : lines;
}

function compare(
  place: string,
  recorded: JsonValue | undefined,
  asked: JsonValue | undefined,
  out: Difference[],
): void {
  if (out.length >= mostDifferences) return;
  if (Array.isArray(recorded) && Array.isArray(asked)) {
    for (let i = 0; i < Math.max(recorded.length, asked.length); i++)
      compare(`${place}.${i}`, recorded[i], asked[i], out);
    return;
  }
  if (isObject(recorded) && isObject(asked)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(asked)]);
    for (const name of names) compare(`${place}.${name}`, own(recorded, name), own(asked, name), out);
    return;
  }
  const [left, right] = [textOf(recorded), textOf(asked)];
  if (left !== right) out.push({ place, recorded: left, asked: right });
}

function own(object: Record<string, JsonValue>, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}

function commonStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}

function excerpt(text: string | undefined, from: number): string {
  if (text === undefined) return 'nothing';
  if (text.length <= shownLength) return text;
  const part = text.slice(from, from + shownLength);
  return `${from > 0 ? '…' : ''}${part}${from + shownLength < text.length ? '…' : ''}`;
}
