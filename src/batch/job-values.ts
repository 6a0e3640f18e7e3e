import { usageError } from '../errors.ts';
import type { JsonValue } from '../json.ts';

/** How the value of one key of a job is read: as the flag of that name would read its word. */
export interface KeyRule {
  /** `word`: text or a number; `json`: a file's path or the JSON itself; `switch`: true or false. */
  kind: 'word' | 'json' | 'switch';
  /** The flag's own. Throws GatewayError usage. */
  parse?: ((word: string) => unknown) | undefined;
  /** The flag may stand several times: its values are a list. */
  repeat?: true | undefined;
}

/** The keys that a command's jobs may have. */
export type KeyTable = Readonly<Record<string, KeyRule>>;

/** From the value in a job to what the command gets from its flags. Throws GatewayError usage. */
export function readValue(name: string, value: JsonValue, rule: KeyRule): unknown {
  if (value === null) throw usageError(`"${name}" is null`, 'leave the key out');
  if (rule.kind === 'switch') {
    if (typeof value === 'boolean') return value;
    throw usageError(`"${name}" is true or false`);
  }
  if (!rule.repeat) return readOne(name, value, rule);
  return (Array.isArray(value) ? value : [value]).map((item) => readOne(name, item, rule));
}

function readOne(name: string, value: JsonValue, { kind, parse = keep }: KeyRule): unknown {
  if (kind === 'json') {
    if (typeof value === 'string' || (typeof value === 'object' && value !== null)) return value;
    throw usageError(`"${name}" is a file's path, or JSON`);
  }
  if (typeof value === 'string') return parse(value);
  if (typeof value === 'number') return parse(String(value));
  // What a flag takes as JSON in a word may stand here as it is: "metadata": {"user_id": "ci"}.
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return parse(JSON.stringify(value));
  throw usageError(`"${name}" is text or a number`);
}

function keep(word: string): string {
  return word;
}
