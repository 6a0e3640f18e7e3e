import { closesFence, type Fence, openedFence } from './fence.ts';

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
