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
export function openedFence(line: string): Fence | undefined {
  const [, before = '', mark = '', info = ''] = opener.exec(line) ?? [];
  if (mark === '' || (mark.startsWith('`') && info.includes('`'))) return undefined;
  const quotes = before.split('>').length - 1;
  return { mark, quotes, indent: before.slice(before.lastIndexOf('>') + 1).length - (quotes > 0 ? 1 : 0) };
}

/** A line of the block without what its quotes and list items put before it; undefined where its quote has ended. */
export function fencedLine(line: string, { quotes, indent }: Fence): string | undefined {
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
export function closesFence(line: string, { mark }: Fence): boolean {
  const [, found = ''] = /^ {0,3}(`{3,}|~{3,})[ \t]*\r?\n?$/.exec(line) ?? [];
  return found.startsWith(mark);
}
