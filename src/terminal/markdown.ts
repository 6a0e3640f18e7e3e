import { Chalk, type ChalkInstance } from 'chalk';
import { lexer, type Token, type Tokens } from 'marked';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

/** Where Markdown is shown. */
export interface MarkdownPlace {
  /** Columns. */
  width: number;
  colored: boolean;
}

interface Page {
  width: number;
  chalk: ChalkInstance;
}

/** The blocks of a Markdown text, as they follow each other; `raw` is what each was made of. */
export function blocksOf(text: string): Token[] {
  return lexer(text);
}

/** Markdown as a person reads it on a terminal: wrapped at the width, headings bold, tables in columns. Ends with a line break. */
export function renderMarkdown(blocks: readonly Token[], { width, colored }: MarkdownPlace): string {
  const page = { width, chalk: new Chalk({ level: colored ? 1 : 0 }) };
  const lines = linesOf(blocks, page);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** Blocks with an empty line between them. */
function linesOf(blocks: readonly Token[], page: Page): string[] {
  const parts = blocks.map((block) => blockLines(block, page)).filter((lines) => lines.length > 0);
  return parts.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

function blockLines(block: Token, page: Page): string[] {
  const { chalk } = page;
  switch (block.type) {
    case 'heading':
      return wrapped(chalk.bold(inline(block.tokens ?? [], page)), page);
    case 'paragraph':
    case 'text':
      return wrapped(inline(block.tokens ?? [block], page), page);
    case 'code':
      return (block as Tokens.Code).text.split('\n').map((line) => `  ${chalk.cyan(line)}`);
    case 'blockquote':
      return linesOf(block.tokens ?? [], narrower(page, 2)).map((line) => `${chalk.dim('│')} ${line}`);
    case 'list':
      return listLines(block as Tokens.List, page);
    case 'table':
      return tableLines(block as Tokens.Table, page);
    case 'hr':
      return [chalk.dim('─'.repeat(Math.min(page.width, 40)))];
    case 'space':
    case 'def':
      return [];
    default:
      return wrapped(block.raw.trimEnd(), page);
  }
}

function listLines({ items, ordered, start, loose }: Tokens.List, page: Page): string[] {
  const first = Number(start) || 1;
  return items.flatMap((item, index) => {
    const mark = ordered ? `${first + index}. ` : '• ';
    const blocks = item.tokens.filter(({ type }) => type !== 'checkbox');
    const inner = narrower(page, mark.length);
    const lines = loose ? linesOf(blocks, inner) : blocks.flatMap((block) => blockLines(block, inner));
    const box = item.task ? (item.checked ? '[x] ' : '[ ] ') : '';
    const text = lines.map((line, at) => (at === 0 ? mark + box + line : ' '.repeat(mark.length) + line));
    return loose && index > 0 ? ['', ...text] : text;
  });
}

/** Columns side by side where they fit; else each row as a list of its cells. */
function tableLines({ header, rows }: Tokens.Table, page: Page): string[] {
  const { chalk, width } = page;
  const names = header.map((cell) => chalk.bold(inline(cell.tokens, page)));
  const cells = rows.map((row) => row.map((cell) => inline(cell.tokens, page)));
  const widths = names.map((name, column) =>
    Math.max(...[name, ...cells.map((row) => row[column] ?? '')].map((text) => stringWidth(text))),
  );
  const gaps = 2 * (widths.length - 1);
  const last = width - gaps - sum(widths.slice(0, -1));
  if (last >= Math.min(widths.at(-1) ?? 0, 24)) {
    return [names, ...cells].flatMap((row) =>
      rowLines(row, [...widths.slice(0, -1), Math.min(last, widths.at(-1) ?? 0)]),
    );
  }
  return cells.flatMap((row, index) => [
    ...(index === 0 ? [] : ['']),
    ...row.flatMap((cell, column) => (cell === '' ? [] : wrapped(`${names[column]}: ${cell}`, page))),
  ]);
}

/** A row whose last cell goes on in further lines. */
function rowLines(row: readonly string[], widths: readonly number[]): string[] {
  const lead = row.slice(0, -1).map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - stringWidth(cell) + 2));
  const room = widths.at(-1) ?? 0;
  const [first = '', ...more] = wrapAnsi(row.at(-1) ?? '', room, { hard: true }).split('\n');
  const hanging = ' '.repeat(sum(widths.slice(0, -1)) + 2 * (widths.length - 1));
  return [(lead.join('') + first).trimEnd(), ...more.map((line) => hanging + line)];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function narrower(page: Page, columns: number): Page {
  return { ...page, width: Math.max(page.width - columns, 8) };
}

function wrapped(text: string, { width }: Page): string[] {
  return wrapAnsi(text, width, { hard: true }).split('\n');
}

/** Text with its marks as colours and weights. */
function inline(tokens: readonly Token[], page: Page): string {
  return tokens.map((token) => inlineOf(token, page)).join('');
}

function inlineOf(token: Token, page: Page): string {
  const { chalk } = page;
  const inner = (): string => inline(('tokens' in token ? token.tokens : undefined) ?? [], page);
  switch (token.type) {
    case 'strong':
      return chalk.bold(inner());
    case 'em':
      return chalk.italic(inner());
    case 'del':
      return chalk.strikethrough(inner());
    case 'codespan':
      return chalk.cyan((token as Tokens.Codespan).text);
    case 'link':
      return linkText(token as Tokens.Link, inner());
    case 'image':
      return `${(token as Tokens.Image).text} (${(token as Tokens.Image).href})`;
    case 'br':
      return '\n';
    case 'escape':
      return (token as Tokens.Escape).text;
    case 'text':
      return 'tokens' in token && token.tokens ? inner() : (token as Tokens.Text).text.replaceAll('\n', ' ');
    default:
      return token.raw;
  }
}

/** A link with its address, which a terminal does not show by itself. */
function linkText({ href }: Tokens.Link, text: string): string {
  return text === href ? href : `${text} (${href})`;
}
