import type { Interface } from 'node:readline';

/** Stands for a line break in a recalled entry: readline edits one line. The selector behind the sign tells it from a typed one. */
const breakSign = '\u23ce\ufe0e';

/** A line as it was edited, with the line breaks of the entry that was recalled into it. */
export function withBreaks(line: string): string {
  return line.replaceAll(breakSign, '\n');
}

/** Entries, the oldest first, as readline takes them: on one line each, the newest first. */
export function recallable(entries: readonly string[]): string[] {
  return entries.map(onOneLine).toReversed();
}

function onOneLine(entry: string): string {
  return entry.trim().replaceAll(/\r?\n/g, breakSign);
}

/**
 * One entry of the history is one prompt, whatever lines it was pasted as. Takes the earlier entries as readline has them;
 * returns what adds one.
 */
export function keepHistory(reader: Interface, earlier: readonly string[]): (entry: string) => void {
  const entries = [...earlier];
  let shown: string[] = [];
  reader.on('history', (history: string[]) => {
    shown = history;
    shown.splice(0, shown.length, ...entries);
  });
  return (entry) => {
    const line = onOneLine(entry);
    if (line === '' || line === entries[0]) return;
    entries.unshift(line);
    shown.splice(0, shown.length, ...entries);
  };
}
