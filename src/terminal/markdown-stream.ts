import { Chalk } from 'chalk';
import { escapeForTerminal } from './escape.ts';
import { closesFence, type Fence, openedFence } from './fence.ts';
import type { Output } from './io.ts';
import { codeLine, markdownText } from './markdown.ts';

/** Markdown on a terminal while it comes: a block is printed, formatted, when it is whole; code line by line. */
export interface MarkdownStream {
  write(text: string): Promise<void>;
  /** Prints what is left. What follows is another text. */
  end(): Promise<void>;
}

interface MarkdownStreamOptions {
  stdout: Output;
  colored: boolean;
  /** Called before each output. */
  onOutput?: (() => void) | undefined;
}

/** A longer block is printed as it is, in characters. */
const mostCharacters = 32 * 1024;

/** Starts at the beginning of a line of stdout, which must be a terminal. */
export function startMarkdown({ stdout, colored, onOutput }: MarkdownStreamOptions): MarkdownStream {
  const chalk = new Chalk({ level: colored ? 1 : 0 });
  const place = () => ({ width: stdout.columns, colored, breaks: true });
  let page = createPage();

  /** As bytes: these are our own sequences. The text between them has none. */
  async function print(pieces: readonly Piece[]): Promise<void> {
    const text = pieces.map((piece) => shown(piece)).join('');
    if (text === '') return;
    onOutput?.();
    await stdout.write(Buffer.from(text));
  }
  function shown({ kind, text }: Piece): string {
    if (kind === 'code') return `${codeLine(text, chalk)}\n`;
    if (kind === 'gap') return '\n';
    return kind === 'plain' ? escapeForTerminal(text) : markdownText(text, place());
  }
  return {
    write: (text) => print(page.add(text)),
    async end() {
      const pieces = page.end();
      page = createPage();
      await print(pieces);
    },
  };
}

/** A part of a text, to be printed now: a whole block, a line of code, text as it is, or the empty line before a block. */
interface Piece {
  kind: 'block' | 'code' | 'plain' | 'gap';
  text: string;
}

interface Page {
  add(text: string): Piece[];
  end(): Piece[];
}

/** Cuts a text that grows into blocks. A list goes on over empty lines, as long as what follows is indented. */
function createPage(): Page {
  let pieces: Piece[] = [];
  /** Lines of the block that is not whole. */
  let block = '';
  let line = '';
  let fence: Fence | undefined;
  let isAfterEmptyLine = false;
  /** The block is printed as it comes. */
  let isPlain = false;
  let isMidLine = false;
  let hasPrinted = false;

  function put(kind: Piece['kind'], text: string): void {
    pieces.push({ kind, text });
    hasPrinted = true;
  }
  function startBlock(): void {
    if (hasPrinted) pieces.push({ kind: 'gap', text: '' });
  }
  function endBlock(): void {
    if (block.trim() !== '') {
      startBlock();
      put('block', block);
    }
    block = '';
    isAfterEmptyLine = false;
    isPlain = false;
  }
  function addLine(text: string): void {
    if (fence !== undefined) return addCode(text);
    if (isPlain) return addPlain(text);
    if (text.trim() === '') {
      if (isList(block)) isAfterEmptyLine = true;
      else return endBlock();
    } else if ((isAfterEmptyLine && /^\S/.test(text)) || isHeading(text)) endBlock();
    const opened = /^ {0,3}[`~]/.test(text) && !isList(block) ? openedFence(text) : undefined;
    if (opened !== undefined) {
      endBlock();
      startBlock();
      fence = opened;
      return;
    }
    block += text;
    if (isHeading(text)) endBlock();
    if (block.length > mostCharacters) goPlain();
  }
  function addCode(text: string): void {
    if (fence !== undefined && closesFence(text, fence)) fence = undefined;
    else put('code', text.replace(/\n$/, ''));
  }
  function addPlain(text: string): void {
    isPlain = isMidLine || text.trim() !== '';
    isMidLine = !text.endsWith('\n');
    if (isPlain) put('plain', text);
  }
  /** The block is too long to wait for. */
  function goPlain(): void {
    startBlock();
    put('plain', block);
    isMidLine = !block.endsWith('\n');
    block = '';
    isPlain = true;
  }
  function taken(): Piece[] {
    const all = pieces;
    pieces = [];
    return all;
  }
  return {
    add(text) {
      const lines = (line + text).split('\n');
      line = lines.pop() ?? '';
      for (const one of lines) addLine(`${one.replace(/\r$/, '')}\n`);
      if (isPlain && line !== '') addPlain(line);
      else if (fence !== undefined || block.length + line.length <= mostCharacters) return taken();
      else {
        block += line;
        goPlain();
      }
      line = '';
      return taken();
    },
    end() {
      if (line !== '' || isMidLine) addLine(`${line}\n`);
      endBlock();
      return taken();
    },
  };
}

function isList(block: string): boolean {
  return /^\s*([-*+]|\d{1,9}[.)])\s/.test(block);
}

function isHeading(line: string): boolean {
  return /^#{1,6}\s/.test(line);
}
