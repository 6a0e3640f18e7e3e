/** Puts something invisible where a CI system would read a command. */
const breaker = '\u200b';

/**
 * GitHub's runner obeys lines of any output that begin, after white space, with `::`, and `##[` anywhere (faults.md 2c).
 * What this returns makes text harmless, whatever its pieces: a zero-width space goes in front of a colon that is the
 * first character of its line, and into `##[`.
 */
export function createCiGuard(): (text: string) => string {
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
      else if (lineIsBlank && character.trim() !== '') lineIsBlank = false;
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
