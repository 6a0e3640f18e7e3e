import { closesFence, type Fence, fencedLine, openedFence } from '../../terminal/markdown-page.ts';

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
