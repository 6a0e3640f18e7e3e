import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, settingError } from '../errors.ts';
import { readReason } from '../files/file-reason.ts';
import { readRecordingName, shownHash } from './parts.ts';
import { parseHead, readFirstLine, type RecordedRequest, type RecordingHead } from './format.ts';
import { type RequestKey, requestText, sha256 } from './request-key.ts';
import { isObject, type JsonValue } from '../json.ts';

/** The recordings of a folder. */
export interface RecordingIndex {
  /**
   * The recording for a request: equal requests get theirs in the recorded order, and the last one again and again.
   * Throws GatewayError usage where there is none, naming the nearest and what differs.
   */
  take(key: RequestKey): Promise<string>;
}

interface ListedFile {
  path: string;
  /** From the name; files that the user named have none and come last. */
  number: number;
  shownHash: string | undefined;
}

interface ReadFile extends ListedFile, RecordingHead {
  /** Of the request as it stands in the file now. */
  changedHash: string;
}

/** The recordings of a folder to which more are added. */
export interface GrowingIndex {
  /** The recordings of a request, in the recorded order. */
  find(key: RequestKey): readonly string[];
  add(key: RequestKey, path: string): void;
}

/** Opens a folder that may be empty. Throws GatewayError usage when it cannot be read. */
export async function openGrowingIndex(folder: string): Promise<GrowingIndex> {
  const found = new Map<string, string[]>();
  const put = (hash: string, path: string): void => {
    const paths = found.get(shownHash(hash)) ?? [];
    paths.push(path);
    found.set(shownHash(hash), paths);
  };
  const files = await listFiles(folder);
  for (const file of files) if (file.shownHash !== undefined) put(file.shownHash, file.path);
  // Names that the user gave: the first line tells.
  for (const { hash, path } of await readHeads(files.filter((file) => file.shownHash === undefined))) put(hash, path);
  return { find: ({ hash }) => [...(found.get(shownHash(hash)) ?? [])], add: ({ hash }, path) => put(hash, path) };
}

/** Opens a folder of recordings. Throws GatewayError usage when it is not there or has none. */
export async function openIndex(folder: string): Promise<RecordingIndex> {
  let files = await listSome(folder);
  const runs = new Map<string, { paths: string[]; taken: number }>();
  const heads = new Map<string, ReadFile>();
  const lookAgain = async (): Promise<ReadFile[]> => {
    files = await listSome(folder);
    for (const head of await readHeads(files.filter(({ path }) => !heads.has(path)))) heads.set(head.path, head);
    return files.flatMap(({ path }) => heads.get(path) ?? []);
  };
  const find = async (key: RequestKey): Promise<string[]> => {
    const named = await readHeads(files.filter((file) => file.shownHash === shownHash(key.hash)));
    const found = fitting(named, key);
    if (found.length > 0) return found;
    // It may have been recorded since, or renamed, or its request changed by hand: then its first line tells.
    const all = await lookAgain();
    const others = fitting(all, key);
    if (others.length > 0) return others;
    throw noRecording(folder, key, all);
  };
  return {
    async take(key) {
      const name = `${key.hash} ${key.scope}`;
      const run = runs.get(name) ?? { paths: await find(key), taken: 0 };
      // Two may have looked at the same time: the first one counts.
      const kept = runs.get(name) ?? run;
      runs.set(name, kept);
      const path = kept.paths[Math.min(kept.taken++, kept.paths.length - 1)];
      return path as string;
    },
  };
}

/** The paths of the recordings of a request: those of who is asked now, else all, for a replay need not name a gateway. */
function fitting(files: readonly ReadFile[], { hash, scope }: RequestKey): string[] {
  const equal = files.filter((file) => file.hash === hash || file.changedHash === hash);
  const own = equal.filter((file) => file.scope === scope);
  return (own.length > 0 ? own : equal).map(({ path }) => path);
}

/** Where each recording of a folder is, its request, and when it went out. Throws GatewayError usage like `openIndex`. */
export async function listHeads(folder: string): Promise<Pick<ReadFile, 'path' | 'request' | 'at'>[]> {
  return readHeads(await listSome(folder));
}

async function listSome(folder: string): Promise<ListedFile[]> {
  const files = await listFiles(folder);
  if (files.length > 0) return files;
  throw settingError(`'${folder}': there is no recording in it`, { reason: 'no-recordings' });
}

async function listFiles(folder: string): Promise<ListedFile[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    const words: Record<string, string> = { ENOENT: 'there is no such folder', ENOTDIR: 'it is not a folder' };
    const reason = words[codeOf(error) ?? ''] ?? readReason(error);
    throw settingError(`'${folder}': ${reason}`, { reason: 'no-recordings', cause: error });
  });
  const files: ListedFile[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    if (!name.endsWith('.jsonl') || name.startsWith('.') || !(await isFile(entry, folder))) continue;
    const told = readRecordingName(name);
    files.push({ path: join(folder, name), number: told?.number ?? Infinity, shownHash: told?.shownHash });
  }
  return files.sort((a, b) => (a.number === b.number ? 0 : a.number - b.number));
}

/** Also behind a link; a pipe or a device would never end. */
async function isFile(entry: Dirent, folder: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile();
  return stat(join(folder, entry.name)).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

async function readHeads(files: readonly ListedFile[]): Promise<ReadFile[]> {
  const read: ReadFile[] = [];
  for (const file of files) {
    const found = await readHead(file).catch(() => undefined);
    if (found !== undefined) read.push(found);
  }
  return read;
}

/** Undefined for what is no recording. Rejects where it cannot be read: the others of the folder can. */
async function readHead(file: ListedFile): Promise<ReadFile | undefined> {
  const head = parseHead(await readFirstLine(file.path));
  if (head === undefined) return undefined;
  const { method, path, body } = head.request;
  return { ...file, ...head, changedHash: sha256(requestText(path, body, method)) };
}

function noRecording(folder: string, key: RequestKey, files: readonly ReadFile[]): Error {
  const asked = JSON.parse(key.text) as RecordedRequest;
  let nearest: { path: string; found: Difference[] } | undefined;
  for (const { path, request } of files) {
    const found = differences(request, asked);
    if (!nearest || distance(found) < distance(nearest.found)) nearest = { path, found };
  }
  const what = `no recording in ${folder} fits ${asked.method} ${asked.path}`;
  if (!nearest) return settingError(what, { reason: 'no-recording' });
  const lines = describeDifferences(nearest.found);
  const name = basename(nearest.path);
  return settingError(`${what}; the nearest is ${name}: ${lines.join('; ')}`, { reason: 'no-recording', value: name });
}

/** One place where two requests are not the same; undefined where only one of them has it. */
interface Difference {
  /** `path`, `body.messages.0.content` */
  place: string;
  recorded: string | undefined;
  asked: string | undefined;
}

const mostDifferences = 1000;
const shownLength = 60;

/** What differs between a recorded request and one that was asked for, place by place. */
function differences(recorded: RecordedRequest, asked: RecordedRequest): Difference[] {
  const found: Difference[] = [];
  compare('method', recorded.method, asked.method, found);
  compare('path', recorded.path, asked.path, found);
  compare('body', recorded.body, asked.body, found);
  return found;
}

/** How unlike two requests are: another path weighs more than any text. */
function distance(found: readonly Difference[]): number {
  return found.reduce((sum, { place }) => sum + (place === 'path' || place === 'method' ? 100 : 1), 0);
}

/** One line a difference, at most `most`; long texts begin where they part. */
function describeDifferences(found: readonly Difference[], most = 5): string[] {
  const lines = found.slice(0, most).map(({ place, recorded, asked }) => {
    const from = Math.max(0, commonStart(recorded ?? '', asked ?? '') - 20);
    return `${place}: recorded ${excerpt(recorded, from)}, asked ${excerpt(asked, from)}`;
  });
  return found.length > most ? [...lines, `and ${found.length - most} more`] : lines;
}

function compare(
  place: string,
  recorded: JsonValue | undefined,
  asked: JsonValue | undefined,
  out: Difference[],
): void {
  if (out.length >= mostDifferences) return;
  if (Array.isArray(recorded) && Array.isArray(asked)) {
    for (let i = 0; i < Math.max(recorded.length, asked.length); i++)
      compare(`${place}.${i}`, recorded[i], asked[i], out);
    return;
  }
  if (isObject(recorded) && isObject(asked)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(asked)]);
    for (const name of names) compare(`${place}.${name}`, own(recorded, name), own(asked, name), out);
    return;
  }
  const [left, right] = [textOf(recorded), textOf(asked)];
  if (left !== right) out.push({ place, recorded: left, asked: right });
}

function own(object: Record<string, JsonValue>, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
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
