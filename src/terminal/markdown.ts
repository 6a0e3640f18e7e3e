import { Chalk, type ChalkInstance } from 'chalk';
import { lexer, type Token, type Tokens } from 'marked';
import { colourCode } from './code-colors.ts';
import { escapeForTerminal } from './escape.ts';
import { columnWidths, rowLines, withWords } from './table-columns.ts';
import { aroundBreak, breakMark, openMark, wrapped } from './wrap.ts';

/** The terminal, and how Markdown is shown. */
export interface MarkdownPlace {
  /** Columns. */
  width: number;
  colored: boolean;
  /** Line breaks in a paragraph stay, as in a chat; else they become spaces, as in a document. */
  breaks?: boolean;
}

interface Page extends Required<MarkdownPlace> {
  chalk: ChalkInstance;
  /** The text is still arriving, and this is its end. */
  isOpen?: boolean;
  /** Number of the first item, if the text begins inside a list. */
  firstNumber?: number | undefined;
  /** How many rows decide the widths of a table. */
  measuredRows?: number | undefined;
}

/** The blocks of a Markdown text, whose controls are escaped; `raw` is the source of each. Line breaks must be `\n`. */
export function parseBlocks(text: string): Token[] {
  try {
    return lexer(escapeForTerminal(text));
  } catch {
    // The nesting is deeper than the stack.
    return [{ type: 'text', raw: text, text: escapeForTerminal(text) }];
  }
}

/**
 * Formats Markdown for a terminal: wrapped, headings bold, tables in columns. Ends with a line break. Only code, and a word without
 * blanks, can be wider than the width: the terminal wraps it, so that it is copied as one line.
 */
export function renderMarkdown(blocks: readonly Token[], { width, colored, breaks = false }: MarkdownPlace): string {
  const lines = separated(blocks, { width, colored, breaks, chalk: new Chalk({ level: colored ? 1 : 0 }) });
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** A text that is still arriving, with break marks. */
export interface OpenText extends Pick<Page, 'firstNumber' | 'measuredRows'> {
  text: string;
}

/** Number of emphasis marks in a text: their time grows faster than their number. */
const maxMarks = 1000;
/** The same, if there is little else in it. */
const maxDenseMarks = 100;
const maxQuotes = 50;

/**
 * The blocks of a text that is still arriving, whose controls are escaped. Undefined if they would take too long, or are nested
 * deeper than the stack.
 */
export function openBlocks(text: string): Token[] | undefined {
  const marks = text.match(/[*_~]/g)?.length ?? 0;
  const quotes = /^[ \t>]*/.exec(text)?.[0].length ?? 0;
  const isDense = marks > maxDenseMarks && marks > text.length / 4;
  if (marks > maxMarks || isDense || quotes > 2 * maxQuotes) return undefined;
  try {
    return lexer(text);
  } catch {
    return undefined;
  }
}

/** The lines of a text that is still arriving, with break marks and open marks; only wrapped if it cannot be formatted. */
export function formatOpenText({ text, ...carried }: OpenText, { width, colored }: MarkdownPlace): string[] {
  const chalk = new Chalk({ level: colored ? 1 : 0 });
  const page: Page = { width, colored, breaks: true, chalk, isOpen: true, ...carried };
  const blocks = openBlocks(text);
  try {
    if (blocks !== undefined) return separated(blocks, page);
  } catch {
    // Nested deeper than the stack.
  }
  return text
    .trimEnd()
    .split('\n')
    .flatMap((line) => wrapped(line, page));
}

/** Only the first block of a text can go on with the numbers and the widths of a block that is printed. */
const notFirst = { firstNumber: undefined, measuredRows: undefined };

function closed(page: Page): Page {
  return { ...page, isOpen: false };
}

/** Blocks separated by empty lines. */
function separated(blocks: readonly Token[], page: Page): string[] {
  const last = blocks.findLastIndex(({ type }) => type !== 'space');
  const parts = blocks
    .map((block, index) => blockLines(block, { ...(index === last ? page : closed(page)), ...(index > 0 && notFirst) }))
    .filter((lines) => lines.length > 0);
  return parts.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

function blockLines(block: Token, page: Page): string[] {
  const { chalk } = page;
  switch (block.type) {
    case 'heading': {
      const { depth, tokens } = block as Tokens.Heading;
      // Without colours, the marks stay.
      return wrapped((page.colored ? '' : `${'#'.repeat(depth)} `) + chalk.bold(inline(tokens, page)), page);
    }
    case 'paragraph':
    case 'text': {
      const text = inline(('tokens' in block ? block.tokens : undefined) ?? [block], page);
      return wrapped(page.isOpen ? text.replace(/(?<=^|\n)(?=\|[^\n]*$)/, openMark) : text, page);
    }
    case 'code':
      return (block as Tokens.Code).text.split('\n').flatMap((line) => codeLines(line, chalk));
    case 'blockquote':
      return separated(block.tokens ?? [], narrower(page, 2)).map((line) => `${chalk.dim('│')} ${line}`.trimEnd());
    case 'list':
      return listLines(block as Tokens.List, page);
    case 'table':
      return tableLines(block as Tokens.Table, page);
    case 'hr':
      return [chalk.dim('─'.repeat(Math.min(page.width, 40)))];
    case 'space':
      return [];
    default:
      return wrapped(plainText(block.raw.trimEnd()), page);
  }
}

/** A line of a code block; two, if there is a break mark in it. */
function codeLines(line: string, chalk: ChalkInstance): string[] {
  const [head = '', ...rest] = line.split(aroundBreak).map((part) => codeLine(part, chalk));
  return [head, ...rest.map((part) => `${breakMark}${part}`)];
}

function codeLine(line: string, chalk: ChalkInstance): string {
  return line.trim() === '' ? '' : `  ${colourCode(line.replaceAll('\t', '    '), chalk)}`;
}

/** Empty lines are where the text has them: a loose list would change lines that were already printed. */
function listLines({ items, ordered, start }: Tokens.List, { firstNumber = Number(start), ...page }: Page): string[] {
  return items.flatMap((item, index) => {
    const mark = ordered ? `${firstNumber + index}. ` : '• ';
    const box = item.task ? (item.checked ? '[x] ' : '[ ] ') : '';
    const [head = '', ...rest] = itemLines(
      item,
      narrower(index === items.length - 1 ? page : closed(page), mark.length + box.length),
    );
    const hanging = ' '.repeat(mark.length + box.length);
    const isApart = index > 0 && /\n[ \t]*\n$/.test(items[index - 1]?.raw ?? '');
    return [
      ...(isApart ? [''] : []),
      `${mark}${box}${head}`,
      ...rest.map((line) => (line === '' ? '' : hanging + line)),
    ];
  });
}

function itemLines({ tokens }: Tokens.ListItem, page: Page): string[] {
  const blocks = tokens.filter(({ type }) => type !== 'checkbox');
  const last = blocks.findLastIndex(({ type }) => type !== 'space');
  return blocks.flatMap((block, index) =>
    block.type === 'space' && index > 0 ? [''] : blockLines(block, index === last ? page : closed(page)),
  );
}

/** In a chat, the first rows decide the widths. */
export const mostMeasuredRows = 12;

function tableLines({ header, rows, align }: Tokens.Table, page: Page): string[] {
  const { chalk, breaks, isOpen = false, measuredRows = mostMeasuredRows } = page;
  const unmarked = ({ tokens }: Tokens.TableCell): string =>
    inline(tokens, closed(page)).split(aroundBreak).join(' ').trim();
  const names = header.map((cell) => chalk.bold(unmarked(cell)));
  const cells = rows.map((row) => row.map(unmarked));
  const widths = columnWidths([names, ...(breaks ? cells.slice(0, measuredRows) : cells)], page);
  const body = rows.flatMap((row, index) => {
    const cellsOfRow = cells[index] ?? [];
    const lines =
      widths === undefined
        ? rowAsList(cellsOfRow, { names, index, page })
        : rowLines(cellsOfRow, { widths: withWords(cellsOfRow, widths, page), align });
    // A row is printed whole. The last can become longer, and the first decide the widths.
    const isLast = isOpen && index === rows.length - 1;
    if (isLast && lines[0] !== undefined) lines[0] = openMark + lines[0];
    return row.some(({ text }) => text.includes(breakMark)) ? [breakMark, ...lines] : lines;
  });
  if (widths === undefined) return body;
  const rule = widths.map((width) => chalk.dim('─'.repeat(width))).join('  ');
  const [first = '', ...rest] = rowLines(names, { widths, align });
  return [isOpen && rows.length < measuredRows ? openMark + first : first, ...rest, rule, ...body];
}

function rowAsList(
  row: readonly string[],
  { names, index, page }: { names: readonly string[]; index: number; page: Page },
): string[] {
  const lines = row.flatMap((cell, column) => (cell === '' ? [] : wrapped(`${names[column]}: ${cell}`, page)));
  return index === 0 ? lines : ['', ...lines];
}

/** A page inside another, never narrower than 8 columns. */
function narrower(page: Page, columns: number): Page {
  return { ...page, width: Math.max(page.width - columns, 8) };
}

/** Emphasis, code or a link that the text to come can end. */
const opening = /(?<![*\w])\*+(?=\S)|\*\*(?=\S)|(?<!\w)_+(?=\S)|~~(?=\S)|`|\[(?![^\]\n]*\][^([])/;

/** Text with its marks as colours and bold type. */
function inline(tokens: readonly Token[], page: Page): string {
  return tokens.map((token) => formatInline(token, page)).join('');
}

function formatInline(token: Token, page: Page): string {
  const { chalk, colored, breaks } = page;
  const inner = (): string => inline(('tokens' in token ? token.tokens : undefined) ?? [], page);
  switch (token.type) {
    case 'strong':
      return chalk.bold(inner());
    case 'em':
      return chalk.italic(inner());
    case 'del':
      return colored ? chalk.strikethrough(inner()) : `~~${inner()}~~`;
    case 'codespan':
      return colored ? chalk.cyan((token as Tokens.Codespan).text) : token.raw;
    case 'link':
      return linkText(token as Tokens.Link, inner());
    case 'image':
      return linkText(token as Tokens.Image, plainText((token as Tokens.Image).text));
    case 'br':
      return '\n';
    case 'checkbox':
      return '';
    case 'escape':
      return plainText((token as Tokens.Escape).text);
    case 'html':
      return /^<br\s*\/?>$/i.test(token.raw) ? '\n' : plainText(token.raw);
    case 'text': {
      if ('tokens' in token && token.tokens) return inner();
      const text = plainText(token.raw);
      if (page.isOpen) return text.replace(opening, (found) => openMark + found);
      return breaks ? text : text.replaceAll('\n', ' ');
    }
    default:
      return plainText(token.raw);
  }
}

/** A link with its address. */
function linkText({ href }: Tokens.Link | Tokens.Image, text: string): string {
  const address = plainText(href);
  return text === address || `mailto:${text}` === address || text === '' ? text || address : `${text} (${address})`;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** Text outside code: entities are decoded, and controls that they name are escaped. */
function plainText(text: string): string {
  const read = text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi, (found, ...parts) => {
    const [decimal, hex, name] = parts as (string | undefined)[];
    if (name !== undefined) return entities[name] ?? found;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code > 0x10ffff ? found : escapeForTerminal(String.fromCodePoint(code));
  });
  return read.replaceAll('\t', ' ');
}
