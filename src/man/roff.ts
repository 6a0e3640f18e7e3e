import type { Token, Tokens } from 'marked';

/** Names of characters that roff would read, or print as others. */
const names: Readonly<Record<string, string>> = {
  '\\': '\\(rs',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
};

/** Text that a man page shows as it stands. It must not begin its line where it can begin with a dot: see `line`. */
export function plain(text: string): string {
  return text.replaceAll(/[\\'`^~"-]|[^\n\x20-\x7e]/gu, (character) => names[character] ?? `\\[u${hex(character)}]`);
}

export function bold(text: string): string {
  return `\\fB${plain(text)}\\fR`;
}

export function italic(text: string): string {
  return `\\fI${plain(text)}\\fR`;
}

/** A line of the page, of text that has its marks. A dot in front would make it a request. */
function line(marked: string): string {
  return marked.replace(/^(?=\.)/, '\\&');
}

export function section(title: string): string {
  return `.SH ${plain(title.toUpperCase())}`;
}

export function subsection(title: string): string {
  return `.SS ${plain(title)}`;
}

export function paragraph(marked: string): string[] {
  return ['.PP', line(marked)];
}

/** A term, and what it means behind it. Further lines stand below each other. */
export function term(marked: string, [first = '', ...others]: readonly string[]): string[] {
  return ['.TP', line(marked), line(first), ...others.flatMap((text) => ['.br', line(text)])];
}

/** Lines that are copied as they stand. */
export function verbatim(lines: readonly string[]): string[] {
  return ['.PP', '.RS 2', '.EX', ...lines.map((text) => line(plain(text))), '.EE', '.RE'];
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
}

/** Blocks of Markdown as lines of a man page. Throws at what our topics do not use, so that nothing is lost. */
export function roffOf(blocks: readonly Token[]): string[] {
  return blocks.flatMap(blockLines);
}

function blockLines(block: Token): string[] {
  switch (block.type) {
    case 'heading':
      return [(block as Tokens.Heading).depth <= 2 ? section(textOf(block)) : subsection(textOf(block))];
    case 'paragraph':
      return paragraph(inline(block.tokens));
    case 'code':
      return verbatim((block as Tokens.Code).text.split('\n'));
    case 'list':
      return listLines(block as Tokens.List);
    case 'table':
      return tableLines(block as Tokens.Table);
    case 'space':
      return [];
    default:
      throw new Error(`a man page cannot hold this: ${block.raw}`);
  }
}

function listLines({ items, ordered, start }: Tokens.List): string[] {
  return items.flatMap(({ tokens }, index) => [
    ordered ? `.IP ${Number(start) + index}. 3` : '.IP \\(bu 2',
    ...tokens.flatMap((token) => (token.type === 'text' ? [line(inline(token.tokens))] : blockLines(token))),
  ]);
}

/** Each row is a term with its meaning: columns have no room in a page that is read at any width. */
function tableLines({ header, rows }: Tokens.Table): string[] {
  return rows.flatMap(([first, ...cells]) => {
    const named = cells.flatMap(({ text, tokens }, index) => {
      const name = cells.length === 1 ? '' : `${textOf(header[index + 1])}: `;
      return text === '' ? [] : [plain(name) + inline(tokens)];
    });
    return term(inline(first?.tokens), named);
  });
}

function inline(tokens: readonly Token[] = []): string {
  return tokens.map(inlineOf).join('');
}

function inlineOf(token: Token): string {
  const { tokens } = token as Tokens.Generic;
  switch (token.type) {
    case 'strong':
      return bold(textOf(token));
    case 'em':
      return italic(textOf(token));
    case 'codespan':
      // A list without blanks may be longer than a line.
      return bold((token as Tokens.Codespan).text).replaceAll(/,(?=\S)/g, ',\\:');
    case 'link':
      return linkText(token as Tokens.Link);
    case 'text':
      return tokens ? inline(tokens) : plain((token as Tokens.Text).text.replaceAll('\n', ' '));
    case 'escape':
      return plain((token as Tokens.Escape).text);
    default:
      throw new Error(`a man page cannot hold this: ${token.raw}`);
  }
}

/** A link with its address; one to a file of the repository with its path there. */
function linkText(link: Tokens.Link): string {
  const address = link.href.replace(/^(\.\.\/)+/, '');
  return link.text === address ? plain(address) : `${inline(link.tokens)} (${plain(address)})`;
}

/** The text of a block without its marks. */
function textOf(token: Token | Tokens.TableCell | undefined): string {
  const { tokens, text = '' } = token as Tokens.Generic;
  return tokens?.map(textOf).join('') ?? text;
}
