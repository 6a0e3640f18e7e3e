import process from 'node:process';
import { escapeLine } from './escape.ts';
import type { Io } from './io.ts';
import { wantsColor } from './style.ts';
import { afterOnClock } from './timers.ts';
import type { After } from './timers.ts';

/** A spinner on stderr, or nothing where none is wanted. */
export interface Progress {
  update(text: string): void;
  /** Wipes it; to be called before the first output. Any number of times. */
  stop(): void;
}

/** The part of ora that is used. */
export interface Spinner {
  text: string;
  stop(): unknown;
}

export interface ProgressOptions {
  io: Pick<Io, 'stderr' | 'env'>;
  text: string;
  quiet: boolean;
  /** false by `--no-color` */
  color?: boolean | undefined;
  after?: After;
  spin?: (text: string, color: boolean) => Promise<Spinner>;
}

/** Runs that end sooner never load ora, which costs 36 to 50 ms (design.md 7). */
const graceMs = 100;

/** Whether stderr may be animated: a terminal that can, outside CI, not `--quiet` (design.md 2). */
export function isAnimated({ io, quiet }: Pick<ProgressOptions, 'io' | 'quiet'>): boolean {
  const inCi = !['', '0', 'false', 'no', 'off'].includes((io.env['CI'] ?? '').toLowerCase());
  return io.stderr.isTTY && !quiet && !inCi && io.env['TERM'] !== 'dumb';
}

/** Starts a spinner after a tenth of a second. */
export function startProgress(options: ProgressOptions): Progress {
  if (!isAnimated(options)) return { update: () => undefined, stop: () => undefined };
  const { io, color, after = afterOnClock, spin = spinWithOra } = options;
  let text = escapeLine(options.text);
  let spinner: Spinner | undefined;
  let stopped = false;
  const show = async () => {
    const started = await spin(text, wantsColor({ env: io.env, isTTY: true, color }));
    if (stopped) {
      started.stop();
      return;
    }
    spinner = started;
    spinner.text = text;
  };
  // A spinner that cannot be had is no reason to end a request that is paid for.
  const callOff = after(graceMs, () => void show().catch(() => undefined));
  return {
    update(next) {
      text = escapeLine(next);
      if (spinner !== undefined) spinner.text = text;
    },
    stop() {
      stopped = true;
      callOff();
      spinner?.stop();
    },
  };
}

/**
 * The cursor stays visible, so no way to die can leave it hidden; stdin is left alone, so that Ctrl-C and piped input work.
 * A terminal that says it has 0 columns (`script` in CI) gets none: ora 9 would wipe infinitely many lines there.
 */
async function spinWithOra(text: string, color: boolean): Promise<Spinner> {
  if (!process.stderr.columns) return { text, stop: () => undefined };
  const { default: ora } = await import('ora');
  const options = { text, stream: process.stderr, discardStdin: false, hideCursor: false, isEnabled: true };
  return ora({ ...options, color: color ? 'cyan' : false }).start();
}
