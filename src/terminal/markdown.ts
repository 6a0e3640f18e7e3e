import { Chalk, type ChalkInstance } from 'chalk';
import { lexer, type Token, type Tokens } from 'marked';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { breakCjk } from './break-lines.ts';
import { colourCode } from './code-colours.ts';
import { escapeForTerminal } from './escape.ts';
import type { Output } from './io.ts';
import { MarkdownPage, type Piece } from './markdown-page.ts';

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
}

/**
 * Prints Markdown on a terminal while it arrives: blocks when they are complete, code line by line. Starts at the beginning of a
 * line. `end` prints the rest; the next write begins another text. `onOutput` is called before each output.
 */
export function startMarkdown(stdout: Output, colored: boolean, onOutput?: () => void) {
  const chalk = new Chalk({ level: colored ? 1 : 0 });
  let page = new MarkdownPage();

  /** As bytes: the escape sequences are those of the program. The text between them is escaped. */
  async function print(pieces: readonly Piece[]): Promise<void> {
    const text = pieces.map(shown).join('');
    if (text === '') return;
    onOutput?.();
    await stdout.write(Buffer.from(text));
  }
  function shown({ kind, text }: Piece): string {
    if (kind === 'code') return `${codeLine(text, chalk)}\n`;
    if (kind === 'gap') return '\n';
    return kind === 'plain'
      ? escapeForTerminal(text)
      : markdownText(text, { width: stdout.columns, colored, breaks: true });
  }
  return {
    write: (text: string): Promise<void> => print(page.add(text)),
    async end(): Promise<void> {
      const pieces = page.end();
      page = new MarkdownPage();
      await print(pieces);
    },
  };
}

/** The blocks of a Markdown text; `raw` is the source of each. Line breaks must be `\n`. */
export function blocksOf(text: string): Token[] {
  try {
    return lexer(text);
  } catch {
    // The nesting is deeper than the stack.
    return [{ type: 'text', raw: text, text }];
  }
}

/** Number of emphasis marks in a block: their time grows faster than their number. */
const maxMarks = 1000;
const maxQuotes = 50;

/**
 * Formats a block for a terminal. A block that would take too long, or that is nested deeper than the stack, is only escaped:
 * formatting never ends a command.
 */
function markdownText(block: string, place: MarkdownPlace): string {
  const marks = block.match(/[*_~]/g)?.length ?? 0;
  const quotes = /^[ \t>]*/.exec(block)?.[0].length ?? 0;
  if (marks > maxMarks || quotes > 2 * maxQuotes) return escapeForTerminal(block);
  try {
    return renderMarkdown(blocksOf(block), place);
  } catch {
    return escapeForTerminal(block);
  }
}

/**
 * Formats Markdown for a terminal: wrapped, headings bold, tables in columns. Controls are escaped. Ends with a line break. Only a
 * line of code can be wider than the width: the terminal wraps it, so that it is copied as one line.
 */
export function renderMarkdown(blocks: readonly Token[], { width, colored, breaks = false }: MarkdownPlace): string {
  const lines = separated(blocks, { width, colored, breaks, chalk: new Chalk({ level: colored ? 1 : 0 }) });
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** Blocks separated by empty lines. */
function separated(blocks: readonly Token[], page: Page): string[] {
  const parts = blocks.map((block) => blockLines(block, page)).filter((lines) => lines.length > 0);
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
    case 'text':
      return wrapped(inline(('tokens' in block ? block.tokens : undefined) ?? [block], page), page);
    case 'code':
      return (block as Tokens.Code).text.split('\n').map((line) => codeLine(line, chalk));
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
      return wrapped(safeText(block.raw.trimEnd()), page);
  }
}

/** A line of a code block. */
function codeLine(line: string, chalk: ChalkInstance): string {
  return line.trim() === '' ? '' : `  ${colourCode(escapeForTerminal(line.replaceAll('\t', '    ')), chalk)}`;
}

/** Empty lines are where the text has them: a loose list would change lines that were already printed. */
function listLines({ items, ordered, start }: Tokens.List, page: Page): string[] {
  const first = ordered ? Number(start) : 0;
  return items.flatMap((item, index) => {
    const mark = ordered ? `${first + index}. ` : '• ';
    const box = item.task ? (item.checked ? '[x] ' : '[ ] ') : '';
    const [head = '', ...rest] = itemLines(item, narrower(page, mark.length + box.length));
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
  return blocks.flatMap((block, index) => (block.type === 'space' && index > 0 ? [''] : blockLines(block, page)));
}

/** Least width of a column that needs more; below it, each row becomes a list of its cells. */
const narrowestColumn = 10;
/** In a chat, the first rows decide the widths. */
const measuredRows = 12;

type Aligned = Pick<Tokens.Table, 'align'> & { widths: readonly number[] };

function tableLines({ header, rows, align }: Tokens.Table, page: Page): string[] {
  const { chalk } = page;
  const names = header.map((cell) => chalk.bold(inline(cell.tokens, page)));
  const cells = rows.map((row) => row.map((cell) => inline(cell.tokens, page)));
  const measured = page.breaks ? cells.slice(0, measuredRows) : cells;
  const widths = columnWidths([names, ...measured], page);
  if (widths === undefined) return cells.flatMap((row, index) => rowAsList(row, { names, index, page }));
  const rule = widths.map((width) => chalk.dim('─'.repeat(width))).join('  ');
  const [head = [], ...body] = [names, ...cells].map((row) => rowLines(row, { widths, align }));
  return [...head, rule, ...body.flat()];
}

/**
 * The widths of the cells, or fair shares of the terminal if it is too narrow. Undefined if a column would be too narrow, or in
 * a document split a word.
 */
function columnWidths(rows: readonly (readonly string[])[], { width, breaks }: Page): number[] | undefined {
  const columns = Array.from({ length: rows[0]?.length ?? 0 }, (_, column) => {
    const cells = rows.map((row) => row[column] ?? '');
    const wanted = Math.max(1, ...cells.map((cell) => widest(cell)));
    const word = breaks ? 0 : Math.max(...cells.map((cell) => widest(cell.replaceAll(/\s+/g, '\n'))));
    return { column, wanted, least: Math.max(word, Math.min(wanted, narrowestColumn)) };
  });
  let room = width - 2 * (columns.length - 1);
  let reserved = columns.reduce((sum, { least }) => sum + least, 0);
  if (reserved > room) return undefined;
  const given: number[] = [];
  for (const [index, { column, wanted, least }] of columns.toSorted((a, b) => a.wanted - b.wanted).entries()) {
    reserved -= least;
    const fair = Math.max(least, Math.floor(room / (columns.length - index)));
    const share = Math.min(wanted, fair, room - reserved);
    given[column] = share;
    room -= share;
  }
  return given;
}

function widest(cell = ''): number {
  return Math.max(...cell.split('\n').map((line) => stringWidth(line)));
}

/** A row of a table; cells wider than their column continue in further lines. */
function rowLines(row: readonly string[], { widths, align }: Aligned): string[] {
  const columns = widths.map((width, column) => wrapped(row[column] ?? '', { width }));
  const height = Math.max(...columns.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) => {
    const pieces = columns.map((lines, column) => padded(lines[at] ?? '', widths[column] ?? 0, align[column]));
    return pieces.join('  ').trimEnd();
  });
}

function padded(text: string, width: number, align: 'center' | 'left' | 'right' | null | undefined): string {
  const free = Math.max(0, width - stringWidth(text));
  const before = align === 'right' ? free : align === 'center' ? Math.floor(free / 2) : 0;
  return ' '.repeat(before) + text + ' '.repeat(free - before);
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

function wrapped(text: string, { width }: Pick<Page, 'width'>): string[] {
  return wrapAnsi(breakCjk(text, width), width, { hard: true }).split('\n');
}

/** Text with its marks as colours and bold type. */
function inline(tokens: readonly Token[], page: Page): string {
  return tokens.map((token) => inlineOf(token, page)).join('');
}

function inlineOf(token: Token, page: Page): string {
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
      return colored ? chalk.cyan(escapeForTerminal((token as Tokens.Codespan).text)) : escapeForTerminal(token.raw);
    case 'link':
      return linkText(token as Tokens.Link, inner());
    case 'image':
      return linkText(token as Tokens.Image, safeText((token as Tokens.Image).text));
    case 'br':
      return '\n';
    case 'checkbox':
      return '';
    case 'escape':
      return safeText((token as Tokens.Escape).text);
    case 'html':
      return /^<br\s*\/?>$/i.test(token.raw) ? '\n' : safeText(token.raw);
    case 'text': {
      if ('tokens' in token && token.tokens) return inner();
      const text = safeText((token as Tokens.Text).text);
      return breaks ? text : text.replaceAll('\n', ' ');
    }
    default:
      return safeText(token.raw);
  }
}

/** A link with its address. */
function linkText({ href }: Tokens.Link | Tokens.Image, text: string): string {
  const address = safeText(href);
  return text === address || `mailto:${text}` === address || text === '' ? text || address : `${text} (${address})`;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** Text outside code: entities are decoded, then controls are escaped. */
function safeText(text: string): string {
  const read = text.replaceAll(/&(amp|lt|gt|quot|apos|nbsp);/g, (_, name: string) => entities[name] ?? '');
  return escapeForTerminal(read.replaceAll('\t', ' '));
}
