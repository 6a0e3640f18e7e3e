import type { JsonObject } from '../../json.ts';
import { numberAt, textAt, valueAt } from '../fields/read.ts';
import { hashText } from './random.ts';

/** A number within a schema's bounds (also the boolean exclusive bounds of older schemas). */
export function numberInstance(schema: JsonObject, seed: string): number {
  const whole = textAt(schema, 'type')?.toLowerCase() !== 'number';
  const step = numberAt(schema, 'multipleOf') ?? (whole ? 1 : 0.5);
  const low = lowerBound(schema, step);
  const high = upperBound(schema, step);
  if (low === undefined && high === undefined) return snap(1 + (hashText(seed) % 9), step);
  const from = low ?? (high ?? 0) - 4 * step;
  const first = snap(from, step);
  const choices = Math.min(Math.floor(((high ?? from + 4 * step) - first) / step) + 1, 5);
  if (choices < 1) return first <= (high ?? Infinity) ? first : from;
  const values = Array.from({ length: choices }, (_, index) =>
    clean(first + ((hashText(seed) + index) % choices) * step),
  );
  // Validators divide in binary, where 0.7 is no multiple of 0.1: a value that passes even so comes first.
  return values.find((value) => Number.isInteger(value / step)) ?? first;
}

function lowerBound(schema: JsonObject, step: number): number | undefined {
  const minimum = numberAt(schema, 'minimum');
  const exclusive =
    numberAt(schema, 'exclusiveMinimum') ?? (valueAt(schema, 'exclusiveMinimum') === true ? minimum : undefined);
  if (exclusive === undefined) return minimum;
  const next = snap(exclusive, step);
  return Math.max(minimum ?? -Infinity, next > exclusive ? next : clean(next + step));
}

function upperBound(schema: JsonObject, step: number): number | undefined {
  const maximum = numberAt(schema, 'maximum');
  const exclusive =
    numberAt(schema, 'exclusiveMaximum') ?? (valueAt(schema, 'exclusiveMaximum') === true ? maximum : undefined);
  if (exclusive === undefined) return maximum;
  const last = clean(Math.floor(exclusive / step) * step);
  return Math.min(maximum ?? Infinity, last < exclusive ? last : clean(last - step));
}

/** The first multiple of the step that is not below a value. */
function snap(value: number, step: number): number {
  return clean(Math.ceil(clean(value / step)) * step);
}

/** Takes the noise of binary fractions away: 0.30000000000000004 is 0.3. */
function clean(value: number): number {
  return Number(value.toPrecision(12));
}
