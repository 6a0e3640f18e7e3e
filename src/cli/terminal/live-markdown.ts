import { setImmediate as nextTurn } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { escapeForTerminal } from './escape.ts';
import { countScreenRows, redraw } from './frame.ts';
import type { Output } from './io.ts';
import { parseBlocks, renderMarkdown } from './markdown.ts';

/** The rest of a longer block becomes another block of its kind: to format all of it with each piece would take long. In characters. */
const maxCharacters = 4096;

/** A longer text is shown in pieces. */
const longestPiece = /[^]{1,8192}/g;

/** The printed part of a block: number of its letters, and of the lines without letters after the last one. */
interface Printed {
  letters: number;
  bare: number;
}

const nothing: Printed = { letters: 0, bare: 0 };

/**
 * Prints Markdown on a terminal while it arrives. A block that has ended is printed once; the open block is drawn again in its
 * place with each write. Its lines that leave the window stay as they look then, and if the window changes its size, all lines
 * before the last one stay so too. The cursor is at the beginning of the line below. `end` prints the rest; the next write begins
 * another text. `onOutput` is called before each output.
 */
export function startMarkdown(stdout: Output, colored: boolean, onOutput?: () => void) {
  /** The block that is still arriving, its printed part, and the lines that are drawn again. */
  let open = '';
  let printed = nothing;
  let tail: string[] = [];
  /** Whether an empty line comes before the text. */
  let isApart = false;
  /** A half line break. */
  let held = '';
  let size = `${stdout.columns}x${stdout.rows}`;

  /** Writes bytes, which are not escaped: the escape sequences are the program's own, and the text between them is escaped already. */
  async function draw(done: readonly string[], next: string[]): Promise<void> {
    const drawn = redraw(tail, [...done, ...next], stdout.columns);
    tail = next;
    if (drawn === '') return;
    onOutput?.();
    await stdout.write(Buffer.from(drawn));
  }

  function format(text: string): string[] {
    const lines = renderMarkdown(text, { width: stdout.columns, colored, breaks: true }).trimEnd();
    return lines === '' ? [] : [...(isApart ? [''] : []), ...lines.split('\n')];
  }

  /** Ends blocks. Returns their lines without the printed ones; the printed part of the next block stays as it is. */
  function close(text: string): string[] {
    const lines = format(text);
    const left = withoutPrinted(lines, printed);
    printed = left.length > 0 ? nothing : withoutLines(printed, lines);
    isApart ||= text.trim() !== '';
    return left;
  }

  /** Follows a change of the window's size. Only the place of the last line is known then, to which the next words are added. */
  function followWindow(): void {
    const now = `${stdout.columns}x${stdout.rows}`;
    if (now === size) return;
    size = now;
    const first = Math.max(tail.length - 1, findFirstWithin(tail, heightOf(stdout), stdout.columns));
    printed = addLines(printed, tail.slice(0, first));
    tail = tail.slice(first);
  }

  async function add(text: string): Promise<void> {
    open += text;
    followWindow();
    const { at, again } = findOpenBlock(open);
    const done = at > 0 ? close(open.slice(0, at)) : [];
    open = open.slice(at);
    if (again !== undefined) {
      isApart = false;
      printed = addLines(printed, format(again));
      open = again + open;
    }
    const lines = withoutPrinted(format(open), printed);
    const height = heightOf(stdout);
    // If nothing can be drawn again, the last line waits.
    const waiting = height < 1 ? lines.slice(-1) : lines.slice(findFirstWithin(lines, height, stdout.columns));
    const gone = lines.slice(0, lines.length - waiting.length);
    printed = addLines(printed, gone);
    await draw([...done, ...gone], height < 1 ? [] : waiting);
  }

  return {
    async write(text: string): Promise<void> {
      const [, whole = '', half = ''] = /^(.*?)(\r?)$/s.exec(held + text) ?? [];
      held = half;
      const pieces = escapeForTerminal(whole.replaceAll('\r\n', '\n')).match(longestPiece) ?? [];
      for (const [at, piece] of pieces.entries()) {
        // A long text can be stopped.
        if (at > 0) await nextTurn();
        await add(piece);
      }
    },
    /** Takes the open block from the screen, so that `print` can begin a line, and draws it again below. */
    async makeRoom(print: () => Promise<void>): Promise<void> {
      const shown = tail;
      // Begun at once, so that no other text comes between.
      await Promise.all([draw([], []), print(), draw([], shown)]);
    },
    async end(): Promise<void> {
      const done = close(open);
      [open, held, isApart, printed] = ['', '', false, nothing];
      await draw(done, []);
    },
  };
}

/** Number of rows that a window shows above the line of the cursor; 0 if it is unknown, and nothing can be drawn again. */
function heightOf({ rows = 1 }: Output): number {
  return rows - 1;
}

/** The last block of a text, which can go on. */
interface OpenBlock {
  at: number;
  /** The beginning of a long block, which is repeated before its rest. */
  again?: string;
}

function findOpenBlock(text: string): OpenBlock {
  // A line without an end can still belong to the block before it.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const block = listBlocks(whole).findLast(({ type }) => type !== 'space');
  const at = block === undefined ? 0 : whole.lastIndexOf(block.raw);
  if (text.length - at <= maxCharacters) return { at };
  if (block?.type === 'code') return isClosed(block.raw) ? { at } : { at: whole.length, again: firstFence(block.raw) };
  if (block?.type === 'table') return { at: whole.length, again: block.raw.split(/(?<=\n)/, 2).join('') };
  return { at: findCut(text, at), again: '' };
}

/** The line that opens a code block; none of an indented one. */
function firstFence(code: string): string {
  return /^ *(?:`{3,}|~{3,}).*\n/.exec(code)?.[0] ?? '';
}

function isClosed(code: string): boolean {
  const fence = firstFence(code).match(/[`~]+/)?.[0];
  return fence !== undefined && code.trimEnd().endsWith(`\n${fence}`);
}

/**
 * The place where a long block can be cut: before its last line that is not a part of the line above, otherwise before its last
 * word.
 */
function findCut(text: string, start: number): number {
  for (let at = text.lastIndexOf('\n'); at > start; at = text.lastIndexOf('\n', at - 1))
    if (!/\s/.test(text[at + 1] ?? ' ')) return at + 1;
  const word = text.lastIndexOf(' ') + 1;
  return word > start ? word : text.length;
}

function listBlocks(text: string): ReturnType<typeof parseBlocks> {
  try {
    return parseBlocks(text);
  } catch {
    // The blocks are nested too deep.
    return [];
  }
}

/** The first of the lines that a window of this height shows. */
function findFirstWithin(lines: readonly string[], height: number, columns: number): number {
  let room = height;
  return lines.findLastIndex((line) => (room -= countScreenRows(line, columns)) < 0) + 1;
}

/** Letters and digits: they stay when marks are understood and lines are broken otherwise. */
const letter = /[\p{L}\p{N}\p{Extended_Pictographic}]/gu;

function countLetters(line: string): number {
  return stripVTControlCharacters(line).match(letter)?.length ?? 0;
}

/** Counts these lines as printed, too. */
function addLines(printed: Printed, lines: readonly string[]): Printed {
  return lines.reduce(({ letters, bare }, line) => {
    const more = countLetters(line);
    return more === 0 ? { letters, bare: bare + 1 } : { letters: letters + more, bare: 0 };
  }, printed);
}

/** The printed part after these lines, if all of them are printed. */
function withoutLines({ letters, bare }: Printed, lines: readonly string[]): Printed {
  const own = addLines(nothing, lines);
  return { letters: letters - own.letters, bare: letters > own.letters ? bare : Math.max(0, bare - own.bare) };
}

/** Lines without the printed ones. If lines are broken otherwise now, the first line can be the rest of a printed one. */
function withoutPrinted(lines: readonly string[], { letters, bare }: Printed): string[] {
  let left = letters;
  let at = 0;
  for (; at < lines.length && left > 0; at++) {
    const line = lines[at] as string;
    const count = countLetters(line);
    if (count > left) return [cutLetters(line, left), ...lines.slice(at + 1)];
    left -= count;
  }
  for (let more = bare; more > 0 && at < lines.length && countLetters(lines[at] as string) === 0; more--) at++;
  return lines.slice(at);
}

/** The rest of a line after its first letters, without colours. */
function cutLetters(line: string, count: number): string {
  const text = stripVTControlCharacters(line);
  const last = [...text.matchAll(letter)][count - 1];
  return last === undefined ? text : text.slice(last.index + last[0].length).trimStart();
}
