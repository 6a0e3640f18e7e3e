import { constants } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Entries that readline offers. */
const maxEntries = 1000;
const longestEntry = 4000;

/** The inputs of the interactive mode, saved for the next start (mode 0600). */
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
  if (text.length > 2 * maxEntries * longestEntry || text.split('\n').length > 2 * maxEntries) {
    await write(path, entries.map(lineOf).join(''), constants.O_WRONLY | constants.O_TRUNC);
  }
  return {
    entries,
    add: (entry) => write(path, lineOf(entry), constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT),
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

async function write(path: string, text: string, flags: number): Promise<void> {
  try {
    const handle = await open(path, flags, 0o600);
    try {
      await handle.writeFile(text);
    } finally {
      await handle.close();
    }
  } catch {
    // The history is a convenience.
  }
}
