import type { Job } from '../types.ts';
import { GatewayError } from '../../errors.ts';
import { type JobIndex, renameJob } from '../folder/state.ts';
import { findIdNumber, findKnown } from './known-by.ts';
import type { BatchPlan, EnteredJob, Planning } from './plan.ts';

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
): { moves: BatchPlan['moves']; hasRenamed: boolean } | undefined {
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
  state.knownIds = new Map([...(state.knownIds ?? []), ...ids]);
  const moves = isOpen ? [] : renames.map(({ id, to, line }) => ({ type: 'moved' as const, id, to, line }));
  return { moves, hasRenamed: renames.length > 0 };
}

/**
 * Counts a job whose number in the file is another one than before, and keeps its line if the journal has another one: once the lines
 * there do not tell the order of the file any more, they are written down for all.
 */
export function addMove(
  { id, fileId = id, line, isNumbered }: Job,
  { known, isSent }: Pick<EnteredJob, 'known'> & { isSent: boolean },
  planning: Planning,
): void {
  const { last, plan, shard, state } = planning;
  const number = isNumbered ? findIdNumber(fileId) : undefined;
  const hasMoved = known && isNumbered && number !== (state.numbers.get(known.row) ?? findIdNumber(id));
  if (hasMoved) plan.moved++;
  if (known && (hasMoved || line !== known.line)) plan.moves.push({ type: 'moved', id, number, line });
  // What is sent gets the line that it has now.
  const place = known && !isSent ? known.line : line;
  const isAfter = place > last.place || (place === last.place && line === last.line);
  // The order is that of all shards.
  planning.isOrdered &&= !hasMoved && (shard ? place === line : isAfter);
  last.place = place;
  last.line = line;
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
    `jobs of ${name} moved or got other ids since an earlier run: another shard may have sent them`,
    {
      hint: 'put them back in their order, with their ids; or new folders, with --id-column or an "id" in each job',
      sent: 'no',
    },
  );
}
