import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Entries that readline offers. */
const maxEntries = 1000;
const longestEntry = 4000;

/** The inputs of the interactive mode, saved for the next start (mode 0600): a convenience. */
export interface History {
  /** The oldest first. */
  readonly entries: readonly string[];
  /** Saves an entry; ignores a history that cannot be written. */
  add(entry: string): Promise<void>;
}

/** Opens the history of a folder: a JSON string on each line. Ignores other lines. */
export async function openHistory(folder: string): Promise<History> {
  const path = join(folder, 'chat-history');
  const text = await readFile(path, 'utf8').catch(() => '');
  const entries = text.split('\n').flatMap(parseEntryLine).slice(-maxEntries);
  // Rewritten when it is twice as long as needed, so that it does not grow forever.
  if (text.length > 2 * maxEntries * longestEntry || text.split('\n').length > 2 * maxEntries)
    await writeFile(path, entries.map(lineOf).join('')).catch(() => undefined);
  return {
    entries,
    add: (entry) => appendFile(path, lineOf(entry), { mode: 0o600 }).catch(() => undefined),
  };
}

function parseEntryLine(line: string): string[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'string' && value !== '' ? [value] : [];
  } catch {
    return [];
  }
}

function lineOf(entry: string): string {
  return `${JSON.stringify(entry.slice(0, longestEntry))}\n`;
}
