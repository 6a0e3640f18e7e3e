import { GatewayError } from '../errors.ts';
import type { Output } from './io.ts';
import { type After, afterOnClock } from './timers.ts';

/** How long a slow reader may take for the last words after an abort, in ms; the clean-up comes behind them. */
const lastWordsMs = 500;

/**
 * stdout for the length of a command: a reply that is paid for is read to its end also when the disk behind stdout is full,
 * so that it can be kept (faults.md 2c). The first such failure is remembered and what follows is dropped. A reader that
 * has gone still rejects with closed. Once the signal has aborted, writes that nobody takes give up with its reason.
 */
export function lastingOutput(output: Output, signal: AbortSignal, after: After = afterOnClock): Output {
  let failure: GatewayError | undefined;
  let over = false;
  /** Of the latest write. A plain field and one promise a write: 100,000 deltas pass here. */
  let giveUp: ((reason: unknown) => void) | undefined;
  const end = () => {
    over = true;
    giveUp?.(signal.reason);
  };
  if (signal.aborted) after(lastWordsMs, end);
  else signal.addEventListener('abort', () => after(lastWordsMs, end), { once: true });

  return {
    isTTY: output.isTTY,
    isFile: output.isFile,
    get isClosed() {
      return output.isClosed;
    },
    get columns() {
      return output.columns;
    },
    get failure() {
      return failure;
    },
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
  };
}
