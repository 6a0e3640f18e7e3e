import { escapeForTerminal } from './escape.ts';

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
