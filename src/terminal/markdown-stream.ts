import { Chalk } from 'chalk';
import { escapeForTerminal } from './escape.ts';
import type { Output } from './io.ts';
import { MarkdownPage, type Piece } from './markdown-page.ts';
import { codeLine, markdownText } from './markdown.ts';

/** Prints Markdown on a terminal while it arrives: blocks when they are complete, code line by line. */
export interface MarkdownStream {
  write(text: string): Promise<void>;
  /** Prints the rest. The next write begins another text. */
  end(): Promise<void>;
}

interface MarkdownStreamOptions {
  stdout: Output;
  colored: boolean;
  /** Called before each output. */
  onOutput?: (() => void) | undefined;
}

/** Starts at the beginning of a line. stdout must be a terminal. */
export function startMarkdown({ stdout, colored, onOutput }: MarkdownStreamOptions): MarkdownStream {
  const chalk = new Chalk({ level: colored ? 1 : 0 });
  const place = () => ({ width: stdout.columns, colored, breaks: true });
  let page = new MarkdownPage();

  /** As bytes: the escape sequences are those of the program. The text between them is escaped. */
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
      page = new MarkdownPage();
      await print(pieces);
    },
  };
}
