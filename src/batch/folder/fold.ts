import type { BatchStep, ChooseRecord, EndRecord, GroupRecord, RedoRecord, SentRecord, SlotRecord } from './records.ts';
import { type Place, Slots, type SlotState } from './slots.ts';

/** A provider batch that the service may hold. */
interface OpenBatch {
  mark: string;
  step: BatchStep['step'];
  slots: number[];
  /** The states of its slots when it was created. */
  before: SlotState[];
  /** Its id at the service. */
  batch: string | undefined;
}

/** An answer that was paid for. */
interface Take extends Place {
  isCut: boolean;
}

/** What the records of a journal say together. */
export interface Fold {
  slots: Slots;
  /** By their marks. */
  batches: Map<string, OpenBatch>;
  /** Slots that provider batches hold. */
  atService: Set<number>;
  /** The ids that the last `--redo` named, until a run has left none of them. */
  redo: readonly string[] | undefined;
  /** All answers of the slots that have several, in the order in which they came. */
  takes: Map<number, Take[]>;
  /** Slots that may go out now, and the states before of those that went out and have no end. */
  ready: Set<number>;
  open: Map<number, SlotState>;
  run: { boot?: string | undefined } | undefined;
  /** The bytes of results.jsonl whose ends are known: all up to `end`, and lines beyond it, by their offsets. */
  covered: { end: number; beyond: Map<number, number> };
}

/** `rows`: about how many slots there will be. */
export function newFold(rows = 0): Fold {
  return {
    slots: new Slots(rows),
    batches: new Map(),
    atService: new Set(),
    redo: undefined,
    takes: new Map(),
    ready: new Set(),
    open: new Map(),
    run: undefined,
    covered: { end: 0, beyond: new Map() },
  };
}

/** Adds a record. Throws RangeError for one that names no slot: to pass over a record could pay twice. */
export function applyRecord(record: SlotRecord, fold: Fold): void {
  switch (record.t) {
    case 'run':
      settleRun(fold, record.boot);
      fold.run = record;
      return;
    case 'redo':
      return applyRedo(record, fold);
    case 'choose':
      return applyChoice(record, fold);
    case 'ready':
      for (const name of record.slots) fold.ready.add(fold.slots.addNamed(name));
      return;
    case 'sent':
      return applySent(record, fold);
    case 'unsent':
      return applyUnsent(record, fold);
    case 'batch':
      return applyBatchStep(record, fold);
    case 'end':
      fold.redo = undefined;
      return;
    case 'done':
    case 'incomplete':
    case 'failed':
    case 'unknown':
      return applyEnd(record, fold);
    default:
      throw new RangeError(`no record: ${String((record as { t: unknown }).t)}`);
  }
}

/**
 * Nothing of the run before goes on. What was ready and has no `sent` did not go out, as the kernel keeps all lines of a process. If the
 * machine went down since, the line may be lost.
 */
export function settleRun(fold: Fold, boot: string | undefined): void {
  const isSure = boot !== undefined && fold.run?.boot === boot;
  if (!isSure) for (const slot of fold.ready) fold.slots.setState(slot, 'sent');
  fold.ready.clear();
  fold.open.clear();
}

/** Whether the journal has the end of a line of results.jsonl. A kill can leave out the last ones. */
export function isCovered(off: number, { covered }: Pick<Fold, 'covered'>): boolean {
  return off < covered.end || covered.beyond.has(off);
}

/** A slot is pending again. The answer that is there stays the answer of its row until a new one comes. */
export function markAgain(slot: number, { slots }: Pick<Fold, 'slots'>): void {
  slots.setFlag(slot, 'again', slots.answersOf(slot) > 0);
  slots.setState(slot, 'pending');
}

function applyRedo({ ids, slots }: RedoRecord, fold: Fold): void {
  fold.redo = ids ?? fold.redo;
  for (const name of slots) markAgain(fold.slots.addNamed(name), fold);
}

function applySent({ slot: name }: SentRecord, { slots, ready, open }: Fold): void {
  const slot = slots.addNamed(name);
  ready.delete(slot);
  open.set(slot, slots.stateOf(slot));
  slots.setState(slot, 'sent');
}

function applyUnsent(record: GroupRecord, { slots, ready, open }: Fold): void {
  for (const name of record.slots) {
    const slot = slots.addNamed(name);
    ready.delete(slot);
    const before = open.get(slot);
    if (before !== undefined) slots.setState(slot, before);
    open.delete(slot);
  }
}

function applyEnd({ t, slot: name, off, len }: EndRecord, fold: Fold): void {
  const { slots } = fold;
  const slot = slots.addNamed(name);
  fold.ready.delete(slot);
  fold.open.delete(slot);
  fold.atService.delete(slot);
  cover({ off, len }, fold);
  const hasAnswer = slots.answersOf(slot) > 0;
  if (t === 'unknown') {
    slots.setState(slot, 'sent');
    if (!hasAnswer) slots.setPlace(slot, { off, len });
    return;
  }
  slots.setFlag(slot, 'again', false);
  slots.setFlag(slot, 'tried', t === 'failed');
  // What fails in the place of an answer leaves that as it was.
  if (t === 'failed' && hasAnswer) return slots.setState(slot, slots.has(slot, 'cut') ? 'incomplete' : 'done');
  if (t !== 'failed') addTake(slot, { off, len, isCut: t === 'incomplete' }, fold);
  slots.setState(slot, t);
  slots.setPlace(slot, { off, len });
}

function addTake(slot: number, take: Take, { slots, takes }: Fold): void {
  const first = slots.placeOf(slot);
  if (slots.answersOf(slot) === 1 && first) takes.set(slot, [{ ...first, isCut: slots.has(slot, 'cut') }]);
  takes.get(slot)?.push(take);
  slots.addAnswer(slot);
  slots.setFlag(slot, 'cut', take.isCut);
}

/** Nothing is paid for that: the answer is there. */
function applyChoice({ slot: name, answer }: ChooseRecord, { slots, takes }: Fold): void {
  const slot = slots.addNamed(name);
  const take = takes.get(slot)?.[answer - 1];
  if (take === undefined) return;
  slots.choose(slot, answer);
  slots.setPlace(slot, take);
  slots.setFlag(slot, 'cut', take.isCut);
  // What is in flight goes on, and its answer will count.
  if (slots.stateOf(slot) === 'sent') return;
  slots.setFlag(slot, 'again', false);
  slots.setState(slot, take.isCut ? 'incomplete' : 'done');
}

/** Ends can come in another order than their lines. */
function cover({ off, len }: Place, { covered }: Fold): void {
  const { beyond } = covered;
  beyond.set(off, len);
  for (let next = beyond.get(covered.end); next !== undefined; next = beyond.get(covered.end)) {
    beyond.delete(covered.end);
    covered.end += next;
  }
}

const finalSteps: ReadonlySet<BatchStep['step']> = new Set(['dropped', 'lost', 'ended']);

function applyBatchStep({ mark, step, slots: names = [], batch }: BatchStep, fold: Fold): void {
  const { slots, batches, atService } = fold;
  if (step === 'planned') {
    const held = names.map((name) => slots.addNamed(name));
    batches.set(mark, { mark, step, slots: held, before: [], batch: undefined });
    return;
  }
  const known = batches.get(mark);
  if (known === undefined) return;
  known.step = step;
  if (step === 'creating') {
    known.before = known.slots.map((slot) => slots.stateOf(slot));
    for (const slot of known.slots) {
      slots.setState(slot, 'sent');
      atService.add(slot);
    }
  }
  if (step === 'created') known.batch = batch;
  if (step === 'dropped')
    for (const [at, before] of known.before.entries()) slots.setState(known.slots[at] as number, before);
  if (!finalSteps.has(step)) return;
  for (const slot of known.slots) atService.delete(slot);
  batches.delete(mark);
}
