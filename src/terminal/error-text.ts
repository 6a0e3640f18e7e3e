import type { GatewayError } from '../errors.ts';
import { escapeLine } from './escape.ts';

/**
 * A failure for people: `gateway-cli: <class>: <what happened> (<METHOD origin/path>)` on one line, then the
 * hint, each line of it indented. Redacted, then escaped; without a newline at the end. `label` is the class as the stream
 * shows it.
 */
export function formatError(
  error: GatewayError,
  redact: (text: string) => string,
  label: string = error.class,
): string {
  const { request, hint } = error.details;
  const where = request === undefined ? '' : ` (${redact(request)})`;
  const head = `gateway-cli: ${label}: ${escapeLine(redact(error.message))}${where}`;
  return [head, ...hintLines(redact(hint ?? ''))].join('\n');
}

function hintLines(hint: string): string[] {
  return hint
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => `  ${escapeLine(line)}`);
}
