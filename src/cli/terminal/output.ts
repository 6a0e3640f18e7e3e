import { type After, afterOnClock, chooseHint, GatewayError } from '../../library/index.ts';
import { createCiGuard, isReadByCi } from './ci-guard.ts';
import { escapeButColours, escapeLine } from './escape.ts';
import type { Io, Output } from './io.ts';

/**
 * Makes strings harmless: GitHub's runner finds no command in them, and a terminal only colours. Bytes are written unchanged:
 * images, drawings, and commands for the runner.
 */
export function sanitizeOutput(output: Output, env: Io['env']): Output {
  const guard = isReadByCi(env, output) ? createCiGuard() : undefined;
  if (guard === undefined && !output.isTTY) return output;
  return wrap(output, {
    write(chunk) {
      if (typeof chunk !== 'string') return output.write(chunk);
      const safe = guard === undefined ? chunk : guard(chunk);
      return output.write(output.isTTY ? escapeButColours(safe) : safe);
    },
  });
}

/** Longest wait for a slow reader after an abort, in ms; the cleanups come after it. */
const drainMs = 500;

/**
 * stdout of a command: a paid reply is read to its end even if the disk is full, so that it can be saved. The first such failure
 * is remembered, and later writes are dropped. A closed stdout still rejects. After an abort, writes that the reader does not
 * take reject with its reason.
 */
export function tolerateFailure(output: Output, signal: AbortSignal, after: After = afterOnClock): Output {
  let failure: GatewayError | undefined;
  let isAborted = false;
  /** Rejects the latest write. There is only one such promise for all, because there can be 100,000 deltas. */
  let giveUp: ((reason: unknown) => void) | undefined;
  const giveUpLate = () => {
    isAborted = true;
    giveUp?.(signal.reason);
  };
  if (signal.aborted) after(drainMs, giveUpLate);
  else signal.addEventListener('abort', () => after(drainMs, giveUpLate), { once: true });
  return wrap(output, {
    get failure() {
      return failure;
    },
    write(chunk) {
      if (failure !== undefined) return Promise.resolve();
      if (isAborted) return Promise.reject(signal.reason as Error);
      return new Promise((resolve, reject) => {
        giveUp = reject;
        output.write(chunk).then(resolve, (error: unknown) => {
          if (!(error instanceof GatewayError) || error.class !== 'not-written') return reject(error as Error);
          failure = error;
          resolve();
        });
      });
    },
  });
}

/** An output that behaves like another one, but for its own members; getters of a terminal stay getters, as its size can change. */
function wrap(output: Output, own: Pick<Output, 'write' | 'failure'>): Output {
  return Object.setPrototypeOf(own, output) as Output;
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
  const hint = redact(chooseHint(error) ?? '').split('\n');
  const hintLines = hint.filter((line) => line.trim() !== '').map((line) => `  ${escapeLine(line)}`);
  return [`gateway-cli: ${label}: ${escapeLine(redact(error.message))}${where}`, ...hintLines].join('\n');
}
