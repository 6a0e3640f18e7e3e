import { chooseHint } from '../advice.ts';
import { GatewayError } from '../errors.ts';
import { escapeButColours, escapeForTerminal, escapeLine } from './escape.ts';
import type { Io, Output } from './io.ts';
import { type After, afterOnClock } from '../clock.ts';
import type { ChalkInstance } from 'chalk';

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

/** Zero-width space. */
const breaker = '\u200b';

/**
 * GitHub's runner executes lines that begin, after white space, with `::`, and `##[` anywhere. The returned function puts a
 * zero-width space before a colon at the beginning of a line, and into `##[`. The text can be cut anywhere.
 */
export function createCiGuard(): (text: string) => string {
  return createGuard(breaker, (character) => character.trim() === '');
}

/** The guard for bytes of a text. A byte beyond ASCII can be part of a blank and counts as one: a colon after it is guarded, too. */
export function createCiByteGuard(): (bytes: Uint8Array) => Uint8Array {
  const breakerBytes = Buffer.from(breaker).toString('latin1');
  const guard = createGuard(breakerBytes, (character) => character > '\u007f' || character.trim() === '');
  return (bytes) => Buffer.from(guard(Buffer.from(bytes).toString('latin1')), 'latin1');
}

function createGuard(breaker: string, isBlank: (character: string) => boolean): (text: string) => string {
  let lineIsBlank = true;
  let hashes = 0;
  return (text) => {
    let safe = '';
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const character = text[at] as string;
      if ((character === ':' && lineIsBlank) || (character === '[' && hashes >= 2)) {
        safe += text.slice(from, at) + breaker;
        from = at;
      }
      hashes = character === '#' ? hashes + 1 : 0;
      if (character === '\n' || character === '\r') lineIsBlank = true;
      else if (lineIsBlank && !isBlank(character)) lineIsBlank = false;
    }
    return safe === '' ? text : safe + text.slice(from);
  };
}

/** Whether GitHub's runner reads the output: on GitHub Actions, if it is not a file. */
export function isReadByCi(
  env: Readonly<Record<string, string | undefined>>,
  output: { isFile?: boolean | undefined },
): boolean {
  return env['GITHUB_ACTIONS'] === 'true' && output.isFile !== true;
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

/**
 * A line that GitHub Actions shows as an annotation. Line breaks and `%` are escaped, in the title also `:` and `,`. Controls
 * and commands in the message are made visible.
 */
export function githubErrorLine(message: string, title: string): string {
  const shown = escapeForTerminal(message).replaceAll('##[', `##${breaker}[`);
  const property = escapeData(title).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::error title=${property}::${escapeData(shown)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** The facts that decide whether a stream gets colour. */
interface ColorPlace {
  env: Readonly<Record<string, string | undefined>>;
  isTTY: boolean;
  /** false by `--no-color` */
  color?: boolean | undefined;
}

/**
 * Whether a stream gets colour: never with `--no-color` or a NO_COLOR that is not empty; otherwise by FORCE_COLOR (`0` and
 * `false` are off), then CLICOLOR_FORCE (all but `0` is on); otherwise on terminals that are not dumb, without CLICOLOR=0.
 */
export function wantsColor({ env, isTTY, color }: ColorPlace): boolean {
  if (color === false || isNonEmpty(env['NO_COLOR'])) return false;
  const forced = env['FORCE_COLOR'];
  if (isNonEmpty(forced)) return forced !== '0' && forced !== 'false';
  if (isNonEmpty(env['CLICOLOR_FORCE']) && env['CLICOLOR_FORCE'] !== '0') return true;
  return isTTY && env['TERM'] !== 'dumb' && env['CLICOLOR'] !== '0';
}

function isNonEmpty(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

/** Colours text for one stream; returns it unchanged if the stream gets no colour. */
export interface Style {
  warning(text: string): Promise<string>;
  failure(text: string): Promise<string>;
  success(text: string): Promise<string>;
  faint(text: string): Promise<string>;
  strong(text: string): Promise<string>;
}

/** The style of one stream. chalk is loaded for the first coloured text. */
export function createStyle(place: ColorPlace): Style {
  let chalk: Promise<ChalkInstance> | undefined;
  const paint = (look: 'yellow' | 'red' | 'green' | 'dim' | 'bold') => async (text: string) => {
    if (!wantsColor(place)) return text;
    chalk ??= import('chalk').then(({ Chalk }) => new Chalk({ level: 1 }));
    return (await chalk)[look](text);
  };
  return {
    warning: paint('yellow'),
    failure: paint('red'),
    success: paint('green'),
    faint: paint('dim'),
    strong: paint('bold'),
  };
}

/** Bold without chalk, which would delay help. */
export function bold(text: string, colored: boolean): string {
  return colored ? `\u001B[1m${text}\u001B[22m` : text;
}
