/** A part of a text, to be printed now: a whole block, a line of code, text as it is, or the empty line before a block. */
export interface Piece {
  kind: 'block' | 'code' | 'plain' | 'gap';
  text: string;
}

/** A longer block is printed as it comes, in characters. */
const mostCharacters = 32 * 1024;

/** Cuts a text that grows into blocks. A list goes on over empty lines, as long as what follows is indented. */
export class MarkdownPage {
  #pieces: Piece[] = [];
  /** Lines of the block that is not whole. */
  #block = '';
  /** The line that is not whole. */
  #line = '';
  #fence: Fence | undefined;
  #isAfterEmptyLine = false;
  /** The block is printed as it comes. */
  #isPlain = false;
  #isMidLine = false;
  #hasPrinted = false;

  /** Adds text; returns what can be printed now. */
  add(text: string): Piece[] {
    const lines = (this.#line + text).split('\n');
    this.#line = lines.pop() ?? '';
    for (const line of lines) this.#addLine(`${line.replace(/\r$/, '')}\n`);
    if (this.#isPlain && this.#line !== '') {
      this.#addPlain(this.#line);
      this.#line = '';
    } else if (this.#fence === undefined && this.#block.length + this.#line.length > mostCharacters) {
      this.#block += this.#line;
      this.#line = '';
      this.#goPlain();
    }
    return this.#taken();
  }

  /** What is left of the text. */
  end(): Piece[] {
    if (this.#line !== '' || this.#isMidLine) this.#addLine(`${this.#line}\n`);
    this.#endBlock();
    return this.#taken();
  }

  #addLine(text: string): void {
    if (this.#fence !== undefined) return this.#addCode(text, this.#fence);
    if (this.#isPlain) return this.#addPlain(text);
    if (text.trim() === '') {
      if (!isList(this.#block)) return this.#endBlock();
      this.#isAfterEmptyLine = true;
    } else if ((this.#isAfterEmptyLine && /^\S/.test(text)) || isHeading(text)) this.#endBlock();
    if (this.#opensFence(text)) return;
    this.#block += text;
    if (isHeading(text)) this.#endBlock();
    if (this.#block.length > mostCharacters) this.#goPlain();
  }

  #opensFence(text: string): boolean {
    const fence = /^ {0,3}[`~]/.test(text) && !isList(this.#block) ? openedFence(text) : undefined;
    if (fence === undefined) return false;
    this.#endBlock();
    this.#startBlock();
    this.#fence = fence;
    return true;
  }

  #addCode(text: string, fence: Fence): void {
    if (closesFence(text, fence)) this.#fence = undefined;
    else this.#put('code', text.replace(/\n$/, ''));
  }

  #addPlain(text: string): void {
    this.#isPlain = this.#isMidLine || text.trim() !== '';
    this.#isMidLine = !text.endsWith('\n');
    if (this.#isPlain) this.#put('plain', text);
  }

  /** The block is too long to wait for. */
  #goPlain(): void {
    this.#startBlock();
    this.#put('plain', this.#block);
    this.#isMidLine = !this.#block.endsWith('\n');
    this.#block = '';
    this.#isPlain = true;
  }

  #startBlock(): void {
    if (this.#hasPrinted) this.#pieces.push({ kind: 'gap', text: '' });
  }

  #endBlock(): void {
    if (this.#block.trim() !== '') {
      this.#startBlock();
      this.#put('block', this.#block);
    }
    this.#block = '';
    this.#isAfterEmptyLine = false;
    this.#isPlain = false;
  }

  #put(kind: Piece['kind'], text: string): void {
    this.#pieces.push({ kind, text });
    this.#hasPrinted = true;
  }

  #taken(): Piece[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }
}

function isList(block: string): boolean {
  return /^\s*([-*+]|\d{1,9}[.)])\s/.test(block);
}

function isHeading(line: string): boolean {
  return /^#{1,6}\s/.test(line);
}

/** A fenced code block that is open. */
export interface Fence {
  /** Characters of the mark that opened it: what closes it has as many or more. */
  mark: string;
  /** Quotes that it is in. */
  quotes: number;
  /** Blanks before the mark, as those of a list item. */
  indent: number;
}

const container = String.raw`(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]))*[ \t]*`;
const opener = new RegExp(String.raw`^(${container})(\`{3,}|~{3,})([^\r\n]*)`);

/** The fence that a line opens, in quotes and lists too; undefined where it opens none. */
function openedFence(line: string): Fence | undefined {
  const [, before = '', mark = '', info = ''] = opener.exec(line) ?? [];
  if (mark === '' || (mark.startsWith('`') && info.includes('`'))) return undefined;
  const quotes = before.split('>').length - 1;
  return { mark, quotes, indent: before.slice(before.lastIndexOf('>') + 1).length - (quotes > 0 ? 1 : 0) };
}

/** A line of the block without what its quotes and list items put before it; undefined where its quote has ended. */
function fencedLine(line: string, { quotes, indent }: Fence): string | undefined {
  let rest = line;
  for (let level = 0; level < quotes; level++) {
    const inside = /^ {0,3}> ?/.exec(rest);
    if (inside === null) return undefined;
    rest = rest.slice(inside[0].length);
  }
  const blanks = /^ */.exec(rest)?.[0].length ?? 0;
  return rest.slice(Math.min(blanks, Math.max(0, indent)));
}

/** Whether a line of the block closes it. */
function closesFence(line: string, { mark }: Fence): boolean {
  const [, found = ''] = /^ {0,3}(`{3,}|~{3,})[ \t]*\r?\n?$/.exec(line) ?? [];
  return found.startsWith(mark);
}

/** The fenced code blocks of a Markdown text, in their order, byte for byte; those in lists and quotes too, empty ones not. */
export function codeBlocks(markdown: string): string[] {
  const blocks: string[] = [];
  let fence: Fence | undefined;
  let isInList = false;
  for (const line of markdown.replace(/^\uFEFF/, '').match(/[^\n]*\n|[^\n]+/g) ?? []) {
    const inside = fence && fencedLine(line, fence);
    if (fence !== undefined && inside !== undefined) {
      if (closesFence(inside, fence)) fence = undefined;
      else blocks.push(`${blocks.pop() ?? ''}${inside}`);
      continue;
    }
    isInList = /^\s*([-*+]|\d{1,9}[.)])\s/.test(line) || (isInList && /^(\s|$)/.test(line));
    // Four blanks outside of a list are a block of their own kind: its text is no Markdown.
    fence = !isInList && /^( {4}| {0,3}\t)/.test(line) ? undefined : openedFence(line);
    if (fence !== undefined) blocks.push('');
  }
  return blocks.filter((block) => block.trim() !== '').map((block) => (block.endsWith('\n') ? block : `${block}\n`));
}
