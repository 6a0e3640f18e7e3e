import { GatewayError } from '../../errors.ts';
import { isObject } from '../../json.ts';
import { closest } from '../../settings/closest.ts';
import { shellWord } from '../../shell-word.ts';
import { jsonLine } from '../../terminal/json-line.ts';
import type { Context } from '../context.ts';
import { fieldPathText } from '../flags/field.ts';

/** Whether stdout gets nothing while an answer comes: its end prints the document, one value of it, or the code alone. */
export function isPrintedAtEnd({ root, report }: Pick<Context, 'root' | 'report'>): boolean {
  return root.json === true || report.selected !== undefined;
}

/** The line that `--field` prints of a document; undefined where it has no such value. */
export function fieldLine(document: object, steps: readonly string[]): string | undefined {
  let value: unknown = document;
  for (const step of steps) value = valueAt(value, step);
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return jsonLine(value);
  return value.endsWith('\n') ? value : `${value}\n`;
}

/** The value that was asked for is not there (exit 10). The hint has the nearest path that is. */
export function noSuchField(document: object, steps: readonly string[]): GatewayError {
  let known = 0;
  let value: unknown = document;
  for (let next = valueAt(value, steps[0] ?? ''); next !== undefined; next = valueAt(value, steps[known] ?? '')) {
    value = next;
    known++;
  }
  return new GatewayError('no-result', `the result has no value at ${fieldPathText(steps)}`, {
    hint: nearestHint(value, steps.slice(0, known), steps[known] ?? ''),
    sent: 'yes',
    retryable: false,
  });
}

function nearestHint(value: unknown, before: readonly string[], step: string): string {
  const names = keysOf(value);
  const path = before.length === 0 ? 'the result' : fieldPathText(before);
  if (before.length === 0 && step === 'answer') return 'the result has an answer only with --schema';
  if (names.length === 0) return `${path} holds nothing further`;
  if (Array.isArray(value))
    return `${path} has ${names.length} of them; the last is ${fieldPathText([...before, names.at(-1) ?? ''])}`;
  const near = closest(step, names);
  if (near === undefined) return `${path} has: ${names.join(', ')}`;
  return `the nearest that it has: --field ${shellWord(fieldPathText([...before, near]))}`;
}

function valueAt(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return /^\d{1,9}$/.test(step) ? (value[Number(step)] as unknown) : undefined;
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** Where a key has no value, the document does not have it. */
function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return [...value.keys()].map(String);
  return isObject(value) ? Object.keys(value).filter((key) => value[key] !== undefined) : [];
}
