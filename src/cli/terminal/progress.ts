import process from 'node:process';
import { timeText } from '../../library/index.ts';
import { escapeLine } from './escape.ts';
import type { Io } from './io.ts';
import { wantsColor } from './style.ts';

/** Shows a spinner on a terminal at stderr while the program waits. */
export interface Progress {
  /** Shows a detail such as `12/500`. */
  update(detail: string): void;
  /** Clears the progress for another line; it continues below. */
  clear(): void;
  /** Ends the progress, before the first output. Can be called several times. */
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
  /** The activity of the program: `waiting for the gateway`. */
  text: string;
  quiet: boolean;
  /** false by `--no-color` */
  color?: boolean | undefined;
  /** Resolves to undefined if the terminal cannot show a spinner. */
  spin?: (text: string, color: boolean) => Promise<Spinner | undefined>;
}

/** Runs that end sooner do not load ora, which takes 36 to 50 ms. */
const graceMs = 100;
/** Time after which a spinner shows the time, in ms. */
const timedMs = 2000;
/** Shortest time between two updates: a batch checks thousands of jobs a second. */
const countMs = 100;

/** Whether stderr can be animated: a terminal outside CI, without `--quiet`. */
export function isAnimated({ io, quiet }: { io: Pick<Io, 'stderr' | 'env'>; quiet: boolean }): boolean {
  const inCi = !['', '0', 'false', 'no', 'off'].includes((io.env['CI'] ?? '').toLowerCase());
  return io.stderr.isTTY && !quiet && !inCi && io.env['TERM'] !== 'dumb';
}

const nothing: Progress = { update: () => undefined, clear: () => undefined, stop: () => undefined };

/** Starts a spinner after a tenth of a second; it shows the time from 2 s on. What cannot be animated gets nothing. */
export function startProgress(options: ProgressOptions): Progress {
  if (!isAnimated(options)) return nothing;
  const { io, color, spin = spinWithOra } = options;
  const started = io.elapsed();
  let detail = '';
  let shownAt = started;
  let spinner: Spinner | undefined;
  let stopped = false;
  const nextSpinnerText = (): string => {
    shownAt = io.elapsed();
    return escapeLine(spinnerLine(options.text, detail, shownAt - started));
  };
  const tick = (): void => {
    if (spinner !== undefined) spinner.text = nextSpinnerText();
    cancel = io.after(1000, tick);
  };
  const showSpinner = async (): Promise<void> => {
    const shown = await spin(nextSpinnerText(), wantsColor({ env: io.env, isTTY: true, color }));
    if (stopped) return void shown?.stop();
    spinner = shown;
    if (shown !== undefined) tick();
  };
  // A failure of the spinner must not end a paid request.
  let cancel = io.after(graceMs, () => void showSpinner().catch(() => undefined));
  return {
    update(next) {
      detail = next;
      if (spinner !== undefined && io.elapsed() - shownAt >= countMs) spinner.text = nextSpinnerText();
    },
    clear() {
      if (!stopped) spinner?.clear();
    },
    stop() {
      if (stopped) return;
      stopped = true;
      cancel();
      // The spinner is stopped only once: each call of ora moves the cursor to the first column.
      spinner?.stop();
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
 * The cursor stays visible, so that no crash leaves it hidden; stdin is not touched, so that Ctrl-C and piped input work. A
 * terminal with 0 columns (`script` in CI) gets no spinner: ora 9 would clear infinitely many lines.
 */
async function spinWithOra(text: string, color: boolean): Promise<Spinner | undefined> {
  if (!process.stderr.columns) return undefined;
  const { default: ora } = await import('ora');
  const options = { text, stream: process.stderr, discardStdin: false, hideCursor: false, isEnabled: true };
  // Without colour there are plain letters only: a screen reader says each dot of the usual spinner.
  return ora({ ...options, color: color ? 'cyan' : false, ...(!color && { spinner: 'line' as const }) }).start();
}
