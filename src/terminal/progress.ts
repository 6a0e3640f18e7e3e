import process from 'node:process';
import { timeText } from '../clock.ts';
import { escapeLine } from './escape.ts';
import type { Io } from './io.ts';
import { wantsColor } from './style.ts';

/** What is waited for, on stderr: a spinner, one plain line where nothing can move, or nothing with `--quiet`. */
export interface Progress {
  /** Says how far it is: `12/500`. */
  update(detail: string): void;
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
  io: Pick<Io, 'stderr' | 'env' | 'elapsed' | 'after'>;
  /** What the program is doing: `waiting for the gateway`. */
  text: string;
  quiet: boolean;
  /** false by `--no-color` */
  color?: boolean | undefined;
  /** Undefined where the terminal cannot show one. */
  spin?: (text: string, color: boolean) => Promise<Spinner | undefined>;
}

/** Runs that end sooner never load ora, which costs 36 to 50 ms. */
const graceMs = 100;
/** From then on a spinner shows the time. */
const timedMs = 2000;
/** A count that runs is shown so often: a batch checks thousands of jobs a second. */
const countMs = 100;
/** Where nothing can move, one line is printed after so much silence. */
const plainMs = 5000;

/** Whether stderr may be animated: a terminal that can, outside CI, and not `--quiet`. */
export function isAnimated({ io, quiet }: { io: Pick<Io, 'stderr' | 'env'>; quiet: boolean }): boolean {
  const inCi = !['', '0', 'false', 'no', 'off'].includes((io.env['CI'] ?? '').toLowerCase());
  return io.stderr.isTTY && !quiet && !inCi && io.env['TERM'] !== 'dumb';
}

const nothing: Progress = { update: () => undefined, clear: () => undefined, stop: () => undefined };

/** Starts a spinner after a tenth of a second; it shows the time from 2 s on. */
export function startProgress(options: ProgressOptions): Progress {
  if (options.quiet) return nothing;
  return isAnimated(options) ? startSpinner(options) : startPlain(options, plainMs);
}

function startSpinner(options: ProgressOptions): Progress {
  const { io, color, spin = spinWithOra } = options;
  const started = io.elapsed();
  let detail = '';
  let shownAt = started;
  let spinner: Spinner | undefined;
  let plain: Progress | undefined;
  let stopped = false;
  const line = (): string => {
    shownAt = io.elapsed();
    return escapeLine(spinnerLine(options.text, detail, shownAt - started));
  };
  const tick = (): void => {
    if (spinner !== undefined) spinner.text = line();
    callOff = io.after(1000, tick);
  };
  const goPlain = (): void => {
    if (stopped) return;
    plain = startPlain(options, plainMs - (io.elapsed() - started));
    plain.update(detail);
  };
  const show = async (): Promise<void> => {
    const shown = await spin(line(), wantsColor({ env: io.env, isTTY: true, color }));
    if (stopped) return void shown?.stop();
    spinner = shown;
    if (shown === undefined) goPlain();
    else tick();
  };
  // A spinner that cannot be had is no reason to end a request that is paid for.
  let callOff = io.after(graceMs, () => void show().catch(goPlain));
  return {
    update(next) {
      detail = next;
      plain?.update(next);
      if (spinner !== undefined && io.elapsed() - shownAt >= countMs) spinner.text = line();
    },
    clear() {
      plain?.clear();
      if (!stopped) spinner?.clear();
    },
    stop() {
      if (stopped) return;
      stopped = true;
      callOff();
      plain?.stop();
      // Once only: each time, ora moves the cursor to the first column.
      spinner?.stop();
    },
  };
}

/** One line after `ms` without any other; then nothing more. */
function startPlain({ io, text }: ProgressOptions, ms: number): Progress {
  const started = io.elapsed() + ms - plainMs;
  let detail = '';
  let isOver = false;
  const tell = (): void => {
    isOver = true;
    const count = detail === '' ? '' : ` (${detail})`;
    const line = `still ${text} after ${secondsText(io.elapsed() - started)}${count}`;
    void io.stderr.write(`${escapeLine(line)}\n`);
  };
  let callOff = io.after(ms, tell);
  return {
    update: (next) => void (detail = next),
    clear() {
      if (isOver) return;
      callOff();
      callOff = io.after(plainMs, tell);
    },
    stop() {
      isOver = true;
      callOff();
    },
  };
}

function spinnerLine(text: string, detail: string, ms: number): string {
  return [text, detail, ms < timedMs ? '' : secondsText(ms)].filter((part) => part !== '').join(' · ');
}

function secondsText(ms: number): string {
  return timeText(Math.floor(ms / 1000) * 1000);
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

/** Runs something later; what it returns calls that off. */
export type After = (ms: number, act: () => void) => () => void;

/** The real clock. A timer alone never keeps the process alive. */
export const afterOnClock: After = (ms, act) => {
  const timer = setTimeout(act, ms).unref();
  return () => clearTimeout(timer);
};

/** The same promise, but an abort rejects it at once. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject);
  });
}
