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
export function plain(text: string): string {
  return text.replaceAll(/[\\'`^~"-]|[^\n\x20-\x7e]/gu, (character) => escapes[character] ?? `\\[u${hex(character)}]`);
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
}

export function bold(text: string): string {
  return `\\fB${plain(text)}\\fR`;
}

export function italic(text: string): string {
  return `\\fI${plain(text)}\\fR`;
}

export function section(title: string): string {
  return `.SH ${plain(title.toUpperCase())}`;
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
  return ['.PP', '.RS 2', '.EX', ...lines.map((text) => line(plain(text))), '.EE', '.RE'];
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
  heading: (token) => [token['depth'] <= 2 ? section(textOf(token)) : `.SS ${plain(textOf(token))}`],
  paragraph: ({ tokens }) => paragraph(inline(tokens)),
  code: (token) => verbatim(textOf(token).split('\n')),
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
        .map((cell, index) => ({ cell, name: textOf(header[index + 1]) }))
        .filter(({ cell }) => cell.text);
      const named = filled.map(({ cell, name }) => plain(cells.length === 1 ? '' : `${name}: `) + inline(cell.tokens));
      return term(inline(first?.tokens), ...named);
    });
  },
};

function inline(tokens: readonly Token[] = []): string {
  return tokens.map((token) => rendererIn(inlineRenderers, token)(token)).join('');
}

const inlineRenderers: Renderers<string> = {
  strong: (token) => bold(textOf(token)),
  em: (token) => italic(textOf(token)),
  // A list without blanks can be longer than a line.
  codespan: (token) => bold(textOf(token)).replaceAll(/,(?=\S)/g, ',\\:'),
  // A link to a file of the repository gets its path there.
  link: (token) => {
    const address = (token as Tokens.Link).href.replace(/^(\.\.\/)+/, '');
    return textOf(token) === address ? plain(address) : `${inline(token.tokens)} (${plain(address)})`;
  },
  text: (token) => (token.tokens ? inline(token.tokens) : plain(textOf(token).replaceAll('\n', ' '))),
  escape: (token) => plain(textOf(token)),
};

/** The text of a token without its markup. */
function textOf(token: Token | Tokens.TableCell | undefined): string {
  const { tokens, text = '' } = token as Tokens.Generic;
  return tokens?.map(textOf).join('') ?? text;
}
