import type { Dirent } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { getErrorCode, settingError } from '../errors.ts';
import { readReason } from '../files/file-reason.ts';
import { isObject, type JsonValue } from '../json.ts';
import {
  parseHead,
  readFirstLine,
  readRecordingName,
  type RecordedRequest,
  type RecordingHead,
  shownHash,
} from './format.ts';
import { findRequestModel, type RequestKey, requestText, sha256 } from './request-key.ts';

/**
 * Opens a folder of recordings. Returns what takes the recording for a request: equal requests get theirs in the recorded order,
 * then always the last one. Both throw GatewayError usage: if the folder does not exist or has none, and if none fits, with the
 * nearest recording and its differences.
 */
export async function openIndex(folder: string): Promise<(key: RequestKey) => Promise<string>> {
  let files = await listSome(folder);
  const runs = new Map<string, { paths: string[]; taken: number }>();
  const heads = new Map<string, ReadFile>();
  const rescan = async (): Promise<ReadFile[]> => {
    files = await listSome(folder);
    for (const head of await readHeads(files.filter(({ path }) => !heads.has(path)))) heads.set(head.path, head);
    return files.flatMap(({ path }) => heads.get(path) ?? []);
  };
  const find = async (key: RequestKey): Promise<string[]> => {
    const named = await readHeads(files.filter((file) => file.shownHash === shownHash(key.hash)));
    const found = matching(named, key);
    if (found.length > 0) return found;
    // It may have been recorded since, or renamed, or its request changed by hand.
    const all = await rescan();
    const others = matching(all, key);
    if (others.length > 0) return others;
    throw noRecording(folder, key, all);
  };
  return async (key) => {
    const name = `${key.hash} ${key.scope}`;
    const found = runs.get(name) ?? { paths: await find(key), taken: 0 };
    // Of two calls that searched at the same time, the first counts.
    const run = runs.get(name) ?? found;
    runs.set(name, run);
    return run.paths[Math.min(run.taken++, run.paths.length - 1)] as string;
  };
}

/** The paths of the recordings of a request: those of the same gateway, else all, as a replay need not name a gateway. */
function matching(files: readonly ReadFile[], { hash, scope }: RequestKey): string[] {
  const equal = files.filter((file) => file.hash === hash || file.changedHash === hash);
  const inScope = equal.filter((file) => file.scope === scope);
  return (inScope.length > 0 ? inScope : equal).map(({ path }) => path);
}

/**
 * Opens a folder that may be empty, and to which recordings are added. `find` gives those of a request, in the recorded order.
 * Throws GatewayError usage if it cannot be read.
 */
export async function openGrowingIndex(folder: string) {
  const found = new Map<string, string[]>();
  const add = ({ hash }: Pick<RequestKey, 'hash'>, path: string): void => {
    found.set(shownHash(hash), [...(found.get(shownHash(hash)) ?? []), path]);
  };
  const files = await listRecordingFiles(folder);
  for (const file of files) if (file.shownHash !== undefined) add({ hash: file.shownHash }, file.path);
  // Files that the user named have the hash only in their first line.
  for (const head of await readHeads(files.filter((file) => file.shownHash === undefined))) add(head, head.path);
  return { add, find: ({ hash }: RequestKey): readonly string[] => found.get(shownHash(hash)) ?? [] };
}

/** A recording, except its reply. */
export interface ListedRecording {
  /** The name of its file without `.jsonl`. */
  id: string;
  path: string;
  /** When it was recorded, ms since 1970. */
  at: number;
  request: RecordedRequest;
  /** '' if the request names none. */
  model: string;
  /** Size of the file. */
  bytes: number;
}

/** The recordings of a folder, the newest first; without links and other files. Throws GatewayError usage if there is none. */
export async function listRecordings(folder: string): Promise<ListedRecording[]> {
  const found: ListedRecording[] = [];
  for (const { path, request, at } of await listHeads(folder)) {
    const stats = await lstat(path);
    if (!stats.isFile()) continue;
    const model = findRequestModel(request.path, request.body);
    found.push({ id: basename(path, '.jsonl'), path, at: at ?? stats.mtimeMs, request, model, bytes: stats.size });
  }
  return found.sort((a, b) => b.at - a.at);
}

/** Path, request and time of each recording of a folder. Throws GatewayError usage like `openIndex`. */
export async function listHeads(folder: string): Promise<Pick<ReadFile, 'path' | 'request' | 'at'>[]> {
  return readHeads(await listSome(folder));
}

interface ListedFile {
  path: string;
  /** From the name; files that the user named have none and come last. */
  number: number;
  shownHash: string | undefined;
}

async function listSome(folder: string): Promise<ListedFile[]> {
  const files = await listRecordingFiles(folder);
  if (files.length > 0) return files;
  throw settingError(`'${folder}': there is no recording in it`, { reason: 'no-recordings' });
}

async function listRecordingFiles(folder: string): Promise<ListedFile[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    const words: Record<string, string> = { ENOENT: 'there is no such folder', ENOTDIR: 'it is not a folder' };
    const reason = words[getErrorCode(error) ?? ''] ?? readReason(error);
    throw settingError(`'${folder}': ${reason}`, { reason: 'no-recordings', cause: error });
  });
  const files: ListedFile[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    if (!name.endsWith('.jsonl') || name.startsWith('.') || !(await isRecordingFile(entry, folder))) continue;
    const parsed = readRecordingName(name);
    files.push({ path: join(folder, name), number: parsed?.number ?? Infinity, shownHash: parsed?.shownHash });
  }
  return files.sort((a, b) => (a.number === b.number ? 0 : a.number - b.number));
}

/** Follows links; a pipe or a device would never end. */
async function isRecordingFile(entry: Dirent, folder: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile();
  return stat(join(folder, entry.name)).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

interface ReadFile extends ListedFile, RecordingHead {
  /** Hash of the request in the file, which can have been changed by hand. */
  changedHash: string;
}

/** Skips files that are not recordings or cannot be read. */
async function readHeads(files: readonly ListedFile[]): Promise<ReadFile[]> {
  const read: ReadFile[] = [];
  for (const file of files) {
    const found = await readRecordingHead(file).catch(() => undefined);
    if (found !== undefined) read.push(found);
  }
  return read;
}

async function readRecordingHead(file: ListedFile): Promise<ReadFile | undefined> {
  const head = parseHead(await readFirstLine(file.path));
  if (head === undefined) return undefined;
  const { method, path, body } = head.request;
  return { ...file, ...head, changedHash: sha256(requestText(path, body, method)) };
}

/** The error with the nearest recording and what differs. */
function noRecording(folder: string, key: RequestKey, files: readonly ReadFile[]): Error {
  const wanted = JSON.parse(key.text) as RecordedRequest;
  let nearest: { path: string; found: Difference[] } | undefined;
  for (const { path, request } of files) {
    const found: Difference[] = [];
    for (const member of ['method', 'path', 'body'] as const) compare(member, request[member], wanted[member], found);
    if (!nearest || distance(found) < distance(nearest.found)) nearest = { path, found };
  }
  const what = `no recording in ${folder} fits ${wanted.method} ${wanted.path}`;
  if (!nearest) return settingError(what, { reason: 'no-recording' });
  const lines = describeDifferences(nearest.found);
  const name = basename(nearest.path);
  return settingError(`${what}; the nearest is ${name}: ${lines.join('; ')}`, { reason: 'no-recording', value: name });
}

/** A value that differs between two requests; undefined on the side that does not have it. */
interface Difference {
  /** `path`, `body.messages.0.content` */
  place: string;
  recorded: string | undefined;
  wanted: string | undefined;
}

const maxDifferences = 1000;
const describedDifferences = 5;
const shownLength = 60;

/** How different two requests are: another path weighs more than any text. */
function distance(found: readonly Difference[]): number {
  return found.reduce((sum, { place }) => sum + (place === 'path' || place === 'method' ? 100 : 1), 0);
}

/** One text for each difference; of long values the part where they differ. */
function describeDifferences(found: readonly Difference[]): string[] {
  const lines = found.slice(0, describedDifferences).map(({ place, recorded, wanted }) => {
    const from = Math.max(0, commonStart(recorded ?? '', wanted ?? '') - 20);
    return `${place}: recorded ${excerpt(recorded, from)}, asked ${excerpt(wanted, from)}`;
  });
  const more = found.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

/** Adds the differences between two values. */
function compare(
  place: string,
  recorded: JsonValue | undefined,
  wanted: JsonValue | undefined,
  out: Difference[],
): void {
  if (out.length >= maxDifferences) return;
  const areArrays = Array.isArray(recorded) && Array.isArray(wanted);
  if (areArrays || (isObject(recorded) && isObject(wanted))) {
    const [left, right] = [new Map(Object.entries(recorded)), new Map(Object.entries(wanted))];
    const names = new Set([...left.keys(), ...right.keys()]);
    for (const name of names) compare(`${place}.${name}`, left.get(name), right.get(name), out);
    return;
  }
  const [left, right] = [recorded, wanted].map((value) => (value === undefined ? undefined : JSON.stringify(value)));
  if (left !== right) out.push({ place, recorded: left, wanted: right });
}

function commonStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}

function excerpt(text: string | undefined, from: number): string {
  if (text === undefined) return 'nothing';
  if (text.length <= shownLength) return text;
  const part = text.slice(from, from + shownLength);
  return `${from > 0 ? '…' : ''}${part}${from + shownLength < text.length ? '…' : ''}`;
}
