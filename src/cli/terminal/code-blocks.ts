/** An open fenced code block. */
interface Fence {
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
