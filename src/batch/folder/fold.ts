import type {
  BatchStep,
  ChooseRecord,
  EndRecord,
  GroupRecord,
  LinkRecord,
  RedoRecord,
  RunStart,
  SentRecord,
  SlotRecord,
} from './records.ts';
import { type Place, Slots, type SlotState } from './slots.ts';
import { countLost, newSpendingState, type SpendingState } from './spending.ts';
import {
  finalSteps,
  findProviderBatch,
  listAtService,
  newProviderBatch,
  type ProviderBatch,
} from '../lane/provider-batches.ts';

/** An answer that was paid for. `images`: its pictures, by their files below images/. */
interface Take extends Place {
  isCut: boolean;
  images: readonly string[] | undefined;
}

/** The records of a journal, taken together. */
export interface Fold extends SpendingState {
  slots: Slots;
  /** Provider batches that the service may hold, by their marks. */
  providerBatches: Map<string, ProviderBatch>;
  /** Slots that provider batches hold, and the marks of these. */
  atService: Map<number, string>;
  /** The rows that the last `--redo` named, until a run has left none of them, or an answer was chosen. */
  redo: readonly string[] | undefined;
  /** The questions of slots of rows that use others, and the answers that these slots are made of. */
  links: Map<number, Pick<LinkRecord, 'asks' | 'uses'>>;
  /** All answers of the slots that have several, in the order in which they came. */
  takes: Map<number, Take[]>;
  /** The files of the pictures of the answers that count. */
  images: Map<number, readonly string[]>;
  /** Slots that may go out now, and the states before of those that went out and have no end. */
  ready: Set<number>;
  open: Map<number, SlotState>;
  run: Pick<RunStart, 'boot'> | undefined;
  /** The bytes of results.jsonl whose ends are known: all bytes up to `end`, and lines beyond it, by their offsets. */
  covered: { end: number; beyond: Map<number, number> };
}

/** Makes the fold of an empty journal. `rows`: about how many slots there will be. */
export function newFold(rows = 0): Fold {
  return {
    ...newSpendingState(),
    slots: new Slots(rows),
    providerBatches: new Map(),
    atService: new Map(),
    redo: undefined,
    links: new Map(),
    takes: new Map(),
    images: new Map(),
    ready: new Set(),
    open: new Map(),
    run: undefined,
    covered: { end: 0, beyond: new Map() },
  };
}

/** Adds a record. Throws RangeError for a record that names no slot: to pass over it could pay twice. */
export function applyRecord(record: SlotRecord, fold: Fold): void {
  switch (record.t) {
    case 'run':
      settleRun(fold, record.boot);
      fold.run = record;
      if (record.results !== undefined && record.results < fold.covered.end)
        fold.covered = { end: record.results, beyond: new Map() };
      return;
    case 'redo':
      return applyRedo(record, fold);
    case 'choose':
      settleRun(fold, record.boot);
      return applyChoice(record, fold);
    case 'ready':
      for (const name of record.slots) fold.ready.add(fold.slots.addNamed(name));
      return;
    case 'sent':
      return applySent(record, fold);
    case 'link':
      fold.links.set(fold.slots.addNamed(record.slot), { asks: record.asks, uses: record.uses });
      return;
    case 'unsent':
      return applyUnsent(record, fold);
    case 'batch':
      return applyBatchStep(record, fold);
    case 'skip':
      return cover(record, fold);
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
 * Ends the run before: nothing of it goes on. A slot that was ready and has no `sent` did not go out, as the kernel keeps all lines
 * of a process. If the machine went down since, the line of `sent` may be lost.
 */
export function settleRun(fold: Fold, boot: string | undefined): void {
  endOffline(fold);
  const isSure = boot !== undefined && fold.run?.boot === boot;
  for (const slot of [...fold.open.keys(), ...(isSure ? [] : fold.ready)]) {
    markUnknown(slot, fold);
    countLost(slot, fold);
  }
  fold.ready.clear();
  fold.open.clear();
}

/** Whether the journal has the end of a line of results.jsonl. A kill can leave out the last ones. */
export function isCovered(off: number, { covered }: Pick<Fold, 'covered'>): boolean {
  return off < covered.end || covered.beyond.has(off);
}

/** Makes a slot pending again. Its answer stays the answer of its row until a new one comes. */
export function markAgain(slot: number, { slots }: Pick<Fold, 'slots'>): void {
  // Whether it had failed, or may have been billed, is told until then.
  if (slots.stateOf(slot) === 'sent') slots.setFlag(slot, 'tried', false);
  slots.setFlag(slot, 'again');
  slots.setState(slot, 'pending');
}

/** Leaves a cut answer as it is, whose slot was made pending again in this run. */
export function unmarkCut(slot: number, { slots }: Pick<Fold, 'slots'>): void {
  slots.setFlag(slot, 'again', false);
  slots.setState(slot, 'incomplete');
}

/** No end of the last request will be known: until the user says to send it again, the answer that the slot has counts. */
function markUnknown(slot: number, { slots }: Pick<Fold, 'slots'>): void {
  slots.setFlag(slot, 'again', false);
  slots.setState(slot, 'sent');
}

function applyRedo({ rows, slots }: RedoRecord, fold: Fold): void {
  fold.redo = rows ?? fold.redo;
  for (const name of slots) markAgain(fold.slots.addNamed(name), fold);
}

function applySent({ slot: name }: SentRecord, { slots, ready, open, held }: Fold): void {
  const slot = slots.addNamed(name);
  ready.delete(slot);
  // The cost of an earlier request that got no end stays unknown, whatever comes of this one.
  held.delete(slot);
  open.set(slot, slots.stateOf(slot));
  slots.setState(slot, 'sent');
}

function applyUnsent(record: GroupRecord, fold: Fold): void {
  const { slots, ready, open, atService } = fold;
  for (const name of record.slots) {
    const slot = slots.addNamed(name);
    ready.delete(slot);
    const before = open.get(slot) ?? findBefore(slot, fold);
    if (before !== undefined) slots.setState(slot, before);
    open.delete(slot);
    atService.delete(slot);
  }
}

/** The state that a slot had when its provider batch was created. */
function findBefore(slot: number, fold: Fold): SlotState | undefined {
  const batch = findProviderBatch(slot, fold);
  return batch?.before[batch.slots.indexOf(slot)];
}

function applyEnd({ t, slot: name, off, len, images }: EndRecord, fold: Fold): void {
  const { slots } = fold;
  const slot = slots.addNamed(name);
  fold.ready.delete(slot);
  fold.open.delete(slot);
  fold.atService.delete(slot);
  cover({ off, len }, fold);
  const hasAnswer = slots.answersOf(slot) > 0;
  if (t === 'unknown') {
    markUnknown(slot, fold);
    if (!hasAnswer) slots.setPlace(slot, { off, len });
    return;
  }
  slots.setFlag(slot, 'again', false);
  slots.setFlag(slot, 'tried', t === 'failed');
  // A failure in the place of an answer leaves the answer unchanged.
  if (t === 'failed' && hasAnswer) return slots.setState(slot, slots.has(slot, 'cut') ? 'incomplete' : 'done');
  slots.setState(slot, t);
  if (t === 'failed') return slots.setPlace(slot, { off, len });
  addTake(slot, { off, len, isCut: t === 'incomplete', images }, fold);
}

function addTake(slot: number, take: Take, fold: Fold): void {
  const { images, slots, takes } = fold;
  const first = slots.placeOf(slot);
  if (slots.answersOf(slot) === 1 && first)
    takes.set(slot, [{ ...first, isCut: slots.has(slot, 'cut'), images: images.get(slot) }]);
  takes.get(slot)?.push(take);
  slots.addAnswer(slot);
  setCounting(slot, take, fold);
}

/** Makes an answer the one that counts. */
function setCounting(slot: number, take: Take, { images, slots }: Fold): void {
  slots.setPlace(slot, take);
  slots.setFlag(slot, 'cut', take.isCut);
  if (take.images) images.set(slot, take.images);
  else images.delete(slot);
}

/**
 * Makes an earlier answer count from here on; nothing is paid for that. The slot is settled, whatever came of a try to make it
 * again: it is not made again until the user says so anew. So the last `--redo` is over: the same words after a choice make again
 * all rows that they name. Other slots stay as they are.
 */
function applyChoice({ slot: name, answer }: ChooseRecord, fold: Fold): void {
  const { atService, slots, takes } = fold;
  const slot = slots.addNamed(name);
  if (answer > slots.answersOf(slot)) return;
  const take = takes.get(slot)?.[answer - 1];
  fold.redo = undefined;
  slots.choose(slot, answer);
  if (take) setCounting(slot, take, fold);
  // The service goes on with a request that it holds, and its answer will count.
  if (atService.has(slot)) return;
  slots.setFlag(slot, 'again', false);
  slots.setFlag(slot, 'tried', false);
  slots.setState(slot, slots.has(slot, 'cut') ? 'incomplete' : 'done');
}

/** Adds a line to the covered bytes. Ends can come in another order than their lines. */
function cover({ off, len }: Place, { covered }: Fold): void {
  const { beyond } = covered;
  beyond.set(off, len);
  for (let next = beyond.get(covered.end); next !== undefined; next = beyond.get(covered.end)) {
    beyond.delete(covered.end);
    covered.end += next;
  }
}

function applyBatchStep(record: BatchStep, fold: Fold): void {
  const { mark, step, slots: names = [] } = record;
  const { slots, providerBatches, atService, held } = fold;
  if (step === 'planned') {
    const planned = names.map((name) => slots.addNamed(name));
    providerBatches.set(mark, newProviderBatch(record, planned));
    return;
  }
  const known = providerBatches.get(mark);
  if (known === undefined) throw new RangeError(`no provider batch: ${mark}`);
  known.step = step;
  if (step === 'creating') {
    known.at = record.at ?? 0;
    known.before = known.slots.map((slot) => slots.stateOf(slot));
    for (const slot of known.slots) {
      slots.setState(slot, 'sent');
      atService.set(slot, mark);
      held.delete(slot);
    }
  }
  if (step === 'created') [known.batch, known.lastsMs] = [record.batch, record.lastsMs];
  if (step === 'dropped') restoreBatch(known, fold);
  if (!finalSteps.has(step)) return;
  for (const slot of listAtService(known, fold)) atService.delete(slot);
  providerBatches.delete(mark);
}

/** Gives the slots of a provider batch that does not exist, and that still wait for it, their states before. */
function restoreBatch(batch: ProviderBatch, { slots, atService }: Fold): void {
  const { mark, before } = batch;
  for (const [at, slot] of batch.slots.entries()) {
    if (atService.get(slot) !== mark) continue;
    const state = before[at];
    if (state !== undefined) slots.setState(slot, state);
    atService.delete(slot);
  }
}

/**
 * Ends the provider batches of `--offline`, whose gateway ends with its process. Nothing of them is billed: their slots have their
 * states before, and the amount that a budget holds for them is freed as for batches that were not created.
 */
export function endOffline(fold: Fold): void {
  for (const batch of fold.providerBatches.values()) {
    if (batch.plan.origin !== 'offline' || batch.step === 'planned') continue;
    restoreBatch(batch, fold);
    batch.step = 'planned';
  }
}
