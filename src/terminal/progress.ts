import process from 'node:process';
import { monotonic } from '../clock.ts';
import { timeText } from '../time-text.ts';
import { escapeLine } from './escape.ts';
import type { Io } from './io.ts';
import { wantsColor } from './style.ts';
import { afterOnClock } from './timers.ts';
import type { After } from './timers.ts';

/** What goes on, on stderr: a spinner, one plain line where a terminal cannot animate, or nothing where nobody looks. */
export interface Progress {
  update(text: string): void;
  /** Wipes it for a line that is written now; it goes on below. */
  clear(): void;
  /** Ends it; to be called before the first output. Any number of times. */
  stop(): void;
}

/** The part of ora that is used. */
export interface Spinner {
  text: string;
  clear(): unknown;
  stop(): unknown;
}

export interface ProgressOptions {
  io: Pick<Io, 'stderr' | 'env'>;
  text: string;
  quiet: boolean;
  /** false by `--no-color` */
  color?: boolean | undefined;
  /** false where the text tells the time itself */
  timed?: boolean | undefined;
  after?: After;
  /** Monotonic clock in ms. */
  elapsed?: () => number;
  /** Undefined where the terminal cannot show one. */
  spin?: (text: string, color: boolean) => Promise<Spinner | undefined>;
}

/** Runs that end sooner never load ora, which costs 36 to 50 ms. */
const graceMs = 100;
/** From then on the time is told. */
const timedMs = 2000;
/** Who sees no spinner is told after so long that something goes on. */
const plainMs = 5000;

/** Whether somebody looks at stderr: a terminal outside CI, not `--quiet`. */
function isWatched({ io, quiet }: Pick<ProgressOptions, 'io' | 'quiet'>): boolean {
  const inCi = !['', '0', 'false', 'no', 'off'].includes((io.env['CI'] ?? '').toLowerCase());
  return io.stderr.isTTY && !quiet && !inCi;
}

/** Whether stderr may be animated: somebody looks, and the terminal can. */
export function isAnimated({ io, quiet }: Pick<ProgressOptions, 'io' | 'quiet'>): boolean {
  return isWatched({ io, quiet }) && io.env['TERM'] !== 'dumb';
}

const nothing: Progress = { update: () => undefined, clear: () => undefined, stop: () => undefined };

/** Starts a spinner after a tenth of a second; it tells the time from 2 s on. */
export function startProgress(options: ProgressOptions): Progress {
  if (!isWatched(options)) return nothing;
  const { io, color, timed = true, after = afterOnClock, elapsed = monotonic, spin = spinWithOra } = options;
  const started = elapsed();
  let text = escapeLine(options.text);
  let spinner: Spinner | undefined;
  let stopped = false;
  let callOff: (() => void) | undefined;
  const line = (): string => (timed ? withTime(text, elapsed() - started) : text);
  const tick = (): void => {
    if (spinner !== undefined) spinner.text = line();
    callOff = after(1000, tick);
  };
  const plainly = (): void => {
    if (!stopped) callOff = after(plainMs - (elapsed() - started), () => void io.stderr.write(`${line()}\n`));
  };
  const show = async (): Promise<void> => {
    const shown = await spin(line(), wantsColor({ env: io.env, isTTY: true, color }));
    if (stopped) return void shown?.stop();
    spinner = shown;
    if (shown === undefined) plainly();
    else tick();
  };
  // A spinner that cannot be had is no reason to end a request that is paid for.
  if (isAnimated(options)) callOff = after(graceMs, () => void show().catch(plainly));
  else plainly();
  return {
    update(next) {
      text = escapeLine(next);
      if (spinner !== undefined) spinner.text = line();
    },
    clear() {
      if (!stopped) spinner?.clear();
    },
    stop() {
      stopped = true;
      callOff?.();
      spinner?.stop();
    },
  };
}

function withTime(text: string, ms: number): string {
  return ms < timedMs ? text : `${text} · ${timeText(Math.floor(ms / 1000) * 1000)}`;
}

/**
 * The cursor stays visible, so no way to die can leave it hidden; stdin is left alone, so that Ctrl-C and piped input work.
 * A terminal that says it has 0 columns (`script` in CI) gets none: ora 9 would wipe infinitely many lines there.
 */
async function spinWithOra(text: string, color: boolean): Promise<Spinner | undefined> {
  if (!process.stderr.columns) return undefined;
  const { default: ora } = await import('ora');
  const options = { text, stream: process.stderr, discardStdin: false, hideCursor: false, isEnabled: true };
  return ora({ ...options, color: color ? 'cyan' : false }).start();
}
