import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { breakCjk } from './break-lines.ts';
import { maxOf } from '../../library/index.ts';

/** Characters that a terminal can join to the one before, or show beside it. */
const joining = /\u200d|\ufe0e|\ufe0f|\p{M}|\p{Regional_Indicator}|\p{Emoji_Modifier}/u;

/**
 * Wraps a text at its words, and between Chinese and Japanese characters; with `hard` also inside of words. No line is wider than
 * the width in a terminal that shows the parts of an emoji one beside the other.
 */
export function wrapped(text: string, { width }: { width: number }, { hard = false } = {}): string[] {
  for (let room = width; ;) {
    const lines = wrapAnsi(breakCjk(text, room), room, { hard }).split('\n');
    if (!joining.test(text)) return lines;
    const excess = maxOf(lines.map((line) => (stringWidth(line) > width ? 0 : apartWidth(line) - width)));
    if (excess <= 0 || room <= width / 2) return lines;
    room -= excess;
  }
}

/** The columns of a line if joined characters are shown one beside the other. */
function apartWidth(line: string): number {
  const letters = Array.from(stripVTControlCharacters(line), (letter) => stringWidth(letter));
  return Math.max(
    stringWidth(line),
    letters.reduce((sum, width) => sum + width, 0),
  );
}
