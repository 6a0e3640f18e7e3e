import type { Output } from './io.ts';

/**
 * Characters that a terminal executes: C0 without tab and newline, DEL, C1, a carriage return inside a line, and bidirectional
 * controls.
 */
const dangerous = /\r(?!\n)|(?![\t\n\r])[\p{Cc}\p{Bidi_Control}]/gu;

/** Dangerous characters, with complete colour sequences (SGR) matched first. */
const dangerousOrColour = new RegExp(String.raw`\x1b\[[\d;]*m|${dangerous.source}`, 'gu');

/**
 * Makes a server's text harmless for a terminal: controls in caret notation (`^[`, C1 as `M-^[`), bidirectional ones as
 * `<U+202E>`. Each code point is escaped by itself, so a stream can be cut anywhere.
 */
export function escapeForTerminal(text: string): string {
  return text.replace(dangerous, showControl);
}

/** Writes text from others: harmless for a terminal, unchanged for a program or a file. */
export function writeEscaped(output: Pick<Output, 'isTTY' | 'write'>, text: string): Promise<void> {
  return output.write(output.isTTY ? escapeForTerminal(text) : text);
}

/** Escapes text that has colours of the program, which stay. */
export function escapeButColours(text: string): string {
  return text.replace(dangerousOrColour, (found) => (found.length > 1 ? found : showControl(found)));
}

/** Escapes one line for stderr: line breaks and tabs become a blank. */
export function escapeLine(text: string): string {
  return escapeForTerminal(text.trim().replaceAll(/[\t\n\r\u2028\u2029]+/g, ' '));
}

function showControl(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code > 0x9f) return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
  return code < 0x80 ? caret(code) : `M-${caret(code - 0x80)}`;
}

/** `^@` to `^_`, and `^?` for DEL. */
function caret(code: number): string {
  return `^${String.fromCharCode(code ^ 0x40)}`;
}

/** Characters that JSON allows and a terminal executes, line breaks of some readers, and `##[` of GitHub's runner. */
const unsafeInJson = /##\[|[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A value as one line of JSON, in which terminals and GitHub's runner find only `\u` escapes. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value).replaceAll(unsafeInJson, (found) => (found === '##[' ? String.raw`##\u005b` : escapeControl(found)))}\n`;
}

function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
