import { constants } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Entries that readline offers. */
const most = 1000;
const longest = 4000;

/** What was typed into the interactive mode, kept for the next time (mode 0600). */
export interface History {
  /** The oldest first. */
  readonly entries: readonly string[];
  /** Keeps one more; a history that cannot be written is given up quietly. */
  add(entry: string): Promise<void>;
}

/** Opens the history of a folder: JSON strings, one a line. Lines that are none are passed over. */
export async function openHistory(folder: string): Promise<History> {
  const path = join(folder, 'chat-history');
  const text = await readFile(path, 'utf8').catch(() => '');
  const entries = text.split('\n').flatMap(parseEntryLine).slice(-most);
  // Twice as long as needed: written anew, so that it does not grow for ever.
  if (text.length > 2 * most * longest || text.split('\n').length > 2 * most) {
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
  return `${JSON.stringify(entry.slice(0, longest))}\n`;
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
