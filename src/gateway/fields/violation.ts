import type { JsonValue } from '../../json.ts';
import type { Path } from '../types.ts';

/** What is wrong with a value. */
export type Breach =
  | { kind: 'unknown'; name: string; hint?: string | undefined }
  | { kind: 'missing' }
  | { kind: 'type'; expected: string; value: JsonValue }
  /** A number outside of its bounds. */
  | { kind: 'range'; side: 'below' | 'above'; limit: number; value: number; isWhole: boolean }
  /** A list with too few or too many values. */
  | { kind: 'length'; side: 'below' | 'above'; limit: number; length: number }
  /** A string that is not among the known ones, though a newer list of the field's values could have it. */
  | { kind: 'choice'; allowed: readonly string[]; value: string }
  | { kind: 'value'; text: string };

/** A field that breaks a rule; its format makes the error reply of it. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly path: Path;
  readonly breach: Breach;

  constructor(path: Path, breach: Breach) {
    super(breach.kind);
    this.path = path;
    this.breach = breach;
  }
}

/** A violation where a value has the right type and is not allowed. */
export function badValue(path: Path, text: string): Violation {
  return new Violation(path, { kind: 'value', text });
}

/** The words of the content and the messages format for a value of the right type that is not allowed. */
export function valueText(path: Path, breach: Exclude<Breach, { kind: 'unknown' | 'missing' | 'type' }>): string {
  switch (breach.kind) {
    case 'range':
      return `Input should be ${breach.side === 'below' ? 'greater' : 'less'} than or equal to ${breach.limit}`;
    case 'length':
      if (breach.side === 'below') return `${String(path.at(-1))} must not be empty`;
      return `at most ${breach.limit} values are allowed, not ${breach.length}`;
    case 'choice':
      return `Input should be ${breach.allowed.map((each) => `'${each}'`).join(' or ')}`;
    case 'value':
      return breach.text;
  }
}
