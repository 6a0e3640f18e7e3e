import { randomBytes } from 'node:crypto';
import { type FileHandle, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { usageError } from '../errors.ts';
import type { BriefLock } from '../files/lease.ts';
import { removeFile, syncFolder, writeTempFile } from '../files/temp-file.ts';
import {
  addToSums,
  applyLine,
  emptyState,
  type LedgerLine,
  type LedgerState,
  type LedgerSums,
  readLedger,
} from './ledger-lines.ts';

/** The file of a ledger, and what has been read from it. */
export interface LedgerFile {
  path: string;
  state: LedgerState;
  /** The first bytes of the file that the state was read from: they differ if it was replaced. */
  head: string;
  /** The file has been read up to this byte. */
  end: number;
}

const headBytes = 96;

/** A file of which nothing has been read. */
export function unreadFile(): Omit<LedgerFile, 'path'> {
  return { state: emptyState(), head: '', end: 0 };
}

/** What a ledger begins with. A crash can have cut it. */
const beginning = '{"type":"budget","schema":"gateway-cli/budget@1"';

/** The first bytes of a ledger. Throws GatewayError usage for a file that holds something else: writing would destroy it. */
export async function readHead(handle: FileHandle, path: string): Promise<string> {
  const bytes = Buffer.alloc(headBytes);
  const { bytesRead } = await handle.read(bytes, 0, headBytes, 0);
  const head = bytes.toString('latin1', 0, bytesRead);
  const [line = ''] = head.split('\n', 1);
  if (line.startsWith(beginning) || beginning.startsWith(line)) return head;
  throw usageError(`${path} is not a budget of this version`, 'name another file for the budget');
}

/** Reads what other processes have appended; the whole file if it was replaced. Throws GatewayError usage if it is not a ledger. */
export async function catchUp(handle: FileHandle, ledger: LedgerFile): Promise<void> {
  const head = await readHead(handle, ledger.path);
  if (head !== ledger.head) Object.assign(ledger, unreadFile(), { head });
  for await (const { line, end } of readLedger(handle, ledger.end)) {
    if (line !== undefined) applyLine(ledger.state, line);
    ledger.end = end;
  }
}

/** Appends lines; a new file gets its header first. */
export async function append(handle: FileHandle, lines: readonly LedgerLine[], ledger: LedgerFile): Promise<void> {
  if (lines.length === 0) return;
  // After a crash the last line can be cut: a newline keeps the next line apart. The cut line counts if it lacked only its newline.
  if ((await handle.stat()).size > ledger.end) {
    await handle.appendFile('\n');
    await catchUp(handle, ledger);
  }
  const { size } = await handle.stat();
  const header: LedgerLine[] =
    size === 0 ? [{ type: 'budget', schema: 'gateway-cli/budget@1', id: randomBytes(16).toString('hex') }] : [];
  const text = [...header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
  await handle.appendFile(text);
  if (size === 0) {
    ledger.head = text.slice(0, headBytes);
    await syncFolder(dirname(ledger.path));
  }
  ledger.end = size + Buffer.byteLength(text);
}

/** Rewrites the file: ended requests are replaced by their sums, open reservations stay as they are. */
export async function compact(handle: FileHandle, lock: BriefLock, ledger: LedgerFile): Promise<void> {
  const { state, path } = ledger;
  const all: LedgerSums = { sums: new Map(), open: new Map() };
  for await (const { line } of readLedger(handle)) if (line !== undefined) addToSums(all, line);
  const lines: LedgerLine[] = [
    ...(state.limit === undefined ? [] : [{ type: 'limit', ...state.limit } as const]),
    ...all.sums.values(),
    ...all.open.values(),
  ];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const id = randomBytes(16).toString('hex');
  const head = { type: 'budget', schema: 'gateway-cli/budget@1', id, dearest: state.dearest } as const;
  const header = JSON.stringify({ ...head, compactedBytes: text.length });
  const temp = await writeTempFile(dirname(path), (file) => file.writeFile(`${header}\n${text}`));
  try {
    if (lock.isHeld()) await rename(temp, path);
  } finally {
    await removeFile(temp);
  }
  await syncFolder(dirname(path));
}
