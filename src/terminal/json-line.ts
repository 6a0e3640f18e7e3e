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
