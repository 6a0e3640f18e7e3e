import type { Job } from '../types.ts';
import { GatewayError } from '../../errors.ts';
import { type JobIndex, renameJob } from '../folder/state.ts';
import { findIdNumber, findKnown } from './known-by.ts';
import type { BatchPlan, Planning } from './plan.ts';

/** Whether jobs may be known by other ids than they have in the file: a number has another request, or some are new and some not there. */
export function mayMove(
  { hasOther, known, state: { index } }: Planning,
  before: ReturnType<JobIndex['remember']>,
): boolean {
  if (hasOther) return true;
  const isMissing = (_: unknown, row: number): boolean => !index.has(row, 'inFile');
  return index.size > known && Array.from({ length: before.size }).some(isMissing);
}

/**
 * Sees whether jobs are known in the folder by other ids than they have in the file. If so, all is as before the jobs were read,
 * but for ids that jobs got, and they are to be read again. Throws GatewayError batch-locked where another shard may have sent them.
 */
export function findMoves(
  planning: Planning,
  before: ReturnType<JobIndex['remember']>,
): BatchPlan['moves'] | undefined {
  const { strays, shard, state } = planning;
  const { index } = state;
  if (strays === undefined) return undefined;
  const isInFile = Uint8Array.from({ length: before.size }, (_, row) => (index.has(row, 'inFile') ? 1 : 0));
  const { ids, renames } = findKnown(strays, { state, before, isInFile });
  if (ids.size + renames.length === 0) return undefined;
  if (shard !== undefined) throw movedShardError(planning.jobs.name);
  before.restore();
  // Until their results are there, the service knows them by the ids that they have.
  const isOpen = state.providerBatches.size > 0;
  for (const { place, id, to } of renames) {
    if (isOpen) ids.set(place, id);
    else renameJob({ id, to }, state);
  }
  state.knownIds = ids;
  return isOpen ? [] : renames.map(({ id, to, line }) => ({ type: 'moved', id, to, line }));
}

/** Counts a job whose number in the file is another one than before. Once some moved, what tells their order is written down for all. */
export function addMove(
  { id, fileId = id, line }: Job,
  known: { row: number; line: number },
  planning: Planning,
): void {
  const { plan, state } = planning;
  const number = findIdNumber(fileId);
  const hasMoved = number !== (state.numbers.get(known.row) ?? findIdNumber(id));
  if (hasMoved) plan.moved++;
  const isOrdered = state.numbers.size === 0 && state.knownIds === undefined;
  if (hasMoved || (!isOrdered && line !== known.line)) plan.moves.push({ type: 'moved', id, number, line });
}

/** Keeps a job that the folder may know by another id, if such jobs are looked for. */
export function addStray({ id, line, isNumbered = false }: Job, digest: string, planning: Planning): void {
  const previous = planning.previous && { id: planning.previous.id, line: planning.previous.line };
  planning.strays?.push({ place: planning.plan.total, line, id, digest, isNumbered, previous });
}

/** A shard does not know what the others sent. */
function movedShardError(name: string): GatewayError {
  return new GatewayError(
    'batch-locked',
    `jobs of ${name} moved since an earlier run: another shard may have sent them`,
    {
      hint: 'put them back in their order; or new folders, with --id-column or an "id" in each job',
      sent: 'no',
    },
  );
}
