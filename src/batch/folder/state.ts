import { getToldState } from '../counts.ts';
import type { JobError } from '../types.ts';
import { type Fold, applyRecord, newFold } from './fold.ts';
import { newManifest, type Manifest } from './manifest.ts';
import type { EndRecord, RunStart, SlotRecord } from './records.ts';
import { countEnd } from './spending.ts';
import { addPaid } from '../lane/provider-batches.ts';

/** The state of a batch: read from its folder, and kept up to date by a run. */
export interface BatchState extends Fold {
  /** The record of the last run; undefined for an empty journal. */
  run: RunStart | undefined;
  /** The table as the last run read it. */
  manifest: Manifest;
  /** Wall clock of the first run and of the last record, ms since 1970. */
  beganAt: number | undefined;
  lastAt: number;
  /** The time of all runs added up, each from its first record to its last, in ms; and of all runs but the last. */
  durationMs: number;
  earlierMs: number;
  /** The last line of the journal has no end: a crash cut it, and it is ignored. */
  torn: boolean;
}

/** The state of a batch without a journal. `rows`: about how many slots there will be. */
export function newBatchState(rows = 0): BatchState {
  return {
    ...newFold(rows),
    run: undefined,
    manifest: newManifest(),
    beganAt: undefined,
    lastAt: 0,
    durationMs: 0,
    earlierMs: 0,
    torn: false,
  };
}

/** Adds a record to the state. Throws RangeError for a value that is no record. */
export function addRecord(record: SlotRecord, state: BatchState): void {
  const { slots } = state;
  if ('at' in record && record.at !== undefined) {
    state.lastAt = record.at;
    if (record.t !== 'run') state.durationMs = state.earlierMs + Math.max(0, record.at - (state.run?.at ?? record.at));
  }
  switch (record.t) {
    case 'run':
      state.beganAt ??= record.at;
      state.earlierMs = state.durationMs;
      break;
    case 'ready':
      keepBounds(record.slots, record.bounds, state);
      break;
    case 'batch':
      if (record.step === 'planned') keepBounds(record.slots ?? [], record.bounds, state);
      for (const [at, id] of record.ids?.entries() ?? [])
        state.ids.set(slots.addNamed(record.slots?.[at] as string), id);
      break;
    case 'sent': {
      const slot = slots.addNamed(record.slot);
      if (record.at !== undefined) state.sentAt.set(slot, record.at);
      if (record.id !== undefined) state.ids.set(slot, record.id);
      state.failures.delete(slot);
      break;
    }
    case 'done':
    case 'incomplete':
    case 'failed':
    case 'unknown':
      countEndRecord(record, state);
      break;
    default:
  }
  applyRecord(record, state);
}

/** Counts the cost of an end: limits need it before the end is on the disk. */
export function countEndRecord(record: EndRecord, state: BatchState): void {
  const { slots } = state;
  const slot = slots.addNamed(record.slot);
  addPaid(slot, record, state);
  countEnd(slot, record, state);
}

function keepBounds(
  names: readonly string[],
  bounds: Extract<SlotRecord, { t: 'ready' | 'unsent' }>['bounds'] = [],
  { slots, bounds: known }: BatchState,
): void {
  for (const [at, bound] of bounds.entries()) if (bound) known.set(slots.addNamed(names[at] as string), bound);
}

/** Whether some slot was sent, or is at the service, and has no end. */
export function hasOpenSlots({ slots }: Pick<BatchState, 'slots'>): boolean {
  for (let slot = 0; slot < slots.size; slot++) if (slots.stateOf(slot) === 'sent') return true;
  return false;
}

/**
 * The reasons why rows of the table have no answer, or no new one, by slots. Slots that a provider batch holds by now are left out,
 * and slots that are settled since: nothing is to be done for these.
 */
export function listFailures({ failures, atService, slots }: BatchState): Map<number, JobError> {
  const isOpen = (slot: number): boolean => {
    const told = getToldState(slot, { atService, slots });
    return told === 'done' ? slots.has(slot, 'tried') : told === 'failed' || told === 'unknown';
  };
  return new Map([...failures].filter(([slot]) => isOpen(slot) && slots.has(slot, 'wanted')));
}
