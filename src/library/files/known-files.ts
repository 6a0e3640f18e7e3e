import { type BigIntStats, statSync } from 'node:fs';

/** Facts of a file: its text, the type and size of a picture, the type of another file, its part in the key of a request. */
type FileFact = 'text' | 'picture' | 'facts' | 'key';

/**
 * The value that `read` makes of a file. An earlier value is used again as long as size, time and inode number of the file stay
 * the same: the thousand rows of a table share a schema and a picture. A pipe or a device is read each time.
 */
export type KnownFiles = <Value>(path: string, fact: FileFact, read: () => Promise<Value>) => Promise<Value>;

interface KeptValue {
  mark: string;
  bytes: number;
  value: Promise<unknown>;
}

/** The most that is kept: number of values, and bytes of their texts. The value that was not used for the longest time goes first. */
const most = { values: 1000, bytes: 64 * 1024 * 1024 };

/** The kept values, and the bytes of their texts. */
interface Kept {
  entries: Map<string, KeptValue>;
  bytes: number;
}

export function createKnownFiles(): KnownFiles {
  const kept: Kept = { entries: new Map(), bytes: 0 };
  return (path, fact, read) => readKnown(path, fact, read, kept);
}

function forget(key: string, kept: Kept): void {
  kept.bytes -= kept.entries.get(key)?.bytes ?? 0;
  kept.entries.delete(key);
}

/**
 * Undefined for a file that does not exist or cannot be looked at. Synchronous: a turn through Node's threads takes several times
 * as long, and each row of a table asks for each of its files.
 */
export function findStats(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}

async function readKnown<Value>(path: string, fact: FileFact, read: () => Promise<Value>, kept: Kept): Promise<Value> {
  const stats = findStats(path);
  if (stats === undefined || !stats.isFile() || stats.size === 0n) return read();
  const { entries } = kept;
  const key = `${fact} ${path}`;
  const { dev, ino, size, mtimeNs, ctimeNs } = stats;
  const mark = [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  const known = entries.get(key);
  forget(key, kept);
  const entry =
    known?.mark === mark
      ? known
      : { mark, bytes: fact === 'text' ? Number(size) : 0, value: read() as Promise<unknown> };
  entries.set(key, entry);
  kept.bytes += entry.bytes;
  for (const oldest of entries.keys()) {
    if (entries.size <= most.values && kept.bytes <= most.bytes) break;
    forget(oldest, kept);
  }
  try {
    return (await entry.value) as Value;
  } catch (error) {
    // A failure is not kept: the file may be right when the next row asks.
    if (entries.get(key) === entry) forget(key, kept);
    throw error;
  }
}
