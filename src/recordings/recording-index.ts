import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getErrorCode, settingError } from '../errors.ts';
import { describeReadError } from '../files/file-reason.ts';
import { isObject, type JsonValue } from '../json.ts';
import {
  parseHead,
  readFirstLine,
  readRecordingName,
  type RecordedRequest,
  type RecordingHead,
  shownHash,
} from './format.ts';
import { type RequestKey, requestText, sha256 } from './request-key.ts';

/**
 * Opens a folder of recordings. Returns what takes the recording for a request: equal requests get theirs in the recorded order,
 * then always the last one; of several, one that cannot be read is passed over. Both throw GatewayError usage: if the folder does not exist or has none, and if none fits, with the
 * nearest recording and its differences; the signal's reason ends the search.
 */
export async function openIndex(
  folder: string,
  isWhole: (path: string) => Promise<boolean>,
): Promise<(key: RequestKey, signal: AbortSignal) => Promise<string>> {
  const runs = new Map<string, { paths: string[]; taken: number }>();
  const whole = new Set<string>();
  const known = await listAgain(unknownFolder(folder));
  const find = async (key: RequestKey, signal: AbortSignal): Promise<string[]> => {
    const named = await readHeads(known.named.get(shownHash(key.hash)) ?? []);
    const found = matching(named, key);
    if (found.length > 0) return found;
    // It may have been recorded since, or renamed, or its request changed by hand.
    await listAgain(known);
    await readUnread(known, signal);
    const others = matching(known.byHash.get(key.hash) ?? [], key);
    if (others.length > 0) return others;
    throw await noRecording(known, key, signal);
  };
  return async (key, signal) => {
    const name = `${key.hash} ${key.scope}`;
    const found = runs.get(name) ?? { paths: await find(key, signal), taken: 0 };
    // Of two calls that searched at the same time, the first counts.
    const run = runs.get(name) ?? found;
    runs.set(name, run);
    for (;;) {
      const path = run.paths[Math.min(run.taken++, run.paths.length - 1)] as string;
      if (run.paths.length === 1 || whole.has(path)) return path;
      if (await isWhole(path)) {
        whole.add(path);
        return path;
      }
      // Another call may have taken it out meanwhile.
      const at = run.paths.indexOf(path);
      if (at < 0 || run.paths.length === 1) continue;
      run.paths.splice(at, 1);
      run.taken--;
    }
  };
}

/** What is known of a folder: a request costs the same however many recordings it has. */
interface KnownFolder {
  folder: string;
  /** The folder's own time when it was listed, and the wall clock then, ms. */
  mtimeMs: number;
  listedAt: number;
  /** In the recorded order. */
  files: readonly ListedFile[];
  /** By the hash in their names. */
  named: Map<string | undefined, ListedFile[]>;
  unread: ListedFile[];
  heads: Map<string, ReadFile | undefined>;
  /** What was read, in the recorded order: all, by the hashes, and by method and path. */
  read: readonly ReadFile[];
  byHash: Map<string, ReadFile[]>;
  byPlace: Map<string, ReadFile[]>;
}

function unknownFolder(folder: string): KnownFolder {
  const lists = { files: [], unread: [], read: [] };
  const maps = { named: new Map(), heads: new Map(), byHash: new Map(), byPlace: new Map() };
  return { folder, mtimeMs: Number.NaN, listedAt: 0, ...lists, ...maps };
}

/** The time of a folder that was changed twice within this time can be the same, ms. */
const settledMs = 2000;

/** Lists a folder, unless nothing was added or renamed since. Throws like `openIndex`. */
async function listAgain(known: KnownFolder): Promise<KnownFolder> {
  const { folder, heads } = known;
  const listedAt = Date.now();
  const { mtimeMs = Number.NaN } = await stat(folder).catch(() => ({}) as { mtimeMs?: number });
  if (mtimeMs === known.mtimeMs && known.listedAt - mtimeMs > settledMs) return known;
  const files = await listSome(folder);
  const named: KnownFolder['named'] = new Map();
  for (const file of files) addTo(named, file.shownHash, file);
  const unread = files.filter(({ path }) => heads.get(path) === undefined);
  return Object.assign(known, { mtimeMs, listedAt, files, named, unread });
}

/** So many files are read, or compared, in one turn of the event loop. */
const turnFiles = 50;

/** Reads what is new. Calls at the same time share the work. Throws the signal's reason. */
async function readUnread(known: KnownFolder, signal: AbortSignal): Promise<void> {
  const { heads } = known;
  if (known.unread.length === 0 && known.read.length > 0) return;
  for (let count = 1; known.unread.length > 0; count++) {
    signal.throwIfAborted();
    const file = known.unread.pop() as ListedFile;
    heads.set(file.path, tryReadHead(file));
    if (count % turnFiles === 0) await nextTurn();
  }
  const read = known.files.flatMap(({ path }) => heads.get(path) ?? []);
  const byHash: KnownFolder['byHash'] = new Map();
  const byPlace: KnownFolder['byPlace'] = new Map();
  for (const file of read) {
    for (const hash of new Set([file.hash, file.changedHash])) addTo(byHash, hash, file);
    addTo(byPlace, `${file.request.method} ${file.request.path}`, file);
  }
  Object.assign(known, { read, byHash, byPlace });
}

function addTo<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
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
    const reason = words[getErrorCode(error) ?? ''] ?? describeReadError(error);
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
  for (const [at, file] of files.entries()) {
    if (at % turnFiles === turnFiles - 1) await nextTurn();
    const found = tryReadHead(file);
    if (found !== undefined) read.push(found);
  }
  return read;
}

function tryReadHead(file: ListedFile): ReadFile | undefined {
  try {
    const head = parseHead(readFirstLine(file.path));
    if (head === undefined) return undefined;
    const { method, path, body } = head.request;
    return { ...file, ...head, changedHash: sha256(requestText(path, body, method)) };
  } catch {
    return undefined;
  }
}

/** A request is compared with so many recordings. */
const mostCompared = 200;

/** The error with the nearest recording and what differs. */
async function noRecording(
  { folder, files, read, byPlace }: KnownFolder,
  key: RequestKey,
  signal: AbortSignal,
): Promise<Error> {
  const wanted = JSON.parse(key.text) as RecordedRequest;
  const isMany = read.length > mostCompared;
  const compared = isMany ? (byPlace.get(`${wanted.method} ${wanted.path}`) ?? read).slice(0, mostCompared) : read;
  let nearest: { path: string; found: Difference[] } | undefined;
  for (const [at, { path, request }] of compared.entries()) {
    if (at % turnFiles === turnFiles - 1) await nextTurn();
    signal.throwIfAborted();
    const found: Difference[] = [];
    for (const member of ['method', 'path', 'body'] as const) compare(member, request[member], wanted[member], found);
    if (!nearest || distance(found) < distance(nearest.found)) nearest = { path, found };
  }
  const what = `no recording in ${folder} fits ${wanted.method} ${wanted.path}`;
  if (!nearest) {
    const none = files.length === 1 ? 'its file is none' : `none of its ${files.length} files is one`;
    return settingError(`${what}: ${none} of this version`, { reason: 'no-recording' });
  }
  const lines = describeDifferences(nearest.found);
  const name = basename(nearest.path);
  const which = isMany ? `the nearest of ${compared.length} that were compared` : 'the nearest';
  const reason = nearest.found.some(({ place }) => place === 'path') ? 'other-path-recorded' : 'no-recording';
  return settingError(`${what}; ${which} is ${name}: ${lines.join('; ')}`, { reason, value: name });
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
