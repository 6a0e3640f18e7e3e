import type { Token, Tokens } from 'marked';

/** Characters that roff reads as requests, or prints as others. */
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\(rs',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
};

/** Text without markup. */
export function roffText(text: string): string {
  return text.replaceAll(/[\\'`^~"-]|[^\n\x20-\x7e]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return escapes[character] ?? `\\[u${hex}]`;
  });
}

export function bold(text: string): string {
  return `\\fB${roffText(text)}\\fR`;
}

export function italic(text: string): string {
  return `\\fI${roffText(text)}\\fR`;
}

export function section(title: string): string {
  return `.SH ${roffText(title.toUpperCase())}`;
}

/** A line of marked text. A dot at its beginning would be a request. */
function line(marked: string): string {
  return marked.replace(/^\./, '\\&.');
}

export function paragraph(marked: string): string[] {
  return ['.PP', line(marked)];
}

/** A term and its meaning, whose lines stay lines. */
export function term(marked: string, first = '', ...more: readonly string[]): string[] {
  return ['.TP', line(marked), line(first), ...more.flatMap((text) => ['.br', line(text)])];
}

/** Lines that stay as they are. */
export function verbatim(lines: readonly string[]): string[] {
  return ['.PP', '.RS 2', '.EX', ...lines.map((text) => line(roffText(text))), '.EE', '.RE'];
}

/** Blocks of Markdown as lines of a man page. Throws for a kind of token that no topic has yet. */
export function roffOf(blocks: readonly Token[]): string[] {
  return blocks.flatMap((block) => rendererIn(blockRenderers, block)(block));
}

type Renderers<Output> = Readonly<Record<string, (token: Tokens.Generic) => Output>>;

function rendererIn<Output>(renderers: Renderers<Output>, { type, raw }: Token): (token: Tokens.Generic) => Output {
  const render = renderers[type];
  if (render === undefined) throw new Error(`a man page cannot contain this: ${raw}`);
  return render;
}

const blockRenderers: Renderers<string[]> = {
  space: () => [],
  heading: (token) => [token['depth'] <= 2 ? section(plainText(token)) : `.SS ${roffText(plainText(token))}`],
  paragraph: ({ tokens }) => paragraph(inline(tokens)),
  code: (token) => verbatim(plainText(token).split('\n')),
  list: (token) => {
    const { items, ordered, start } = token as Tokens.List;
    return items.flatMap(({ tokens }, index) => [
      ordered ? `.IP ${Number(start) + index}. 3` : '.IP \\(bu 2',
      ...tokens.flatMap((inner) =>
        inner.type === 'text' ? [line(inline((inner as Tokens.Text).tokens))] : roffOf([inner]),
      ),
    ]);
  },
  // A row is a term with its meaning: a page of any width has no room for columns.
  table: (token) => {
    const { header, rows } = token as Tokens.Table;
    return rows.flatMap(([first, ...cells]) => {
      const filled = cells
        .map((cell, index) => ({ cell, name: plainText(header[index + 1]) }))
        .filter(({ cell }) => cell.text);
      const named = filled.map(
        ({ cell, name }) => roffText(cells.length === 1 ? '' : `${name}: `) + inline(cell.tokens),
      );
      return term(inline(first?.tokens), ...named);
    });
  },
};

function inline(tokens: readonly Token[] = []): string {
  return tokens.map((token) => rendererIn(inlineRenderers, token)(token)).join('');
}

const inlineRenderers: Renderers<string> = {
  strong: (token) => bold(plainText(token)),
  em: (token) => italic(plainText(token)),
  // A list without spaces can be longer than a line.
  codespan: (token) => bold(plainText(token)).replaceAll(/,(?=\S)/g, ',\\:'),
  // A link to a file of the repository gets its path there.
  link: (token) => {
    const address = (token as Tokens.Link).href.replace(/^(\.\.\/)+/, '');
    return plainText(token) === address ? roffText(address) : `${inline(token.tokens)} (${roffText(address)})`;
  },
  text: (token) => (token.tokens ? inline(token.tokens) : roffText(plainText(token).replaceAll('\n', ' '))),
  escape: (token) => roffText(plainText(token)),
};

/** The text of a token without its markup. */
function plainText(token: Token | Tokens.TableCell | undefined): string {
  const { tokens, text = '' } = token as Tokens.Generic;
  return tokens?.map(plainText).join('') ?? text;
}
