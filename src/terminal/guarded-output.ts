import { createCiGuard, isReadByCi } from './ci-commands.ts';
import { escapeButColours } from './escape.ts';
import type { Io, Output } from './io.ts';

/**
 * The one writer of a stream. A string is text: GitHub's runner finds no command in it, and a terminal nothing to obey but
 * colours. Bytes go out as they are: pictures, drawings, and what is meant for the runner.
 */
export function guardedOutput(output: Output, env: Io['env']): Output {
  const guard = isReadByCi(env, output) ? createCiGuard() : undefined;
  if (guard === undefined && !output.isTTY) return output;
  return {
    isTTY: output.isTTY,
    isFile: output.isFile,
    get isClosed() {
      return output.isClosed;
    },
    get columns() {
      return output.columns;
    },
    write(chunk) {
      if (typeof chunk !== 'string') return output.write(chunk);
      const safe = guard === undefined ? chunk : guard(chunk);
      return output.write(output.isTTY ? escapeButColours(safe) : safe);
    },
  };
}
