import { open, realpath, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import system from 'node:process';
import type { Context } from '../../cli/context.ts';
import { recoverHint, repliesSavedSince } from '../../cli/run/recovery.ts';
import { SyncedFile } from '../../files/synced-file.ts';
import { createEmptyStore } from '../../images/store.ts';
import { isObject } from '../../json.ts';
import { readRecovery, type SavedReply } from '../../recovery/recovery-file.ts';
import { resultLine } from '../folder/recorder.ts';
import type { FolderLock } from '../folder/lock.ts';
import { findLostEnds, type LostEnds } from '../folder/results.ts';
import { type BatchState, hasOpenJobs, isOpen, keepFailure } from '../folder/state.ts';
import { countOf } from '../report/summary.ts';
import { batchFiles } from '../types.ts';

/**
 * Adds to the results of a folder what earlier runs got and could not write there: it is in recovery files, which are removed
 * then. A reply with a picture stays in its file, and the failure of its job names it. Returns the ends with those of these jobs.
 * Throws GatewayError not-written or batch-locked.
 */
export async function adoptReplies(
  folder: string,
  state: BatchState,
  { ends, lock, ui }: Pick<Context, 'ui'> & { ends: LostEnds; lock: Pick<FolderLock, 'confirm'> },
): Promise<LostEnds> {
  if (state.beganAt === undefined || !hasOpenJobs(state)) return ends;
  const place = await realpath(folder);
  // By the ids of their jobs: of two replies the newer one counts.
  const kept = new Map<string, { path: string; line: string }>();
  for (const path of (await repliesSavedSince(state.beganAt)).toSorted()) {
    const saved = await readOwn(path);
    const { job: id, batch } = saved ?? {};
    if (id === undefined || !batch || (await realpath(batch.folder).catch(() => '')) !== place) continue;
    const row = state.index.find(id);
    if (row < 0 || state.index.requestOf(row) !== batch.request || !isOpen(row, state)) continue;
    // It answers what was sent before.
    if (Date.parse(saved?.savedAt ?? '') < sentAt(row, id, state)) continue;
    const line = lineOf(id, saved as SavedReply);
    if (line === undefined) keepFailure(state.failures, id, unwritten(path));
    else kept.set(id, { path, line });
  }
  if (kept.size === 0) return ends;
  lock.confirm();
  await append(
    join(folder, batchFiles.results),
    Array.from(kept.values(), ({ line }) => line),
  );
  const { lostEnds, places, gone } = await findLostEnds(folder, state, ends);
  // A run that ends before its own record, or is killed, leaves nothing that only the removed files had.
  await append(
    join(folder, batchFiles.journal),
    lostEnds.map((end) => JSON.stringify(end)),
  );
  for (const { path } of kept.values()) await unlink(path).catch(() => undefined);
  await ui.note(`${countOf(kept.size, 'kept result')} of an earlier run added to ${batchFiles.results}`);
  return { lostEnds: [], places: { ...places, torn: ends.places.torn }, gone };
}

async function append(path: string, lines: readonly string[]): Promise<void> {
  const file = await SyncedFile.open(path);
  try {
    for (const line of lines) file.append(line);
    await file.sync();
  } finally {
    await file.close();
  }
}

function sentAt(row: number, id: string, { index, parts, sentAt: times }: BatchState): number {
  const part = index.has(row, 'atService') && [...parts.values()].findLast(({ rows }) => rows.includes(row));
  return (part ? part.at : times.get(id)) ?? 0;
}

/** The line of a whole result; undefined if it is not a result, or too long. */
function lineOf(id: string, { batch, document }: SavedReply): string | undefined {
  if (!batch?.isResult || !isObject(document)) return undefined;
  const line = resultLine({ id, request: batch.request, ...document }, undefined);
  return typeof line === 'string' ? line : void line.catch(() => undefined);
}

function unwritten(path: string) {
  const message = 'its reply could not be written';
  return { class: 'not-written', message, billed: 'yes', hint: recoverHint(path) } as const;
}

/** Undefined for a file that cannot be read, or that another user wrote: one of the folders is open to all. */
async function readOwn(path: string): Promise<SavedReply | undefined> {
  try {
    const handle = await open(path);
    try {
      // Of the open file: a link could lead elsewhere meanwhile.
      const { uid } = await handle.stat();
      const isOwn = uid === (system.geteuid?.() ?? uid);
      return isOwn ? await readRecovery(handle.createReadStream({ autoClose: false }), createEmptyStore()) : undefined;
    } finally {
      await handle.close();
    }
  } catch {
    return undefined;
  }
}
