import { escapeForTerminal } from './escape.ts';

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
