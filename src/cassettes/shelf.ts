import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, usageError } from '../errors.ts';
import { readReason } from '../files/file-reason.ts';
import { sha256 } from './canonical.ts';
import { describeDifferences, type Difference, differences, distance } from './difference.ts';
import { readCassetteName, shownHash } from './file-name.ts';
import { parseHead } from './lines.ts';
import { readFirstLine } from './read-lines.ts';
import { requestText } from './request-line.ts';
import type { RequestLine } from './request-line.ts';
import type { RecordedRequest } from './types.ts';

/** The cassettes of a folder. */
export interface Shelf {
  /**
   * The cassette for a request: equal requests get theirs in the recorded order, and the last one again and again.
   * Throws GatewayError usage where there is none, naming the nearest and what differs.
   */
  take(line: RequestLine): Promise<string>;
}

interface Entry {
  path: string;
  /** From the name; files that the user named have none and come last. */
  number: number;
  shownHash: string | undefined;
}

interface ReadEntry extends Entry {
  hashes: readonly string[];
  request: RecordedRequest;
}

/** Opens a folder of cassettes. Throws GatewayError usage when it is not there or has none. */
export async function openShelf(folder: string): Promise<Shelf> {
  const entries = await listEntries(folder);
  const runs = new Map<string, { paths: string[]; taken: number }>();
  let read: Promise<ReadEntry[]> | undefined;
  const find = async (line: RequestLine): Promise<string[]> => {
    const named = entries.filter((entry) => entry.shownHash === shownHash(line.hash));
    if (named.length > 0) return named.map(({ path }) => path);
    // A cassette may have been renamed, or its request changed by hand: then its first line tells.
    read ??= readEntries(entries);
    const all = await read;
    const fitting = all.filter(({ hashes }) => hashes.includes(line.hash));
    if (fitting.length > 0) return fitting.map(({ path }) => path);
    throw noCassette(folder, line, all);
  };
  return {
    async take(line) {
      const run = runs.get(line.hash) ?? { paths: await find(line), taken: 0 };
      // Two may have looked at the same time: the first one counts.
      const kept = runs.get(line.hash) ?? run;
      runs.set(line.hash, kept);
      const path = kept.paths[Math.min(kept.taken++, kept.paths.length - 1)];
      return path as string;
    },
  };
}

/** Where each cassette of a folder is, and its request. Throws GatewayError usage like `openShelf`. */
export async function listHeads(folder: string): Promise<{ path: string; request: RecordedRequest }[]> {
  return readEntries(await listEntries(folder));
}

async function listEntries(folder: string): Promise<Entry[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    const words: Record<string, string> = { ENOENT: 'there is no such folder', ENOTDIR: 'it is no folder' };
    const reason = words[codeOf(error) ?? ''] ?? readReason(error);
    throw usageError(`--replay '${folder}': ${reason}`, 'record into it first: --record <dir>', error);
  });
  const cassettes = names.filter((name) => name.endsWith('.jsonl') && !name.startsWith('.')).toSorted();
  if (cassettes.length === 0) {
    throw usageError(`--replay '${folder}': there is no cassette in it`, 'record into it first: --record <dir>');
  }
  const entries = cassettes.map((name) => {
    const told = readCassetteName(name);
    return { path: join(folder, name), number: told?.number ?? Infinity, shownHash: told?.shownHash };
  });
  return entries.sort((a, b) => (a.number === b.number ? 0 : a.number - b.number));
}

async function readEntries(entries: readonly Entry[]): Promise<ReadEntry[]> {
  const read: ReadEntry[] = [];
  for (const entry of entries) {
    const head = parseHead(await readFirstLine(entry.path));
    if (!head) continue;
    const { method, path, body } = head.request;
    read.push({ ...entry, request: head.request, hashes: [head.hash, sha256(requestText(path, body, method))] });
  }
  return read;
}

function noCassette(folder: string, line: RequestLine, entries: readonly ReadEntry[]): Error {
  const asked = JSON.parse(line.text) as RecordedRequest;
  let nearest: { path: string; found: Difference[] } | undefined;
  for (const { path, request } of entries) {
    const found = differences(request, asked);
    if (!nearest || distance(found) < distance(nearest.found)) nearest = { path, found };
  }
  const what = `no cassette in ${folder} fits ${asked.method} ${asked.path}`;
  if (!nearest) return usageError(what, 'record the request first: --record <dir>');
  const lines = describeDifferences(nearest.found);
  return usageError(
    `${what}; the nearest is ${basename(nearest.path)}: ${lines.join('; ')}`,
    `record it: --record <dir>`,
  );
}
