import {
  addUsage,
  batchFiles,
  type BatchState,
  countJobs,
  formatCount,
  type Counts,
  isInShard,
  type LostEnds,
  listReportRows,
  listVariations,
  parseVariedId,
  type RunRecord,
  type Variation,
} from '../../batch/index.ts';
import { readBatchFolder } from './outdir.ts';
import { basename, join } from 'node:path';
import type { Context } from '../../cli/context.ts';
import { joinSpendings } from '../../cost/cost.ts';
import { usageError } from '../../errors.ts';
import { maxOf, minOf } from '../../long-lists.ts';

/** The folder of a batch, or of one of its shards, read. */
export interface BatchFolder {
  /** As the user named it. */
  name: string;
  folder: string;
  state: BatchState;
  /** A run works in it, as far as that is known. */
  isRunning?: boolean;
  /** Absent if no job is open. */
  ends?: LostEnds | undefined;
}

/**
 * Reads the folder of a batch, or those of its shards. A shard that is not among them is told. Throws GatewayError usage if folders
 * are of several batches, or a job is in two of them.
 */
export async function readFolders(names: readonly string[], context: Context): Promise<BatchFolder[]> {
  const folders: BatchFolder[] = [];
  for (const name of names) folders.push({ name, ...(await readBatchFolder(name, context)) });
  const [first, ...others] = folders;
  if (first === undefined || others.length === 0) return folders;
  const byNumber = new Map<number, BatchFolder>();
  for (const one of folders) {
    const { index, total } = requireSameBatch(one, first);
    const same = byNumber.get(index);
    if (same) throw usageError(`shard ${index}/${total} is there twice: ${same.name} and ${one.name}`);
    byNumber.set(index, one);
    // An id is in one shard only, so no job is in two folders.
    const isElsewhere = (id: string): boolean =>
      one.state.run?.linked
        ? folders.some((other) => other !== one && other.state.index.find(id) >= 0)
        : !isInShard(id, { index, total });
    for (const id of one.state.index.ids())
      if (isElsewhere(id))
        throw usageError(`${one.name} overlaps with another folder: job ${JSON.stringify(id)} is not of its shard`);
  }
  const total = first.state.run?.shard?.total ?? 0;
  const missing = Array.from({ length: total }, (_, at) => at + 1).filter((index) => !byNumber.has(index));
  if (missing.length > 0) {
    const shown = missing.slice(0, 10).map((index) => `${index}/${total}`);
    await context.ui.warn(`not among the folders: shard ${shown.join(', ')}${missing.length > 10 ? ' …' : ''}`);
  }
  return folders;
}

/** Makes the earlier answer of a job the one that reports have, while it is unknown what became of its edited request. */
export function showEarlierAnswers(folders: readonly BatchFolder[]): void {
  for (const { state } of folders) for (const [row, { digest }] of state.earlier) state.index.setDigest(row, digest);
}

/** Returns the shard of a folder. Throws GatewayError usage if it belongs to another batch than the first. */
function requireSameBatch({ name, state }: BatchFolder, first: BatchFolder): NonNullable<RunRecord['shard']> {
  const [run, other] = [state.run, first.state.run];
  if (!run?.shard) throw usageError(`${name} was not made with --shard`, 'name one folder, or those of all shards');
  const isSame =
    run.shard.total === other?.shard?.total &&
    run.total === other.total &&
    run.list === other.list &&
    run.origin === other.origin;
  if (isSame) return run.shard;
  throw usageError(
    `${name} and ${first.name} are not shards of the same batch`,
    'same jobs, same gateway, same --shard …/n',
  );
}

/** The name of a report: that of the folder, or of the first. */
export function chooseReportName(folders: readonly BatchFolder[]): string {
  const first = basename(folders[0]?.folder ?? '');
  return folders.length < 2 ? first : `${first} and ${formatCount(folders.length - 1, 'other folder')}`;
}

/** The jobs of folders by their state, those that were not sent included. */
export function countFolder({ state: { index, run } }: BatchFolder): Counts {
  return countJobs(index, { jobs: run?.jobs || index.size });
}

/** The sum of the counts. */
export function addCounts(counts: readonly Counts[]): Counts {
  const sum: Counts = { jobs: 0, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  for (const one of counts)
    for (const [name, count] of Object.entries(one) as [keyof Counts, number][]) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** What the journals of several folders say together. */
export function joinStates(
  states: readonly BatchState[],
): Pick<BatchState, 'usage' | 'spending' | 'durationMs' | 'beganAt'> {
  const began = states.flatMap(({ beganAt }) => beganAt ?? []);
  return {
    usage: states.reduce((sum, { usage }) => addUsage(sum, usage), {}),
    spending: joinSpendings(states.map(({ spending }) => spending)),
    // Shards run side by side.
    durationMs: maxOf(states.map(({ durationMs }) => durationMs)),
    beganAt: began.length > 0 ? minOf(began) : undefined,
  };
}

/** The jobs of all folders in the order of the job file, with `all` those that it has no more: the number of the folder, and the job's row there. */
export function* listFolderRows(
  folders: readonly Pick<BatchFolder, 'state'>[],
  { all = false }: { all?: boolean | undefined },
): Generator<{ at: number; row: number }, void> {
  const orders = folders.map(({ state: { index } }) => listReportRows(index, all));
  const next = new Uint32Array(orders.length);
  for (;;) {
    let found: { at: number; row: number; place: number } | undefined;
    for (const [at, order] of orders.entries()) {
      const row = order[next[at] as number];
      if (row === undefined) continue;
      const place = folders[at]?.state.index.placeOf(row) ?? 0;
      if (found === undefined || place < found.place) found = { at, row, place };
    }
    if (found === undefined) return;
    next[found.at] = (next[found.at] as number) + 1;
    yield found;
  }
}

/**
 * The variations of the rows: those of the last run, then those of earlier runs, as far as a report has jobs of them. The last one is
 * that of rows which an earlier run did not vary.
 */
export function listFolderVariations(
  folders: readonly Pick<BatchFolder, 'state'>[],
  { all = false }: { all?: boolean | undefined },
): Variation[] {
  const now = listVariations(folders[0]?.state.run?.vary);
  const known = folders.flatMap(({ state }) => [...state.varied.values()]).flatMap(listVariations);
  if (known.length === 0) return now;
  const seen = new Set<string>();
  for (const { at, row } of listFolderRows(folders, { all })) {
    const id = folders[at]?.state.index.idOf(row) ?? '';
    seen.add(parseVariedId(id, known)?.variation.suffix ?? '');
  }
  const others = [...known, { label: 'text', suffix: '', values: {} }].filter(({ suffix }) => seen.has(suffix));
  return [...new Map([...now, ...others].map((one) => [one.suffix, one])).values()];
}

/** The folder that knows a job, and its row there; without `all` only if the file still has the job. */
export function findJob(
  id: string,
  folders: readonly Pick<BatchFolder, 'state'>[],
  { all = true }: { all?: boolean | undefined } = {},
): { at: number; row: number } | undefined {
  for (const [at, { state }] of folders.entries()) {
    const row = state.index.findNow(id);
    if (row >= 0 && (all || !state.index.has(row, 'removed'))) return { at, row };
  }
  return undefined;
}

/** The path of an image for a report on several folders: with the folder as the user named it. */
export function pathInFolder(path: string, { name }: BatchFolder, folders: readonly BatchFolder[]): string {
  return folders.length > 1 && path.startsWith(`${batchFiles.images}/`) ? join(name, path) : path;
}
