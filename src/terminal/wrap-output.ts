import { GatewayError } from '../errors.ts';
import { escapeButColours } from './escape.ts';
import { createCiGuard, isReadByCi } from './github.ts';
import type { Io, Output } from './io.ts';
import { type After, afterOnClock } from './timers.ts';

/**
 * The one writer of a stream. A string is text: GitHub's runner finds no command in it, and a terminal nothing to obey but
 * colours. Bytes go out as they are: pictures, drawings, and what is meant for the runner.
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

/** How long a slow reader may take for what is left after an abort, in ms; the clean-up comes behind it. */
const drainMs = 500;

/**
 * stdout for the length of a command: a reply that is paid for is read to its end also when the disk behind stdout is full,
 * so that it can be kept. The first such failure is remembered and what follows is dropped. A reader that has gone still
 * rejects with closed. Once the signal has aborted, writes that nobody takes give up with its reason.
 */
export function tolerateFailure(output: Output, signal: AbortSignal, after: After = afterOnClock): Output {
  let failure: GatewayError | undefined;
  let over = false;
  /** Of the latest write. A plain field and one promise a write: 100,000 deltas pass here. */
  let giveUp: ((reason: unknown) => void) | undefined;
  const end = () => {
    over = true;
    giveUp?.(signal.reason);
  };
  if (signal.aborted) after(drainMs, end);
  else signal.addEventListener('abort', () => after(drainMs, end), { once: true });
  return wrap(output, {
    failure: () => failure,
    write(chunk) {
      if (failure !== undefined) return Promise.resolve();
      if (over) return Promise.reject(signal.reason as Error);
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

function wrap(
  output: Output,
  { write, failure }: { write: Output['write']; failure?: () => GatewayError | undefined },
): Output {
  return {
    isTTY: output.isTTY,
    isFile: output.isFile,
    get isClosed() {
      return output.isClosed;
    },
    get columns() {
      return output.columns;
    },
    get rows() {
      return output.rows;
    },
    get failure() {
      return failure?.();
    },
    write,
  };
}
