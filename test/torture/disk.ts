import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Change } from './shim.ts';

/** A write or a cut of a file. */
interface Edit {
  data?: Buffer;
  /** Where; otherwise at the end. */
  offset?: number;
  /** The number of the change. */
  at: number;
}

interface File {
  /** What was there before. */
  base: Buffer;
  edits: Edit[];
  /** The changes that its last sync is sure of. */
  synced: number;
}

/** A name that was given or taken away. */
interface Naming {
  path: string;
  file: File | undefined;
  at: number;
  isSynced: boolean;
  /** With it, all that is in it is lost. */
  isFolder?: true;
}

/** What a file system may hold when the power fails after some changes. */
export interface Disk {
  files: Set<File>;
  namings: Naming[];
  names: Map<string, File>;
}

/** The disk after changes, of which only what was synced is sure. */
export function applyChanges(before: ReadonlyMap<string, Buffer>, changes: readonly Change[]): Disk {
  const disk: Disk = { files: new Set(), namings: [], names: new Map() };
  const add = (path: string, base: Buffer): File => {
    const file: File = { base, edits: [], synced: 0 };
    disk.files.add(file);
    disk.names.set(path, file);
    return file;
  };
  for (const [path, bytes] of before) add(path, bytes);
  const name = (path: string, file: File | undefined, at: number): void => {
    disk.namings.push({ path, file, at, isSynced: false });
    if (file) disk.names.set(path, file);
    else disk.names.delete(path);
  };
  for (const [at, { kind, path, to = '', data, offset, from }] of changes.entries()) {
    const file = disk.names.get(path);
    if (kind === 'open' && file === undefined) name(path, add(path, Buffer.alloc(0)), at);
    if (kind === 'write')
      file?.edits.push({ data: Buffer.from(data ?? '', 'base64'), at, ...(offset !== undefined && { offset }) });
    if (kind === 'truncate') file?.edits.push({ offset: offset ?? 0, at });
    if (kind === 'link') name(to, file, at);
    if (kind === 'rename') {
      name(to, file, at);
      name(path, undefined, at);
    }
    if (kind === 'mkdir') disk.namings.push({ path, file: undefined, at, isSynced: false, isFolder: true });
    if (kind === 'unlink') name(path, undefined, at);
    if (kind !== 'sync') continue;
    if (file) file.synced = from;
    else for (const naming of disk.namings) naming.isSynced ||= dirname(naming.path) === path && naming.at < from;
  }
  return disk;
}

/** What is lost of what is not sure. */
export interface Loss {
  label: string;
  /** How many of the unsynced edits of a file stay; the next one stays half if `isTorn`. A hole has zeros in place of them. */
  keep?: (path: string, unsynced: number) => { edits: number; isTorn?: true; hasHole?: true };
  keepsName?: (naming: { path: string; at: number }) => boolean;
}

/** The ways in which a power failure can end: all or nothing, and each file, write and name by itself. */
export function* losses(disk: Disk): Generator<Loss> {
  const none = { edits: 0 };
  const all = (unsynced: number) => ({ edits: unsynced });
  yield { label: 'all of it is lost', keep: () => none, keepsName: () => false };
  yield { label: 'nothing is lost' };
  for (const [path, file] of disk.names) {
    const unsynced = unsyncedEdits(file).length;
    for (let edits = 0; edits < unsynced; edits++)
      for (const shape of [{}, { isTorn: true as const }, { hasHole: true as const }]) {
        if ('hasHole' in shape && edits + 1 >= unsynced) continue;
        const label = `${path} keeps ${edits} of ${unsynced} writes ${Object.keys(shape).join()}`;
        const keep: Loss['keep'] = (of, count) => (of === path ? { edits, ...shape } : all(count));
        yield { label: `${label}, others all`, keep };
        yield {
          label: `${label}, others none`,
          keep: (of) => (of === path ? { edits, ...shape } : none),
        };
      }
    if (unsynced > 0)
      yield { label: `only ${path} keeps its writes`, keep: (of, count) => (of === path ? all(count) : none) };
  }
  for (const lost of disk.namings.filter(({ isSynced }) => !isSynced)) {
    yield {
      label: `the name ${lost.path} (${lost.at}) is lost`,
      keepsName: ({ at, path }) => at !== lost.at || path !== lost.path,
    };
    yield {
      label: `only the name ${lost.path} (${lost.at}) is kept`,
      keepsName: ({ at, path }) => at === lost.at && path === lost.path,
    };
  }
}

function unsyncedEdits({ edits, synced }: File): Edit[] {
  return edits.filter(({ at }) => at >= synced);
}

/** The files that are left. */
export function filesAfter(
  disk: Disk,
  before: ReadonlyMap<string, Buffer>,
  { keep, keepsName }: Loss,
): Map<string, Buffer> {
  const names = new Map<string, File>();
  const first = new Map(
    [...disk.files].slice(0, before.size).map((file, at) => [[...before.keys()][at] as string, file]),
  );
  for (const [path, file] of first) names.set(path, file);
  const lost: string[] = [];
  for (const naming of disk.namings) {
    const isLost = !naming.isSynced && keepsName?.(naming) === false;
    if (isLost && naming.isFolder) lost.push(`${naming.path}/`);
    if (isLost || naming.isFolder) continue;
    if (naming.file) names.set(naming.path, naming.file);
    else names.delete(naming.path);
  }
  const left = [...names].filter(([path]) => !lost.some((folder) => path.startsWith(folder)));
  return new Map(left.map(([path, file]) => [path, contentOf(file, keep?.(path, unsyncedEdits(file).length))]));
}

function contentOf(file: File, kept: ReturnType<NonNullable<Loss['keep']>> = { edits: Infinity }): Buffer {
  const sure = file.edits.filter(({ at }) => at < file.synced);
  const unsure = unsyncedEdits(file);
  const next = unsure[kept.edits];
  let bytes = [...sure, ...unsure.slice(0, kept.edits)].reduce(applyEdit, file.base);
  if (next?.data && kept.isTorn)
    bytes = applyEdit(bytes, { ...next, data: next.data.subarray(0, next.data.length >> 1) });
  if (next?.data && kept.hasHole) {
    bytes = applyEdit(bytes, { ...next, data: Buffer.alloc(next.data.length) });
    bytes = unsure.slice(kept.edits + 1).reduce(applyEdit, bytes);
  }
  return bytes;
}

function applyEdit(bytes: Buffer, { data, offset }: Edit): Buffer {
  if (data === undefined) return bytes.subarray(0, offset);
  const at = offset ?? bytes.length;
  const grown = Buffer.concat([bytes, Buffer.alloc(Math.max(0, at + data.length - bytes.length))]);
  data.copy(grown, at);
  return grown;
}

const hourAgo = Date.now() / 1000 - 3600;

/** Writes the files into a folder. */
export function writeFiles(folder: string, files: ReadonlyMap<string, Buffer>): void {
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
    // A machine does not start within a minute, after which a lock without an owner is stale.
    utimesSync(join(folder, path), hourAgo, hourAgo);
  }
}
