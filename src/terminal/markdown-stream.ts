import { Chalk } from 'chalk';
import { escapeForTerminal } from './escape.ts';
import type { Output } from './io.ts';
import { MarkdownPage, type Piece } from './markdown-page.ts';
import { codeLine, markdownText } from './markdown.ts';

/**
 * Prints Markdown on a terminal while it arrives: blocks when they are complete, code line by line. Starts at the beginning of a
 * line. `end` prints the rest; the next write begins another text. `onOutput` is called before each output.
 */
export function startMarkdown(stdout: Output, colored: boolean, onOutput?: () => void) {
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
    write: (text: string): Promise<void> => print(page.add(text)),
    async end(): Promise<void> {
      const pieces = page.end();
      page = new MarkdownPage();
      await print(pieces);
    },
  };
}
