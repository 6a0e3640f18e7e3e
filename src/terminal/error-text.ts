import { hintOf } from '../advice.ts';
import type { GatewayError } from '../errors.ts';
import { escapeLine } from './escape.ts';
import { isReadByCi } from './wrap-output.ts';
import type { Io } from './io.ts';

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
  const { request } = error.details;
  const where = request === undefined ? '' : ` (${redact(request)})`;
  const head = `gateway-cli: ${label}: ${escapeLine(redact(error.message))}${where}`;
  return [head, ...hintLines(redact(hintOf(error) ?? ''))].join('\n');
}

/**
 * Lines for stderr as a person reads them: on a terminal they break between words. A pipe and a CI system get them as they are.
 * What measures columns is loaded where there is something to break.
 */
export async function brokenForStderr(text: string, { stderr, env }: Pick<Io, 'stderr' | 'env'>): Promise<string> {
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
