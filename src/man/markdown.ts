import type { Token, Tokens } from 'marked';
import { bold, italic, line, paragraph, plain, section, subsection, term, verbatim } from './roff.ts';

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
