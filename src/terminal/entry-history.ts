import type { Interface } from 'node:readline';

/**
 * One entry of the history is one prompt, whatever lines it was pasted as. Takes the earlier entries, the newest first;
 * returns what adds one.
 */
export function keepHistory(reader: Interface, entries: string[]): (entry: string) => void {
  let shown: string[] = [];
  reader.on('history', (history: string[]) => {
    shown = history;
    shown.splice(0, shown.length, ...entries);
  });
  return (entry) => {
    const flat = entry.replaceAll(/\s*\n\s*/g, ' ').trim();
    if (flat === '' || flat === entries[0]) return;
    entries.unshift(flat);
    shown.splice(0, shown.length, ...entries);
  };
}
