import { open, realpath, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import system from 'node:process';
import { createEmptyStore, isObject, readRecovery, type SavedReply } from '../../library/index.ts';
import { resultLine } from './recorder.ts';
import type { FolderLock } from './lock.ts';
import { findLostEnds, getEndType, type LostEnds } from './results.ts';
import { appendSynced } from './journal.ts';
import { keepFailure } from './spending.ts';
import { findProviderBatch } from '../lane/provider-batches.ts';
import { type BatchState, hasOpenSlots } from './state.ts';
import { type BatchHost, batchFiles } from '../types.ts';

/** The recovery files: replies that could not be written into their folder. */
export interface Recovery {
  /** The files of the replies that were saved since a time, ms since 1970. */
  findSince(at: number): Promise<readonly string[]>;
  /** The hint that says how to write out a reply. */
  describe(path: string): string;
}

interface Adopting {
  ends: LostEnds;
  lock: Pick<FolderLock, 'confirm'>;
  host: Pick<BatchHost, 'on'>;
  recovery: Recovery;
}

/**
 * Adds to the results of a folder the answers that earlier runs got and could not write there: they are in recovery files, which
 * are then removed. A reply with an image stays in its file, and the failure of its job names the file. Returns the ends with those
 * of these jobs. Throws GatewayError not-written or batch-locked.
 */
export async function adoptReplies(
  folder: string,
  state: BatchState,
  { ends, lock, host, recovery }: Adopting,
): Promise<LostEnds> {
  if (state.beganAt === undefined || !hasOpenSlots(state)) return ends;
  const place = await realpath(folder);
  // Of two replies to one slot the newer one counts.
  const kept = new Map<number, { path: string; line: string }>();
  for (const path of (await recovery.findSince(state.beganAt)).toSorted()) {
    const saved = await readOwn(path);
    const { job: id, batch } = saved ?? {};
    if (id === undefined || !batch || (await realpath(batch.folder).catch(() => '')) !== place) continue;
    const slot = findOpenSlot(batch.request, state);
    // A reply from before the last request of its slot answers an earlier request.
    if (slot === undefined || Date.parse(saved?.savedAt ?? '') < findSentAt(slot, state)) continue;
    const line = toAdoptedLine(id, state.slots.nameOf(slot), saved as SavedReply);
    if (line === undefined) keepFailure(state.failures, slot, unwrittenError(recovery.describe(path)));
    else kept.set(slot, { path, line });
  }
  if (kept.size === 0) return ends;
  lock.confirm();
  await appendSynced(
    join(folder, batchFiles.results),
    Array.from(kept.values(), ({ line }) => line),
  );
  const { lostEnds } = await findLostEnds(folder, state);
  // The ends are in the journal before the files are removed: a run that ends before its own record, or is killed, loses nothing.
  await appendSynced(
    join(folder, batchFiles.journal),
    [...ends.lostEnds, ...lostEnds].map((end) => JSON.stringify(end)),
  );
  for (const { path } of kept.values()) await unlink(path).catch(() => undefined);
  await host.on({ type: 'replies-added', jobs: kept.size });
  return { ...ends, lostEnds: [] };
}

/** The slot that a kept reply answers, if the slot waits for just this answer. */
function findOpenSlot(answerName: string, { slots }: BatchState): number | undefined {
  const [name = '', generation] = answerName.split('@');
  const slot = slots.findNamed(name);
  const isOpen = slot >= 0 && slots.stateOf(slot) === 'sent' && slots.answersOf(slot) + 1 === Number(generation);
  return isOpen ? slot : undefined;
}

function findSentAt(slot: number, state: BatchState): number {
  return findProviderBatch(slot, state)?.at ?? state.sentAt.get(slot) ?? 0;
}

/** The line of a whole result; undefined for a reply that is no result. */
function toAdoptedLine(id: string, slot: string, { batch, document }: SavedReply): string | undefined {
  if (!batch?.isResult || !isObject(document) || typeof document['ok'] !== 'boolean') return undefined;
  return resultLine({ slot, t: getEndType(document), id }, document);
}

function unwrittenError(hint: string) {
  const message = 'its reply could not be written';
  return { class: 'not-written', message, billed: 'yes', hint } as const;
}

/** Undefined for a file that cannot be read, or that another user wrote: one of the folders is open to all. */
async function readOwn(path: string): Promise<SavedReply | undefined> {
  try {
    const handle = await open(path);
    try {
      // The owner of the open file is read: a link could lead elsewhere meanwhile.
      const { uid } = await handle.stat();
      const isOwn = uid === (system.geteuid?.() ?? uid);
      return isOwn ? await readRecovery(handle.createReadStream({ autoClose: false }), createEmptyStore()) : undefined;
    } finally {
      await handle.close().catch(() => undefined);
    }
  } catch {
    return undefined;
  }
}
