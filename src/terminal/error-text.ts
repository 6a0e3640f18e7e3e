import { hintOf } from '../advice.ts';
import type { GatewayError } from '../errors.ts';
import { escapeLine } from './escape.ts';
import { isReadByCi } from './output.ts';
import type { Io } from './io.ts';

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

/**
 * Breaks lines for stderr between words if it is a terminal; a pipe and a CI system get them unchanged. The measuring of columns
 * is loaded only for long lines.
 */
export async function wrapForStderr(text: string, { stderr, env }: Pick<Io, 'stderr' | 'env'>): Promise<string> {
  if (!stderr.isTTY || isReadByCi(env, stderr) || Buffer.byteLength(text) <= stderr.columns) return text;
  const { breakLines } = await import('./break-lines.ts');
  return breakLines(text, stderr.columns);
}

function hintLines(hint: string): string[] {
  return hint
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => `  ${escapeLine(line)}`);
}
