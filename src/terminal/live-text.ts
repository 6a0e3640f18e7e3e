import { stripVTControlCharacters } from 'node:util';
import type { Token, Tokens } from 'marked';
import { mayBreak } from './break-lines.ts';
import { countRows } from './frame.ts';
import { mostMeasuredRows, openBlocks, formatOpenText, type OpenText } from './markdown.ts';
import { breakMark, breakText, openMark } from './wrap.ts';

/** The size of a terminal. */
export interface TerminalSize {
  columns: number;
  rows: number;
}

/** A text that arrives. Its beginning is printed; `text` is the rest, with as much before it as decides how the rest looks. */
export interface LiveText extends OpenText {
  /** Where the printed part of `text` ends. */
  printed?: number | undefined;
}

/** Lines for the terminal: what is decided, and what is drawn again with the next text. */
export interface Drawing {
  done: string[];
  tail: string[];
}

/** With more places where a line can end, blocks before the last are printed before the right one is searched. */
const manyEnds = 64;
/** A longer rest is not kept: it goes on as a text of its own. In characters. */
export const maxCharacters = 32 * 1024;

/** The last lines that a window shows above the line of the cursor. */
export function lastWithin(lines: readonly string[], { columns, rows }: TerminalSize): string[] {
  let room = Math.max(1, rows - 1);
  const first = lines.findLastIndex((line) => (room -= countRows(line, columns)) < 0);
  return lines.slice(first + 1);
}

interface DrawingPlace {
  size: TerminalSize;
  colored: boolean;
}

/** What can be printed now. `live` remembers that it is printed. */
export function advance(live: LiveText, place: DrawingPlace): Drawing {
  if (linesBetween(live, undefined, place) === undefined) restartText(live, live.printed ?? 0);
  const done: string[] = [];
  for (;;) {
    const lines = linesBetween({ ...live, text: decidedPart(live.text) }, undefined, place) ?? [];
    const open = lines.findIndex((line) => line.includes(openMark));
    const decided = open === -1 ? lines.length - 1 : open;
    // The first word of a line can become shorter, and fit on the line above.
    const isFirst = lines[decided]?.startsWith(openMark) === true;
    const least = lines.length - lastWithin(lines, place.size).length;
    const now = settle(live, { most: Math.max(isFirst ? decided - 1 : decided, least), least }, place);
    if (now.length === 0) return { done, tail: withoutMarks(lines) };
    done.push(...now);
  }
}

/**
 * The text without a last line of nothing but marks, such as `-`, which what follows makes an item, a rule or a heading; and
 * without marks at its end, which can be one of two.
 */
function decidedPart(text: string): string {
  return text.replace(/(?<=^|\n)[ \t>]*(?:[-*+_=#`~|:]+[ \t]*)?$/, '').replace(/(?<![*_~`])[*_~`]+$/, '');
}

/**
 * Returns lines to be printed, at most `most`, and notes in `live` where they end: between two words, or inside a word that is
 * higher than the window. They look as they do with the text that follows, except where at least `least` must be printed.
 */
export function settle(
  live: LiveText,
  { most, least, tries = 3 }: { most: number; least: number; tries?: number },
  place: DrawingPlace,
): string[] {
  if (most <= 0) return [];
  const decided = { ...live, text: decidedPart(live.text) };
  const waiting = linesBetween(decided, undefined, place) ?? [];
  const height = Math.max(1, place.size.rows - 1);
  const isHigh = countRows(waiting[0] ?? '', place.size.columns) > height;
  const isLong = live.text.length > maxCharacters;
  const ends = isHigh ? lettersAfter(decided.text, live.printed) : lineEnds(decided.text, live.printed);
  const holds = (end: number): boolean => {
    const lines = linesBetween(decided, end, place);
    if (lines === undefined || isLong) return lines !== undefined;
    return isHigh ? countHeight(lines, place.size) <= height : lines.length <= most;
  };
  const early = ends.length > manyEnds && !isHigh ? endBeforeLastBlock(decided, ends) : undefined;
  const at =
    (early !== undefined && holds(early) ? early : lastWhere(ends, holds)) ??
    // The head of a table is printed whole.
    (least > 0 ? ends.find((end) => linesBetween(decided, end, place)?.length) : undefined);
  const lines = at === undefined ? [] : (linesBetween(decided, at, place) ?? []);
  if (at === undefined || lines.length === 0) return [];
  const last = lines.length - 1;
  if (!isHigh && !isLong && tries > 1 && last >= least && isDifferent(lines[last], waiting[last]))
    return settle(live, { most: last, least, tries: tries - 1 }, place);
  if (isLong) restartText(live, at);
  else dropPrinted(live, at);
  return withoutMarks(lines);
}

/** Whether two lines differ in more than colours. */
function isDifferent(line = '', other = ''): boolean {
  const [one, two] = withoutMarks([line, other]).map((text) => stripVTControlCharacters(text));
  return one !== two;
}

function countHeight(lines: readonly string[], { columns }: TerminalSize): number {
  return lines.reduce((sum, line) => sum + countRows(line, columns), 0);
}

/** The last of the places for which `holds`. It does for all places before; most often that is near the end. */
function lastWhere(places: readonly number[], holds: (place: number) => boolean): number | undefined {
  let [low, high] = [places.length, places.length];
  for (let step = 1; low > 0 && !holds(places[low - 1] as number); step *= 2)
    [low, high] = [Math.max(0, low - step), low - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(places[middle - 1] as number)) low = middle;
    else high = middle - 1;
  }
  return places[low - 1];
}

/** A place before the last block, if the text has several. */
function endBeforeLastBlock({ text, printed = 0 }: LiveText, ends: readonly number[]): number | undefined {
  const blocks = openBlocks(withBreaks(text, [printed])) ?? [];
  const last = blocks.slice(blocks.findLastIndex(({ type }) => type !== 'space'));
  const start = text.length - last.reduce((sum, { raw }) => sum + raw.length, 0);
  return ends.findLast((end) => end <= start);
}

/** The lines from what is printed to `end`, or to the end of the text; undefined if a break mark is at a place that is not shown. */
export function linesBetween(
  live: LiveText,
  end: number | undefined,
  { size, colored }: DrawingPlace,
): string[] | undefined {
  const { text, printed, ...carried } = live;
  const breaks = [printed, end].filter((at) => at !== undefined);
  const lines = formatOpenText({ text: withBreaks(text, breaks), ...carried }, { width: size.columns, colored });
  const marked = lines.flatMap((line, index) => (line.includes(breakMark) ? [index] : []));
  const isClean = marked.every((at) =>
    marksBefore.test(stripVTControlCharacters(lines[at]?.split(breakMark)[0] ?? '')),
  );
  if (marked.length !== breaks.length || !isClean) return undefined;
  const to = end === undefined ? lines.length : (marked.at(-1) ?? 0);
  if (printed === undefined) return lines.slice(0, to);
  const [first, ...rest] = lines.slice(marked[0], to);
  return first === undefined ? [] : [...afterBreak(first), ...rest];
}

function withBreaks(text: string, places: readonly number[]): string {
  let marked = text;
  // A blank at the end of a line would have a meaning.
  for (const at of places.toReversed())
    marked = marked.slice(0, at) + (text[at] === '\n' ? breakText.trimEnd() : breakText) + marked.slice(at);
  return marked;
}

/** What a line with a break mark can have before it: the marks of quotes, items and tasks. */
const marksBefore = /^(?:│|•|\d+\.|\[[ x]\]|\s)*$/;

const colourOrMark = new RegExp(String.raw`\x1b\[[\d;]*m|[^│\s]`, 'g');

/** A line with a break mark: what is before the mark was printed, so only the bars of quotes are shown again. */
function afterBreak(line: string): string[] {
  const [before = '', after = ''] = line.split(breakMark);
  if (stripVTControlCharacters(withoutMarks([after]).join('')).trim() === '') return [];
  return [before.replaceAll(colourOrMark, (found) => (found.length > 1 ? found : ' ')) + after];
}

export function withoutMarks(lines: readonly string[]): string[] {
  return lines.map((line) => line.replaceAll(openMark, ''));
}

/** The marks before the text of a line: of quotes, items, tasks and headings. */
const lineMarks = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])|#{1,6}(?=[ \t])|\[[ xX]\](?=[ \t])))*[ \t]*/;
/** A line whose marks would mean something else with a break. */
const isStructure = /^(?:[-*+_=#`~|: \t]*$|`{3}|~{3})/;

/** Where a printed line can end: at a blank, at a line break, and between Chinese or Japanese characters. */
function lineEnds(text: string, after = -1): number[] {
  const ends: number[] = [];
  let start = text.lastIndexOf('\n', Math.max(0, after - 1)) + 1;
  for (const line of text.slice(start).split('\n')) {
    const marks = lineMarks.exec(line)?.[0].length ?? 0;
    // Behind the last bar of a row would be one more cell.
    const most = line.startsWith('|', marks) ? line.lastIndexOf('|') : line.length;
    if (!isStructure.test(line.slice(marks)))
      for (let at = marks + 1; at <= most; at++)
        if (start + at > after && start + at < text.length && endsWord(line, at)) ends.push(start + at);
    start += line.length + 1;
  }
  return ends;
}

function endsWord(line: string, at: number): boolean {
  if (at === line.length) return true;
  if (/\s/.test(line[at] ?? '')) return true;
  return !/\s/.test(line[at - 1] ?? '') && mayBreak(line[at - 1] ?? '', line[at] ?? '');
}

/** Every place between two letters. */
function lettersAfter(text: string, after = 0): number[] {
  const places: number[] = [];
  let at = after;
  for (const letter of text.slice(after)) {
    at += letter.length;
    if (at < text.length) places.push(at);
  }
  return places;
}

/** What follows is a text of its own: it begins with a break mark, so that it begins no list or heading by chance. */
function restartText(live: LiveText, at: number): void {
  live.text = live.text.slice(at);
  live.printed = 0;
  live.firstNumber = undefined;
  live.measuredRows = undefined;
}

/** Notes that the text is printed up to a place, and drops what decides nothing about the lines to come. */
function dropPrinted(live: LiveText, at: number): void {
  const blocks = openBlocks(withBreaks(live.text, [at]));
  live.printed = at;
  if (blocks === undefined) return cutOut(live, 0, at);
  let [start, end] = [0, 0];
  let block: Token | undefined;
  for (const next of blocks) {
    if (end < at && next.type !== 'space') [start, block] = [end, next];
    end += next.raw.length;
  }
  if (start > 0) {
    cutOut(live, 0, start);
    live.firstNumber = undefined;
    live.measuredRows = undefined;
  }
  if (block?.type === 'paragraph') dropWords(live, block as Tokens.Paragraph);
  else if (block?.type === 'list') dropItems(live, block as Tokens.List);
  else if (block?.type === 'table') dropRows(live, block as Tokens.Table);
  else if (block?.type === 'code')
    cutOut(live, lineStart(live.text, isFence.test(block.raw) ? 1 : 0), lineStartAt(live));
}

const isFence = /^ {0,3}(?:`{3}|~{3})/;

/** Emphasis or a link that goes on stays whole: without its beginning, its end would be other text. */
function dropWords(live: LiveText, { tokens }: Tokens.Paragraph): void {
  const { printed = 0 } = live;
  const open = tokens.findIndex(({ raw }) => raw.includes(breakMark));
  const start = tokens.slice(0, Math.max(0, open)).reduce((sum, { raw }) => sum + raw.length, 0);
  cutOut(live, 0, isSpan.has(tokens[open]?.type ?? '') ? start : printed);
}

const isSpan = new Set(['strong', 'em', 'del', 'link', 'image']);

function dropItems(live: LiveText, { items, ordered, start }: Tokens.List): void {
  const { printed = 0 } = live;
  let [at, index] = [0, 0];
  while (index < items.length - 1 && at + (items[index]?.raw.length ?? 0) < printed)
    at += items[index++]?.raw.length ?? 0;
  if (ordered) live.firstNumber = (live.firstNumber ?? Number(start)) + index;
  cutOut(live, 0, at);
}

/** The rows that decide the widths stay, those after the printed ones too. */
function dropRows(live: LiveText, { rows }: Tokens.Table): void {
  const next = rows.findIndex((row) => row.some(({ text }) => text.includes(breakMark)));
  if (next < 1) return;
  live.measuredRows ??= Math.min(rows.length, mostMeasuredRows);
  cutOut(live, lineStart(live.text, 2 + live.measuredRows), lineStartAt(live));
}

/** Where a line begins, counted from 0. */
function lineStart(text: string, line: number): number {
  return text.split('\n', line).reduce((sum, { length }) => sum + length + 1, 0);
}

/** Where the line begins in which the printed part ends. */
function lineStartAt({ text, printed = 0 }: LiveText): number {
  return text.lastIndexOf('\n', printed - 1) + 1;
}

function cutOut(live: LiveText, from: number, to: number): void {
  if (to <= from) return;
  live.text = live.text.slice(0, from) + live.text.slice(to);
  live.printed = (live.printed ?? 0) - (to - from);
}
