import { randomBytes } from 'node:crypto';
import { type FileHandle, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { HeldLock } from '../files/file-lock.ts';
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

/** The file of a ledger, and what was read of it. */
export interface LedgerFile {
  path: string;
  state: LedgerState;
  /** The beginning of the file that the state was read from, and how far. */
  head: string;
  end: number;
}

const headBytes = 96;

/** Nothing is read. */
export function startOfFile(): Omit<LedgerFile, 'path'> {
  return { state: emptyState(), head: '', end: 0 };
}

/** Reads what other processes have appended; all of the file if it is another one. */
export async function catchUp(handle: FileHandle, ledger: LedgerFile): Promise<void> {
  const head = Buffer.alloc(headBytes);
  const { bytesRead } = await handle.read(head, 0, headBytes, 0);
  const text = head.toString('latin1', 0, bytesRead);
  if (text !== ledger.head) Object.assign(ledger, startOfFile(), { head: text });
  for await (const { line, end } of readLedger(handle, ledger.end)) {
    if (line !== undefined) applyLine(ledger.state, line);
    ledger.end = end;
  }
}

export async function append(handle: FileHandle, lines: readonly LedgerLine[], ledger: LedgerFile): Promise<void> {
  if (lines.length === 0) return;
  // A line that a crash cut must not swallow the next one; it counts if only its end was cut.
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

/** Replaces ended requests by their sums. Reservations that have not ended stay as they are. */
export async function compact(handle: FileHandle, lock: HeldLock, ledger: LedgerFile): Promise<void> {
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
    if (lock.isSure()) await rename(temp, path);
  } finally {
    await removeFile(temp);
  }
  await syncFolder(dirname(path));
}
