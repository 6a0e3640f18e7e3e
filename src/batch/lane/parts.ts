import { randomNonce, createTempFile, writeFully } from '../../files/temp-file.ts';
import { type BatchState, countCost, type JobIndex, mayHaveCost } from '../folder/state.ts';
import { hashId, hexOf } from '../jobs/digest.ts';
import type { Bound } from '../../cost/types.ts';
import type { JobRecord } from '../types.ts';
import type { Part, PartPlan, PartRecord } from './types.ts';
import type { FileHandle } from 'node:fs/promises';
import { cannotWrite } from '../../files/synced-file.ts';

/** A mark that no other part has: letters and digits, at most 16. */
export function newMark(): string {
  return `gw${randomNonce().slice(0, 14)}`;
}

/** The key of a job in a part. All services take it: letters, digits and `-`, at most 33. */
export function keyOf(mark: string, id: string): string {
  return `${mark}-${hexOf(hashId(id))}`;
}

/** Parts that may be at the service. */
export function openParts({ parts }: Pick<BatchState, 'parts'>): Part[] {
  return [...parts.values()].filter(({ step }) => step === 'creating' || step === 'created');
}

/** Jobs of a part that have no end yet. */
export function waitingRows({ rows }: Pick<Part, 'rows'>, index: JobIndex): number[] {
  return rows.filter((row) => index.has(row, 'atService'));
}

/** The same, with what each of them can cost. */
export function waitingBounds({ rows, bounds }: Part, index: JobIndex): Map<number, Bound | undefined> {
  const all = rows.map((row, at) => [row, bounds[at]] as const);
  return new Map(all.filter(([row]) => index.has(row, 'atService')));
}

/** What jobs that a batch of the service holds can cost. */
export function openBounds(state: Pick<BatchState, 'parts' | 'index'>): (Bound | undefined)[] {
  return openParts(state).flatMap((part) => [...waitingBounds(part, state.index).values()]);
}

/** A job of a part that is planned. */
export function addToPart({ id, request, line, bound, part = '' }: JobRecord, { index, parts }: BatchState): void {
  const known = parts.get(part);
  if (known === undefined) return;
  const row = index.add(id);
  if (line !== undefined) index.setPlace(row, line);
  known.rows.push(row);
  known.requests.push(request);
  known.bounds.push(bound);
}

/** The mark of a part that is paid from a budget. */
export function budgetedMark({ mark, plan }: Part): string | undefined {
  return plan.budget === undefined ? undefined : mark;
}

/** Counts the end of a job for the budget of its part. */
export function countPaid(
  { part: mark = '', ...end }: Pick<JobRecord, 'type' | 'part' | 'cost' | 'billed' | 'error'>,
  { parts }: Pick<BatchState, 'parts'>,
  bound: Bound | undefined,
): void {
  const part = parts.get(mark);
  if (part === undefined || !mayHaveCost(end)) return;
  part.paid.requests++;
  countCost(end, part.paid, bound);
}

/** Applies a record of a part to what is known. */
export function applyPart(record: PartRecord, state: BatchState): void {
  if (record.plan) state.parts.set(record.mark, newPart(record.mark, record.plan));
  const part = state.parts.get(record.mark);
  if (part === undefined) return;
  const { index } = state;
  part.step = record.step;
  if (record.step === 'creating') {
    part.at = record.at;
    swapRequests(part, index);
    for (const row of part.rows) index.mark(row, 'atService');
  }
  if (record.step === 'created') {
    [part.batch, part.lastsMs] = [record.batch, record.lastsMs];
    part.requests = [];
  }
  if (record.step === 'dropped') {
    // Its jobs are what they were, with the requests that they had then.
    swapRequests(part, index);
    for (const row of part.rows) index.mark(row, 'atService', false);
  }
  if (record.step !== 'creating' && record.step !== 'created' && record.step !== 'planned')
    state.parts.delete(record.mark);
}

function newPart(mark: string, plan: PartPlan): Part {
  return {
    mark,
    step: 'planned',
    plan,
    rows: [],
    requests: [],
    bounds: [],
    paid: { spending: { costs: [], unknown: 0, held: '0', dearest: '0' }, requests: 0 },
    at: 0,
    batch: undefined,
    lastsMs: undefined,
  };
}

function swapRequests(part: Part, index: JobIndex): void {
  part.requests = part.rows.map((row, at) => {
    const before = index.requestOf(row);
    index.setRequest(row, part.requests[at] ?? '');
    return before;
  });
}

/** A temporary file in the folder of the batch. Its methods throw GatewayError not-written. */
export interface PartFile {
  path: string;
  handle: FileHandle;
  write(bytes: Uint8Array, offset: number): Promise<void>;
}

export async function createPartFile(folder: string): Promise<PartFile> {
  const refuse = (error: unknown): never => {
    throw cannotWrite(folder, error);
  };
  const { path, handle } = await createTempFile(folder).catch(refuse);
  return { path, handle, write: (bytes, offset) => writeFully(handle, bytes, offset).catch(refuse) };
}
