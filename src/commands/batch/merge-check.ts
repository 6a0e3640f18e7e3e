import { usageError } from '../../errors.ts';
import { addKey, keyToHex } from '../../batch/digest.ts';
import type { JournalState } from '../../batch/journal.ts';
import { JobTable } from '../../batch/job-table.ts';
import { countJobs, countOf } from '../../batch/summary.ts';
import type { RunRecord } from '../../batch/types.ts';

/** The folder of one shard, as the user named it, and its journal. */
export interface ShardFolder {
  name: string;
  state: JournalState;
}

/** What all shards together are: the run record of the whole, and every job of it. */
export interface Whole {
  run: RunRecord;
  table: JobTable;
}

/**
 * Finds out whether folders are the shards of one batch, each of them once and run to its end. Throws GatewayError usage
 * that names what overlaps, what is missing and what is not finished.
 */
export function joinShards(folders: readonly ShardFolder[]): Whole {
  const [first] = folders;
  const run = first?.state.run;
  if (!first || !run?.shard) throw usageError(`${first?.name ?? 'it'} was not made with --shard`, 'name shards only');
  const places = new Map<number, ShardFolder>();
  for (const folder of folders) {
    const index = requireSameBatch(folder, { name: first.name, run });
    const twin = places.get(index);
    if (twin) throw usageError(`shard ${index}/${run.shard.total} is there twice: ${twin.name} and ${folder.name}`);
    places.set(index, folder);
  }
  const missing = Array.from({ length: run.shard.total }, (_, i) => i + 1).filter((index) => !places.has(index));
  if (missing.length > 0) {
    const shown = missing.slice(0, 10).map((index) => `${index}/${run.shard?.total}`);
    throw usageError(`missing: shard ${shown.join(', ')}${missing.length > 10 ? ' …' : ''}`, 'name every shard once');
  }
  const table = new JobTable();
  for (const folder of folders) addJobs(folder, table);
  requireWhole(table, run);
  // The shards ran on several machines: no boot and no limit speaks for all.
  return { table, run: { ...run, shard: undefined, boot: undefined, maxTokens: undefined, jobs: run.total } };
}

/** The shard's number, where it is one of the same batch. */
function requireSameBatch({ name, state }: ShardFolder, first: { name: string; run: RunRecord }): number {
  const { run } = state;
  if (!run?.shard) throw usageError(`${name} was not made with --shard`, 'name shards only');
  const same =
    run.shard.total === first.run.shard?.total &&
    run.total === first.run.total &&
    run.list === first.run.list &&
    run.origin === first.run.origin;
  if (!same)
    throw usageError(
      `${name} and ${first.name} are not shards of the same batch`,
      'same jobs, same gateway, same --shard …/n',
    );
  return run.shard.index;
}

function addJobs({ name, state }: ShardFolder, all: JobTable): void {
  const { table, run } = state;
  const { pending } = countJobs(table, { jobs: run?.jobs ?? 0 });
  if (pending > 0)
    throw usageError(
      `${name}: ${countOf(pending, 'job')} ${pending === 1 ? 'was' : 'were'} not sent yet`,
      'run that shard to its end first, with its own command',
    );
  for (const slot of table.slots()) {
    const key = table.keyAt(slot);
    if (all.find(key) >= 0) throw usageError(`${name} overlaps with another folder: a job is in both`);
    const to = all.add(key);
    all.setState(to, table.stateOf(slot));
    all.setRequest(to, table.requestOf(slot));
  }
}

/** The ids of all shards must be those of the job file: no more, no less. */
function requireWhole(table: JobTable, { total, list }: RunRecord): void {
  let sum = { high: 0, low: 0 };
  for (const slot of table.slots()) sum = addKey(sum, table.keyAt(slot));
  if (table.size === total && keyToHex(sum) === list) return;
  throw usageError(
    `the shards hold ${countOf(table.size, 'job')}, and the job file ${total}`,
    'run each shard again with the same job file',
  );
}
