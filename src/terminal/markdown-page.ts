/** A part of a text: a complete block, a line of code, unformatted text, or the empty line before a block. */
export interface Piece {
  kind: 'block' | 'code' | 'plain' | 'gap';
  text: string;
}

/** A longer block is printed as it arrives, in characters. */
const maxCharacters = 32 * 1024;

/** Splits a growing text into blocks. A list continues after an empty line if the next line is indented. */
export class MarkdownPage {
  #pieces: Piece[] = [];
  /** Lines of the incomplete block. */
  #block = '';
  /** The incomplete line. */
  #line = '';
  #fence: Fence | undefined;
  #isAfterEmptyLine = false;
  /** The block is printed as it arrives. */
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
    } else if (this.#fence === undefined && this.#block.length + this.#line.length > maxCharacters) {
      this.#block += this.#line;
      this.#line = '';
      this.#goPlain();
    }
    return this.#taken();
  }

  /** Returns the rest of the text. */
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
    if (this.#block.length > maxCharacters) this.#goPlain();
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

/** An open fenced code block. */
export interface Fence {
  /** The mark that opened it: the closing one has as many characters or more. */
  mark: string;
  /** Number of quotes around it. */
  quotes: number;
  /** Number of spaces before the mark, as in a list item. */
  indent: number;
}

const container = String.raw`(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]))*[ \t]*`;
const opener = new RegExp(String.raw`^(${container})(\`{3,}|~{3,})([^\r\n]*)`);

/** The fence that a line opens, also in quotes and lists. */
function openedFence(line: string): Fence | undefined {
  const [, before = '', mark = '', info = ''] = opener.exec(line) ?? [];
  if (mark === '' || (mark.startsWith('`') && info.includes('`'))) return undefined;
  const quotes = before.split('>').length - 1;
  return { mark, quotes, indent: before.slice(before.lastIndexOf('>') + 1).length - (quotes > 0 ? 1 : 0) };
}

/** A line of the block without the marks of its quotes and list items; undefined if its quote has ended. */
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

/** The fenced code blocks of a Markdown text, byte for byte, also those in lists and quotes; without empty ones. */
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
    // Four spaces outside a list begin an indented code block, whose text is not Markdown.
    fence = !isInList && /^( {4}| {0,3}\t)/.test(line) ? undefined : openedFence(line);
    if (fence !== undefined) blocks.push('');
  }
  return blocks.filter((block) => block.trim() !== '').map((block) => (block.endsWith('\n') ? block : `${block}\n`));
}
