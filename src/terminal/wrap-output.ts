import { GatewayError } from '../errors.ts';
import { escapeButColours, escapeForTerminal } from './escape.ts';
import type { Io, Output } from './io.ts';
import { type After, afterOnClock } from './progress.ts';

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

/** Puts something invisible where a CI system would read a command. */
const breaker = '\u200b';

/**
 * GitHub's runner obeys lines of any output that begin, after white space, with `::`, and `##[` anywhere.
 * What this returns makes text harmless, whatever its pieces: a zero-width space goes in front of a colon that is the
 * first character of its line, and into `##[`.
 */
export function createCiGuard(): (text: string) => string {
  return createGuard({ breaker, isBlank: (character) => character.trim() === '' });
}

/**
 * The same for bytes of a text. A byte beyond ASCII may be of a blank, so it counts as one: a colon too many is guarded then.
 */
export function createCiByteGuard(): (bytes: Uint8Array) => Uint8Array {
  const guard = createGuard({
    breaker: Buffer.from(breaker).toString('latin1'),
    isBlank: (character) => character > '\u007f' || character.trim() === '',
  });
  return (bytes) => Buffer.from(guard(Buffer.from(bytes).toString('latin1')), 'latin1');
}

interface Guarding {
  breaker: string;
  isBlank: (character: string) => boolean;
}

function createGuard({ breaker, isBlank }: Guarding): (text: string) => string {
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

/** Whether a runner reads what is written: GitHub Actions, and no file in between. */
export function isReadByCi(
  env: Readonly<Record<string, string | undefined>>,
  output: { isFile?: boolean | undefined },
): boolean {
  return env['GITHUB_ACTIONS'] === 'true' && output.isFile !== true;
}

/**
 * A line that GitHub Actions shows as an annotation. Line breaks and `%` are escaped; in the title `:` and `,` too. What a
 * terminal or the runner would obey in the message is made visible.
 */
export function githubErrorLine(message: string, title: string): string {
  const shown = escapeForTerminal(message).replaceAll('##[', '##\u200b[');
  return `::error title=${escapeProperty(title)}::${escapeData(shown)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
