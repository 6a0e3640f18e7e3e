import { hash } from 'node:crypto';
import type { JsonValue } from '../library/index.ts';
import type { Vary } from './types.ts';

/** One of the jobs that a row of the table becomes if values vary. */
export interface Variation {
  /** The text for people: `effort=low model=a`. */
  label: string;
  /** The end of the ids of its jobs: `+effort=low+model=a`. */
  suffix: string;
  values: Readonly<Record<string, JsonValue>>;
}

/** Every combination of the values, in the order of the values. Keys are sorted, so that ids do not depend on the order of flags. */
export function listVariations(vary: Vary = {}): Variation[] {
  let found: Variation[] = [{ label: '', suffix: '', values: {} }];
  for (const key of Object.keys(vary).sort())
    found = found.flatMap(({ label, suffix, values }) =>
      (vary[key] ?? []).map((value) => {
        const pair = `${key}=${toIdText(value)}`;
        return {
          label: `${label}${label && ' '}${pair}`,
          suffix: `${suffix}+${pair}`,
          values: { ...values, [key]: value },
        };
      }),
    );
  return found;
}

/** The text of a value in an id. Longer values, and values that an id cannot hold, are cut, and end with their hash. */
function toIdText(value: JsonValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= 60 && !/[\p{Cc}\s]/u.test(text)) return text;
  return `${text.slice(0, 30).replaceAll(/[\p{Cc}\s]+/gu, '-')}~${hash('sha256', text, 'hex').slice(0, 8)}`;
}

/** The id of the row of a job, and the variation of the row that the job is. */
export function parseVariedId(
  id: string,
  variations: readonly Variation[],
): { id: string; variation: Variation } | undefined {
  // The text `+model=a` is the end of `+effort=low+model=a`, too.
  const [variation] = variations
    .filter(({ suffix }) => suffix !== '' && id.endsWith(suffix))
    .toSorted((a, b) => b.suffix.length - a.suffix.length);
  return variation && { id: id.slice(0, -variation.suffix.length), variation };
}
