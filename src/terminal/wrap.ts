import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { breakCjk } from './break-lines.ts';

/**
 * In a text that is still arriving: what is before the mark is printed, and what follows begins a line. A text has no controls of
 * its own, because they are escaped first.
 */
export const breakMark = '\u0001';
/** In the lines of such a text: what follows can look different with the text to come. */
export const openMark = '\u0002';

/** A break mark with all blanks around it. */
export const aroundBreak = new RegExp(` *${breakMark} *`);

/** A break mark with the blanks that keep it from changing what the marks of Markdown around it mean. */
export const breakText = ` ${breakMark} `;

/** Characters that a terminal can join to the one before, or show beside it. */
const joining = /\u200d|\ufe0e|\ufe0f|\p{M}|\p{Regional_Indicator}|\p{Emoji_Modifier}/u;

/**
 * Wraps a text at its words, and between Chinese and Japanese characters; with `hard` also inside of words. No line is wider than
 * the width in a terminal that shows the parts of an emoji one beside the other.
 */
export function wrapped(text: string, { width }: { width: number }, { hard = false } = {}): string[] {
  for (let room = width; ;) {
    const lines = wrappedAt(text.split(aroundBreak), { room, hard });
    if (!joining.test(text)) return lines;
    const excess = Math.max(...lines.map((line) => (stringWidth(line) > width ? 0 : apartWidth(line) - width)));
    if (excess <= 0 || room <= width / 2) return lines;
    room -= excess;
  }
}

/** Each part begins a line, with a break mark before all but the first. The marks are not measured, which would take long. */
function wrappedAt(parts: readonly string[], { room, hard }: { room: number; hard: boolean }): string[] {
  const splitWrapped = (text: string): string[] => wrapAnsi(breakCjk(text, room), room, { hard }).split('\n');
  const lines = splitWrapped(parts.join('\n'));
  for (let count = 1; count < parts.length; count++) {
    const at = splitWrapped(parts.slice(0, count).join('\n')).length;
    lines[at] = `${breakMark}${lines[at] ?? ''}`;
  }
  return lines;
}

/** The columns of a line if joined characters are shown one beside the other. */
function apartWidth(line: string): number {
  const letters = Array.from(stripVTControlCharacters(line), (letter) => stringWidth(letter));
  return Math.max(
    stringWidth(line),
    letters.reduce((sum, width) => sum + width, 0),
  );
}
