import { join } from 'node:path';
import { cannotWrite, isObject, version, writeAtomically } from '../../library/index.ts';
import { changedError } from '../run/edited-error.ts';
import { hashRowId } from '../run/table.ts';
import { type Batch, batchFiles, type Job } from '../types.ts';
import { findFrom, isSameCommand, type ManifestHeader, manifestLine } from './manifest.ts';

type ManifestBatch = Pick<Batch, 'jobs' | 'outdir' | 'plan' | 'policy' | 'shard' | 'state'>;

/** The number of characters that are written together. */
const gatheredLength = 256 * 1024;

/**
 * Writes the table of a run: each row with its slot. It replaces that of the last run, which is the consent to edited rows. The
 * file of the jobs is read once more. Throws GatewayError not-written, or batch-edited if that file changed meanwhile.
 */
export async function writeManifest(batch: ManifestBatch): Promise<void> {
  const { jobs, outdir, plan } = batch;
  const path = join(outdir, batchFiles.manifest);
  const write = async (append: (text: string) => Promise<unknown>): Promise<void> => {
    let gathered = `${JSON.stringify(describeTable(batch))}\n`;
    let place = 0;
    for await (const job of jobs.read(() => undefined)) {
      // Rows that were added since are for the next run.
      if (place >= plan.table.size) break;
      if (plan.table.ids[place] !== hashRowId(job.id)) throw changedError(`${jobs.name}:${job.line}`);
      gathered += `${describeRow(job, place++, batch)}\n`;
      if (gathered.length < gatheredLength) continue;
      await append(gathered);
      gathered = '';
    }
    await append(gathered);
  };
  try {
    await writeAtomically(path, (handle) => write((text) => handle.appendFile(text)), { mode: 0o666 });
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

function describeTable({ plan, policy, shard }: ManifestBatch): ManifestHeader {
  return {
    manifest: 1,
    tool: `gateway-cli ${version}`,
    rows: plan.table.size,
    jobs: plan.jobs,
    shared: plan.shared,
    vary: policy.vary,
    shard,
    command: policy.command,
  };
}

function describeRow(job: Job, place: number, { plan, state }: ManifestBatch): string {
  const { table } = plan;
  const { id, lineId, isNumbered, number, name, command, values } = job;
  const { vars, prompt } = values;
  const slot = table.slots[place] as number;
  const link = table.links.get(place);
  const earlier = table.earlier.get(place);
  return manifestLine({
    slot: state.slots.nameOf(slot),
    id,
    numbered: isNumbered || undefined,
    key: link?.key,
    parents: link?.parents.join(' '),
    other: plan.isOwn(place) ? undefined : plan.shardOf(place),
    edited: table.edited.has(place) || undefined,
    earlier: earlier === undefined ? undefined : state.slots.nameOf(earlier),
    from: findFrom(state.manifest, table, place),
    row: number,
    of: lineId,
    name,
    command,
    vars: isObject(vars) ? vars : undefined,
    prompt: typeof prompt === 'string' && !isObject(vars) ? prompt : undefined,
  });
}

/** Whether the manifest has this table and its command already, as far as that can be known without the rows. */
export function isAsWritten({ plan, policy, state }: Pick<Batch, 'plan' | 'policy' | 'state'>): boolean {
  const { table } = plan;
  const { header, moved, rows: before } = state.manifest;
  if (!isSameCommand(policy.command, header?.command)) return false;
  // A row that was built can have other variables.
  if (table.size !== before.size || plan.built > 0 || moved?.size) return false;
  for (let place = 0; place < table.size; place++)
    if (
      table.slots[place] !== before.slots[place] ||
      table.ids[place] !== before.ids[place] ||
      table.edited.has(place) !== before.edited.has(place)
    )
      return false;
  return true;
}
