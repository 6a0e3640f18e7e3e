import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  describeWriteError,
  listFolder,
  makeFolder,
  settingError,
  shellWord,
  usageError,
} from '../../library/index.ts';
import { stateFolder } from '../settings/config-file.ts';

/** A session of the state folder. */
export interface SessionEntry {
  name: string;
  path: string;
  /** Last change, ms since 1970. */
  changed: number;
}

const extension = '.jsonl';

/** The file of typed lines, beside the sessions. */
export const historyFile = 'chat-history';

/** Absolute path of the folder of named sessions. Throws GatewayError usage without a home folder. */
export async function sessionsFolder(): Promise<string> {
  return join(await stateFolder(), 'sessions');
}

/** The folder of named sessions, which is made at need; only its owner can enter it. Throws GatewayError usage. */
export async function makeSessionsFolder(): Promise<string> {
  const folder = await sessionsFolder();
  try {
    await makeFolder(folder, 0o700);
  } catch (error) {
    throw settingError(`the folder ${JSON.stringify(folder)} cannot be made: ${describeWriteError(error)}`, {
      reason: 'session-folder',
      cause: error,
    });
  }
  return folder;
}

/** The names of the sessions in any order; no file is looked at. Throws GatewayError usage. */
export async function listSessionNames(): Promise<string[]> {
  const files = await listFolder(await sessionsFolder(), 'sessions');
  return files.filter((file) => file.endsWith(extension)).map((file) => file.slice(0, -extension.length));
}

/** The named sessions, the newest first. Throws GatewayError usage. */
export async function listSessions(): Promise<SessionEntry[]> {
  const folder = await sessionsFolder();
  const names = await listSessionNames();
  const entries = await Promise.all(names.map((name) => readSessionEntry(folder, name)));
  return entries.flat().toSorted((a, b) => b.changed - a.changed || a.name.localeCompare(b.name));
}

/** The entry of a session file; empty if the file was removed meanwhile or is not a regular file. */
async function readSessionEntry(folder: string, name: string): Promise<SessionEntry[]> {
  const path = join(folder, name + extension);
  const stats = await stat(path).catch(() => undefined);
  return stats?.isFile() ? [{ name, path, changed: stats.mtimeMs }] : [];
}

/** The last written session. Throws GatewayError usage if there is none. */
export async function newestSession(): Promise<SessionEntry> {
  const [newest] = await listSessions();
  if (newest) return newest;
  throw settingError('there is no session to continue', { reason: 'no-session' });
}

/** Letters, digits and `. _ -`, so that a name is a safe path segment on every system. */
const safeName = /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,99}$/u;
const reservedByWindows = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Whether a session is given by its path: with a slash, or ending with `.jsonl`. */
export function isSessionPath(typed: string): boolean {
  return typed.includes('/') || typed.includes('\\') || typed.endsWith(extension);
}

/** Throws GatewayError usage for a name that is not a safe path segment, with a valid one in the hint. */
export function checkSessionName(name: string): string {
  if (safeName.test(name) && !name.endsWith('.') && !reservedByWindows.test(name)) return name;
  const better = name
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
    .replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')
    .slice(0, 100);
  const example = safeName.test(better) && !reservedByWindows.test(better) ? better : 'notes';
  throw settingError(`${JSON.stringify(name)} is not a session name: letters, digits and . _ - make one`, {
    reason: 'session-name',
    value: example,
  });
}

/**
 * Absolute path of a session to write, given by its name or by its path. The folder of names is made at need; the folder of a
 * path must exist. Throws GatewayError usage.
 */
export async function sessionPath(typed: string, cwd: string): Promise<string> {
  const path = isSessionPath(typed) ? await findPathInFolder(typed, cwd) : await findPathByName(typed);
  const stats = await stat(path).catch(() => undefined);
  // Reading a pipe would wait for its other end.
  if (stats === undefined || stats.isFile() || stats.isDirectory()) return path;
  throw usageError(`the session ${JSON.stringify(path)} is a device, a pipe or a socket`, 'name a file');
}

async function findPathByName(name: string): Promise<string> {
  const file = `${checkSessionName(name)}${extension}`;
  return join(await makeSessionsFolder(), file);
}

async function findPathInFolder(typed: string, cwd: string): Promise<string> {
  const folder = dirname(typed);
  await stat(resolve(cwd, folder)).catch(() => {
    const hint = `make it first: mkdir -p ${shellWord(folder)}`;
    throw usageError(`there is no folder ${JSON.stringify(folder)} for the session`, hint);
  });
  return resolve(cwd, typed);
}
