/**
 * What a terminal would obey instead of show: C0 but tab and newline, DEL, C1, a carriage return that does not end a line,
 * and the bidirectional controls.
 */
const dangerous = /\r(?!\n)|(?![\t\n\r])[\p{Cc}\p{Bidi_Control}]/gu;

/** The same, with whole sequences that set a colour (SGR) matched first. */
const dangerousOrColour = new RegExp(String.raw`\x1b\[[\d;]*m|${dangerous.source}`, 'gu');

/**
 * Text of the server made harmless for a terminal: controls in caret notation (`^[`, C1 as `M-^[`), bidi ones as `<U+202E>`.
 * It looks at each code point by itself, so no split of a stream over several calls gets anything past it.
 */
export function escapeForTerminal(text: string): string {
  return text.replace(dangerous, visible);
}

/** The same for text that we dressed ourselves: our colours stay. */
export function escapeButColours(text: string): string {
  return text.replace(dangerousOrColour, (found) => (found.length > 1 ? found : visible(found)));
}

/** The same for one line of stderr: line breaks and tabs become a blank. */
export function escapeLine(text: string): string {
  return escapeForTerminal(text.trim().replaceAll(/[\t\n\r\u2028\u2029]+/g, ' '));
}

function visible(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code > 0x9f) return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
  return code < 0x80 ? caret(code) : `M-${caret(code - 0x80)}`;
}

/** `^@` to `^_`, and `^?` for DEL. */
function caret(code: number): string {
  return `^${String.fromCharCode(code ^ 0x40)}`;
}

/** What a terminal obeys although JSON lets it through, what breaks lines for some readers, and the runner's `##[`. */
const obeyed = /##\[|[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * A value as one line of JSON that means the same to every reader and nothing to what reads along: terminals and GitHub's
 * runner find only `\u` escapes.
 */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value).replaceAll(obeyed, (found) => (found === '##[' ? String.raw`##\u005b` : escaped(found)))}\n`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
