import { hintOf } from '../advice.ts';
import type { GatewayError } from '../errors.ts';
import { escapeLine } from './escape.ts';

/**
 * An error for people: `gateway-cli: <class>: <what happened> (<METHOD origin/path>)`, then the indented lines of its hint.
 * Redacted, then escaped; without a newline at the end. `label` is the class, which can be coloured.
 */
export function formatError(
  error: GatewayError,
  redact: (text: string) => string,
  label: string = error.class,
): string {
  const { request } = error.details;
  const where = request === undefined ? '' : ` (${redact(request)})`;
  const head = `gateway-cli: ${label}: ${escapeLine(redact(error.message))}${where}`;
  return [head, ...hintLines(redact(hintOf(error) ?? ''))].join('\n');
}

function hintLines(hint: string): string[] {
  return hint
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => `  ${escapeLine(line)}`);
}
