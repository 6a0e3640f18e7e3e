import { formatCount, maxNamed, nameSome } from '../counts.ts';
import type { ChangedRow } from './changed.ts';
import { listIds } from './row-names.ts';
import type { BatchHost, BatchJobs, BatchPolicy } from '../types.ts';
import { isSameCommand } from '../folder/manifest.ts';
import type { BatchState } from '../folder/state.ts';
import { GatewayError } from '../../library/index.ts';

/** The error for a file of jobs, or a part of it, that is not as it was when it was checked. */
export function changedError(what: string, cause?: unknown): GatewayError {
  return new GatewayError('batch-edited', `${what} changed during the run`, {
    hint: 'run the same command again',
    sent: 'no',
    cause,
  });
}

interface EditedBatch {
  host: Pick<BatchHost, 'copyCommand' | 'nextCommand' | 'repeatCommand'>;
  /** Digests of the parts that rows share. */
  shared: Readonly<Record<string, string>>;
  jobs: Pick<BatchJobs, 'read'>;
  policy: BatchPolicy;
  state: Pick<BatchState, 'manifest' | 'atService'>;
}

/** The error for changed rows that would be paid for: their number, the first of them, the edited parts, and the command to type. */
export async function editedError(rows: readonly ChangedRow[], batch: EditedBatch): Promise<GatewayError> {
  const parts = findSharedEdits(batch);
  const told: string[] = [];
  for (const [kind, say] of Object.entries(says)) {
    const found = rows.filter((row) => row.kind === kind);
    const inWhat = kind === 'edited' && parts.length > 0 ? ` (in ${parts.join(', ')})` : '';
    if (found.length > 0) told.push(`${say(found)}: ${await nameChanged(found, batch)}${inWhat}`);
  }
  const hints = [
    `to make those again too: ${batch.host.repeatCommand('--accept-changes')}`,
    ...(hasSameCommand(batch)
      ? []
      : [`to go on with the flags that made this folder: ${batch.host.nextCommand('again')}`]),
    ...(batch.state.atService.size === 0
      ? []
      : [
          `to collect first what is at the service: ${batch.host.nextCommand('retry', { flags: '--lane batch' })}  # what failed is sent again`,
        ]),
    `to keep the table of before as well, copy it first: ${await batch.host.copyCommand()}`,
  ];
  return new GatewayError('batch-edited', told.join('; '), { hint: hints.join('\n'), sent: 'no' });
}

/** What is told of the rows that changed in one way. */
const says: Readonly<Record<ChangedRow['kind'], (rows: readonly ChangedRow[]) => string>> = {
  edited(rows) {
    const [were, are, them] = rows.length === 1 ? ['was', 'is', 'it'] : ['were', 'are', 'them'];
    const orNew = rows.some(({ mayBeNew }) => mayBeNew) ? `, or ${are} new` : '';
    return `${formatCount(rows.length, 'job')} ${were} edited since an earlier run sent ${them}${orNew}`;
  },
  outdated: ({ length }) => `${formatCount(length, 'job')} ${length === 1 ? 'uses' : 'use'} what changed`,
  resharded: ({ length }) =>
    `${formatCount(length, 'job')} ${length === 1 ? 'was' : 'were'} in another shard until now, and may be paid there`,
};

/** The ids of the first rows, and how many more there are. */
async function nameChanged(rows: readonly ChangedRow[], { jobs }: EditedBatch): Promise<string> {
  const places = rows.slice(0, maxNamed).map(({ place }) => place);
  return nameSome(await listIds(places, jobs), rows.length);
}

type ComparedBatch = Pick<EditedBatch, 'policy' | 'shared' | 'state'>;

/** Whether rows were edited by other flags than those that the folder keeps, not in the table alone. */
export function isEditedByFlags(batch: ComparedBatch): boolean {
  return !hasSameCommand(batch) && findSharedEdits(batch).length > 0;
}

/** Whether the same table is read with other flags, which can name its rows anew. A stream is no table: each has other rows. */
export function hasOtherFlags(batch: Pick<ComparedBatch, 'policy' | 'state'>): boolean {
  const [now, before] = [batch.policy.command?.flags, batch.state.manifest.header?.command?.flags];
  if (hasSameCommand(batch) || before?.['stream'] === true) return false;
  return now?.['jobs'] === before?.['jobs'] && now?.['data'] === before?.['data'];
}

/** Whether the command is the one that made the folder. */
function hasSameCommand({ policy, state: { manifest } }: Pick<ComparedBatch, 'policy' | 'state'>): boolean {
  const { command } = manifest.header ?? {};
  return command === undefined || isSameCommand(command, policy.command);
}

/** The shared parts in which all rows were edited. */
function findSharedEdits({ shared: now, state: { manifest } }: ComparedBatch): string[] {
  const { shared: before = {} } = manifest.header ?? {};
  return Object.keys({ ...now, ...before })
    .filter((name) => now[name] !== before[name])
    .toSorted();
}
