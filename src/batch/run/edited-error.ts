import { maxNamed, nameSome } from '../counts.ts';
import type { EditedRow } from './edited.ts';
import { listIds } from './row-names.ts';
import type { BatchHost, BatchJobs, BatchPolicy } from '../types.ts';
import type { BatchState } from '../folder/state.ts';
import { GatewayError } from '../../errors.ts';

interface EditedBatch {
  host: Pick<BatchHost, 'copyCommand' | 'nextCommand' | 'repeatCommand'>;
  /** Digests of the parts that rows share. */
  shared: Readonly<Record<string, string>>;
  jobs: Pick<BatchJobs, 'read'>;
  policy: BatchPolicy;
  state: Pick<BatchState, 'manifest'>;
}

/** The error for edited rows that would be paid for: their number, the first of them, the edited parts, and the command to type. */
export async function editedError(edited: readonly EditedRow[], batch: EditedBatch): Promise<GatewayError> {
  const places = edited.slice(0, maxNamed).map(({ place }) => place);
  const ids = await listIds(places, batch.jobs);
  const names = nameSome(ids, edited.length);
  const accept = batch.host.repeatCommand('--accept-changes');
  const [were, them] = edited.length === 1 ? ['1 job was', 'it'] : [`${edited.length} jobs were`, 'them'];
  if (edited.every(({ isStale }) => isStale))
    return changedError(`${were} sent with a result that another job replaces: ${names}`, [
      `to make those again too, after what they use: ${accept}`,
      `to leave them as they are, and make others again: ${batch.host.nextCommand('redo', '<id,…>')}`,
    ]);
  const parts = findSharedEdits(batch);
  const inWhat = parts.length > 0 ? ` (in ${parts.join(', ')})` : '';
  return changedError(`${were} edited since an earlier run sent ${them}: ${names}${inWhat}`, [
    `to make those again too: ${accept}`,
    ...(isKept(batch) ? [] : [`to go on with the flags that made this folder: ${batch.host.nextCommand('again')}`]),
    `to keep the table of before as well, copy it first: ${batch.host.copyCommand()}`,
  ]);
}

/** Whether the command is the one that made the folder. */
function isKept({ policy, state: { manifest } }: EditedBatch): boolean {
  const { command } = manifest.header ?? {};
  return command === undefined || JSON.stringify(command) === JSON.stringify(policy.command);
}

/** The shared parts in which all rows were edited. */
function findSharedEdits({ shared: now, state: { manifest } }: EditedBatch): string[] {
  const { shared: before = {} } = manifest.header ?? {};
  return Object.keys({ ...now, ...before })
    .filter((name) => now[name] !== before[name])
    .toSorted();
}

function changedError(message: string, hints: readonly string[]): GatewayError {
  return new GatewayError('batch-edited', message, { hint: hints.join('\n'), sent: 'no' });
}
