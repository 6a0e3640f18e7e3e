import { createReadStream } from 'node:fs';
import { realpath, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import system from 'node:process';
import type { Context } from '../../cli/context.ts';
import { repliesSavedSince } from '../../cli/run/recovery.ts';
import { SyncedFile } from '../../files/synced-file.ts';
import { createEmptyStore } from '../../images/store.ts';
import { isObject } from '../../json.ts';
import { readRecovery, type SavedReply } from '../../recovery/recovery-file.ts';
import { shellWord } from '../../shell-word.ts';
import { resultLine } from '../folder/recorder.ts';
import { findLostEnds, type LostEnds } from '../folder/results.ts';
import { type BatchState, isOpen, keepFailure } from '../folder/state.ts';
import { countOf } from '../report/summary.ts';
import { batchFiles } from '../types.ts';

/**
 * Adds to the results of a folder what earlier runs got and could not write there: it is in recovery files, which are removed
 * then. A reply with a picture stays in its file, and the failure of its job names it. Returns the ends with those of these jobs.
 * Throws GatewayError not-written.
 */
export async function adoptReplies(
  folder: string,
  state: BatchState,
  { ends, ui }: Pick<Context, 'ui'> & { ends: LostEnds },
): Promise<LostEnds> {
  const paths = state.beganAt === undefined ? [] : await repliesSavedSince(state.beganAt);
  if (paths.length === 0) return ends;
  const place = await realpath(folder);
  const lines = new Map<string, string>();
  for (const path of paths) {
    const saved = await readOwn(path);
    const { job: id, batch } = saved ?? {};
    if (id === undefined || !batch || (await realpath(batch.folder).catch(() => '')) !== place) continue;
    const row = state.index.find(id);
    if (row < 0 || state.index.requestOf(row) !== batch.request || !isOpen(row, state)) continue;
    const line = lineOf(id, saved as SavedReply);
    if (line === undefined) keepFailure(state.failures, id, unwritten(path));
    else lines.set(path, line);
  }
  if (lines.size === 0) return ends;
  const results = await SyncedFile.open(join(folder, batchFiles.results));
  try {
    for (const line of lines.values()) results.append(line);
    await results.sync();
  } finally {
    await results.close();
  }
  for (const path of lines.keys()) await unlink(path);
  await ui.note(`${countOf(lines.size, 'kept result')} of an earlier run added to ${batchFiles.results}`);
  return findLostEnds(folder, state, ends);
}

/** The line of a whole result; undefined for what is none, or too long. */
function lineOf(id: string, { batch, document }: SavedReply): string | undefined {
  if (!batch?.isResult || !isObject(document)) return undefined;
  const line = resultLine({ id, request: batch.request, ...document }, undefined);
  return typeof line === 'string' ? line : void line.catch(() => undefined);
}

function unwritten(path: string) {
  const hint = `the reply is kept; write it out: gateway-cli recover ${shellWord(path)}`;
  return { class: 'not-written', message: 'its reply could not be written', billed: 'yes', hint } as const;
}

/** Undefined for a file that cannot be read, or that another user wrote: one of the folders is open to all. */
async function readOwn(path: string): Promise<SavedReply | undefined> {
  try {
    const { uid } = await stat(path);
    const isOwn = uid === (system.geteuid?.() ?? uid);
    return isOwn ? await readRecovery(createReadStream(path), createEmptyStore()) : undefined;
  } catch {
    return undefined;
  }
}
