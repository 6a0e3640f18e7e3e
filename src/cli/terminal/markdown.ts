import { Chalk, type ChalkInstance } from 'chalk';
import { Lexer, type Token, type Tokens } from 'marked';
import { escapeForTerminal } from './escape.ts';
import { columnWidths, rowLines, withWords } from './table-columns.ts';
import { wrapped } from './wrap.ts';

/** The terminal, and the options for showing Markdown. */
export interface MarkdownPlace {
  /** The width in columns. */
  width: number;
  colored: boolean;
  /** Line breaks in a paragraph stay, as in a chat; otherwise they become spaces, as in a document. */
  breaks?: boolean;
}

interface Page extends Required<MarkdownPlace> {
  chalk: ChalkInstance;
}

/** Number of emphasis marks in a paragraph: their time grows faster than their number. */
const maxMarks = 1000;
/** The maximum for a paragraph with little other text. */
const maxDenseMarks = 100;
/** A line with quotes nested too deep. */
const tooManyQuotes = /^[ \t>]{100}/m;

/** The blocks of a Markdown text; `raw` is the source of each. Line breaks must be `\n`. Throws RangeError if they are nested too deep. */
export function parseBlocks(text: string): Token[] {
  const lexer = new Lexer();
  lexer.blockTokens(escapeForTerminal(text), lexer.tokens);
  for (const { src, tokens } of lexer.inlineQueue) {
    const marks = src.match(/[*_~]/g)?.length ?? 0;
    const takesLong = marks > maxMarks || (marks > maxDenseMarks && marks > src.length / 4);
    if (takesLong) tokens.push({ type: 'text', raw: src, text: src });
    else lexer.inlineTokens(src, tokens);
  }
  return lexer.tokens;
}

/**
 * Formats Markdown for a terminal: wrapped, headings bold, tables in columns. Ends with a line break. Only code, and a word without
 * blanks, can be wider than the width: the terminal wraps it, so that it is copied as one line. Blocks that are nested deeper than the
 * stack stay as they are.
 */
export function renderMarkdown(text: string, { width, colored, breaks = false }: MarkdownPlace): string {
  const plain = escapeForTerminal(text);
  try {
    const blocks: Token[] = tooManyQuotes.test(text) ? [{ type: 'text', raw: plain, text: plain }] : parseBlocks(text);
    const lines = separated(blocks, { width, colored, breaks, chalk: new Chalk({ level: colored ? 1 : 0 }) });
    return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
  } catch (error) {
    if (error instanceof RangeError) return plain;
    throw error;
  }
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
    case 'text': {
      return wrapped(inline(('tokens' in block ? block.tokens : undefined) ?? [block], page), page);
    }
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
      return wrapped(plainText(block.raw.trimEnd()), page);
  }
}

function codeLine(line: string, chalk: ChalkInstance): string {
  return line.trim() === '' ? '' : `  ${chalk.cyan(line.replaceAll('\t', '    '))}`;
}

/** Empty lines stay in the places of the text: a loose list would change lines that were already printed. */
function listLines({ items, ordered, start }: Tokens.List, page: Page): string[] {
  return items.flatMap((item, index) => {
    const mark = ordered ? `${Number(start) + index}. ` : '• ';
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

/** Number of first rows that decide the widths in a chat. */
const mostMeasuredRows = 12;

function tableLines({ header, rows, align }: Tokens.Table, page: Page): string[] {
  const { chalk, breaks } = page;
  const cellText = ({ tokens }: Tokens.TableCell): string => inline(tokens, page).trim();
  const names = header.map((cell) => chalk.bold(cellText(cell)));
  const cells = rows.map((row) => row.map(cellText));
  const widths = columnWidths([names, ...(breaks ? cells.slice(0, mostMeasuredRows) : cells)], page);
  const body = cells.flatMap((row, index) =>
    widths === undefined
      ? rowAsList(row, { names, index, page })
      : rowLines(row, { widths: withWords(row, widths, page), align }),
  );
  if (widths === undefined) return body;
  const rule = widths.map((width) => chalk.dim('─'.repeat(width))).join('  ');
  return [...rowLines(names, { widths, align }), rule, ...body];
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
