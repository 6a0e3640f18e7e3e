import { applyRecord, type Fold, isCovered, markAgain, newFold, settleRun } from '../../../src/batch/folder/fold.ts';
import { manifestLine, readManifestHead, readSlotName } from '../../../src/batch/folder/manifest.ts';
import type { EndRecord, SlotRecord } from '../../../src/batch/folder/records.ts';
import type { RetryWord } from '../../../src/batch/types.ts';
import { assignSlots } from '../../../src/batch/run/assign.ts';
import { decideSlot, isLeftToRedo, isMadeAgain } from '../../../src/batch/run/decide.ts';
import { findEdited } from '../../../src/batch/run/edited.ts';
import { openStale } from '../../../src/batch/run/stale.ts';
import { assignAgain } from '../../../src/batch/run/plan.ts';
import {
  addLinkedRow,
  addManifestRow,
  addRow,
  linkRow,
  newRowTable,
  type RowTable,
} from '../../../src/batch/run/table.ts';
import type { SimulatedDisk } from './disk.ts';
import type { CountingGateway, SimulatedReply } from './gateway.ts';

/** A row of the table, with what it asks. */
export interface TableRow {
  id: string;
  isNumbered: boolean;
  line: number;
  vars: { a: number; note: number };
  key: string;
  /** What the gateway is asked, without the answers that it uses. */
  base: string;
  parents: readonly string[];
}

export interface RunPolicy {
  acceptChanges?: boolean | undefined;
  retry?: readonly RetryWord[] | undefined;
  redo?: readonly string[] | undefined;
  limit?: number | undefined;
  lane: 'live' | 'flex' | 'batch';
  noWait?: boolean | undefined;
  shard?: { index: number; total: number } | undefined;
}

interface RunOptions {
  disk: SimulatedDisk;
  gateway: CountingGateway;
  rows: readonly TableRow[];
  boot: string;
  policy: RunPolicy;
  random: () => number;
  run: number;
}

/** The exit code of a run that asks before it pays. */
export class Asked extends Error {
  readonly ids: readonly string[];
  constructor(ids: readonly string[]) {
    super(`edited: ${ids.join(', ')}`);
    this.ids = ids;
  }
}

/** What provider batches have in common, of which only the origin counts here. */
const plan = { profile: '', origin: 'https://a', format: 'completions', use: 'completions', model: 'm' } as const;

const [manifestFile, journalFile, resultsFile] = ['jobs.jsonl', 'journal.jsonl', 'results.jsonl'];

/** What a row asks with the answers that it uses. */
export const askWith = (base: string, texts: readonly string[]): string => `${base} ${texts.join('|')}`;

/** Reads the journal, and the end of the results, whose last ends a kill can leave out of the journal. */
function readFolder(disk: SimulatedDisk, boot: string): { fold: Fold; lost: EndRecord[] } {
  const fold = newFold();
  for (const { text, whole } of disk.lines(journalFile)) if (whole) applyRecord(JSON.parse(text) as SlotRecord, fold);
  settleRun(fold, boot);
  const lost: EndRecord[] = [];
  for (const { text, whole, off, len } of disk.lines(resultsFile, fold.covered.end)) {
    if (!whole || isCovered(off, fold)) continue;
    const { slot, t } = JSON.parse(text) as EndRecord;
    lost.push({ t, slot, off, len });
  }
  for (const end of lost) applyRecord(end, fold);
  return { fold, lost };
}

function readManifest(disk: SimulatedDisk, { slots }: Fold): RowTable {
  const table = newRowTable();
  for (const { text } of [...disk.lines(manifestFile)].slice(1)) {
    const head = readManifestHead(text);
    if (head === undefined) throw new Error(`no row: ${text}`);
    addManifestRow(table, head, slots);
  }
  return table;
}

function readTable(rows: readonly TableRow[], { slots }: Fold): RowTable {
  const table = newRowTable();
  const places = new Map(rows.map(({ id }, place) => [id, place]));
  for (const row of rows) {
    if (row.parents.length === 0) addRow(table, row, slots);
    else addLinkedRow(table, row);
  }
  for (const [place, { key, parents }] of rows.entries())
    if (parents.length > 0)
      linkRow(table, place, { key, parents: parents.map((id) => ({ id, place: places.get(id) as number })) });
  return table;
}

function writeManifest(disk: SimulatedDisk, rows: readonly TableRow[], table: RowTable, { slots }: Fold): void {
  const lines = rows.map(({ id, isNumbered, line, vars }, place) =>
    manifestLine({
      slot: slots.nameOf(table.slots[place] as number),
      id,
      numbered: isNumbered || undefined,
      own: table.own.get(place),
      line,
      vars,
    }),
  );
  disk.replace(
    manifestFile,
    [JSON.stringify({ manifest: 1, tool: 'test', rows: rows.length }), ...lines, ''].join('\n'),
  );
}

/** One run of `batch`: each `yield` is a place where it can be killed. Returns whether all rows have answers. Throws Asked. */
export function* runBatch({ disk, gateway, rows, boot, policy, random, run }: RunOptions): Generator<string, boolean> {
  disk.cutTorn(journalFile);
  disk.cutTorn(resultsFile);
  const { fold, lost } = readFolder(disk, boot);
  const { slots } = fold;
  const before = readManifest(disk, fold);
  const table = readTable(rows, fold);
  const slotAt = (place: number): number => table.slots[place] as number;
  const { shard } = policy;
  const isOwn = (slot: number): boolean => !shard || slots.headOf(slot) % shard.total === shard.index;

  const ids = policy.redo?.toSorted();
  const goesOn = ids !== undefined && fold.redo?.join() === ids.join();
  const isNamed = (place: number): boolean => policy.redo?.includes(rows[place]?.id ?? '') === true;
  const opened: string[] = [];
  const leavesStale = policy.redo !== undefined && !policy.acceptChanges;
  const findHad = leavesStale ? openStale(table, before, slots) : undefined;
  const findStale = (place: number): number | undefined => (isNamed(place) ? undefined : findHad?.(place));
  const stays = new Map<number, number>();
  const markIfAgain = (place: number, slot: number): void => {
    if (stays.has(place)) return;
    const isFull = policy.limit !== undefined && opened.length >= policy.limit;
    if (!isOwn(slot) || !isMadeAgain(slot, { isNamed: isNamed(place), goesOn, policy: isFull ? {} : policy }, fold))
      return;
    markAgain(slot, fold);
    opened.push(slots.nameOf(slot));
  };
  assignSlots(table, before, slots, { stays, findStale, onSlot: markIfAgain });
  const edited = findEdited(table, before, slots, isOwn);
  const stopping = edited.filter(({ place, isStale }) => !(leavesStale && (isStale || isNamed(place))));
  if (stopping.length > 0 && !policy.acceptChanges)
    throw new Asked(stopping.map(({ place }) => rows[place]?.id as string));
  yield 'planned';
  writeManifest(disk, rows, table, fold);
  yield 'manifest';

  function* write(...records: SlotRecord[]): Generator<string, void> {
    disk.append(journalFile, records.map((one) => `${JSON.stringify(one)}\n`).join(''));
    yield `written ${journalFile}`;
  }
  function* record(...records: SlotRecord[]): Generator<string, void> {
    yield* write(...records);
    disk.sync(journalFile);
    for (const one of records) applyRecord(one, fold);
    yield 'synced';
  }
  // A run that was killed may have left these lines where a power cut can take them still.
  if (lost.length > 0) {
    disk.sync(resultsFile);
    yield 'synced';
  }
  const isNew = ids !== undefined && !goesOn;
  const marked: SlotRecord[] = opened.length > 0 || isNew ? [{ t: 'redo', slots: opened, ...(isNew && { ids }) }] : [];
  const start: SlotRecord = { t: 'run', schema: 'gateway-cli/batch@2', tool: 'test', boot, at: run };
  // The ends and marks are applied already.
  yield* write(...lost, start, ...marked);
  disk.sync(journalFile);
  yield 'synced';
  applyRecord(start, fold);
  if (isNew) fold.redo = ids;

  const placeOf = new Map(rows.map(({ id }, place) => [id, place]));
  const isAtService = (slot: number): boolean => fold.atService.has(slot);
  const due: number[] = [];
  for (const place of rows.keys()) {
    const slot = slotAt(place);
    if (!isOwn(slot) || stays.has(place)) continue;
    if (decideSlot(slots.stateOf(slot), { isAtService: isAtService(slot), policy }) === 'send') due.push(place);
  }
  function* end(
    slot: number,
    { t, text, payment }: SimulatedReply,
    row: TableRow | undefined,
  ): Generator<string, void> {
    const name = slots.nameOf(slot);
    const document = { id: row?.id, vars: row?.vars, text, asked: payment?.asked };
    const line = `${JSON.stringify({ slot: name, t, ...document })}\n`;
    const off = disk.append(resultsFile, line);
    const place = { off, len: line.length };
    if (payment) payment.result = place;
    yield `written ${resultsFile}`;
    disk.sync(resultsFile);
    yield 'synced';
    yield* record({ t, slot: name, ...place });
  }
  const textsOf = (row: TableRow): string[] =>
    row.parents.map((id) => {
      const { off, len } = slots.placeOf(slotAt(placeOf.get(id) as number)) ?? { off: 0, len: 0 };
      return (JSON.parse(disk.read(resultsFile, off, len)) as { text: string }).text;
    });
  // Exactly the answer that its key names: where that fails to come, the earlier one is not it.
  const isReady = (place: number): boolean =>
    (table.links.get(place)?.uses ?? []).every(
      ({ slot, generation }) =>
        ['done', 'incomplete'].includes(slots.stateOf(slot)) && slots.countingOf(slot) === generation,
    );
  const askedBy = (row: TableRow): string => askWith(row.base, textsOf(row));

  function* sendOne(place: number): Generator<string, void> {
    const row = rows[place] as TableRow;
    const sent: SlotRecord = { t: 'sent', slot: slots.nameOf(slotAt(place)), id: row.id };
    yield* write(sent);
    applyRecord(sent, fold);
    const reply = gateway.pay(askedBy(row), run);
    yield 'answered';
    yield* end(slotAt(place), reply, row);
  }
  function* sendLive(group: readonly number[]): Generator<string, void> {
    yield* record({ t: 'ready', slots: group.map((place) => slots.nameOf(slotAt(place))) });
    const flying = group.map(sendOne);
    while (flying.length > 0) {
      const at = Math.floor(random() * flying.length);
      const step = (flying[at] as Generator<string, void>).next();
      if (step.done) flying.splice(at, 1);
      else yield step.value;
    }
  }
  function* collect(): Generator<string, void> {
    const rowAt = new Map(rows.map((row, place) => [slotAt(place), row]));
    for (const { mark, step, batch, slots: held } of fold.providerBatches.values()) {
      if (step === 'planned') {
        yield* record({ t: 'batch', mark, step: 'dropped' });
        continue;
      }
      const found = gateway.batches.find((one) => one.id === batch || one.mark === mark);
      if (!found) {
        if (!policy.retry?.includes('unknown')) continue;
        yield* record({ t: 'batch', mark, step: 'lost' });
        for (const slot of held) {
          const place = table.slots.subarray(0, table.size).indexOf(slot);
          if (place >= 0 && isOwn(slot) && slots.stateOf(slot) === 'sent') due.push(place);
        }
        continue;
      }
      if (step === 'creating') yield* record({ t: 'batch', mark, step: 'created', batch: found.id });
      // By slot alone: whether a row still wants it, or another one does, makes no difference.
      for (const { name, ...reply } of found.results) {
        const slot = slots.findNamed(name);
        if (isAtService(slot)) yield* end(slot, reply, rowAt.get(slot));
      }
      yield* record({ t: 'batch', mark, step: 'ended' });
    }
  }
  function* submit(group: readonly number[]): Generator<string, void> {
    const mark = `gw${run}-${Math.floor(random() * 1e9)}`;
    const names = group.map((place) => slots.nameOf(slotAt(place)));
    yield* record({ t: 'batch', mark, step: 'planned', slots: names, plan });
    yield* record({ t: 'batch', mark, step: 'creating' });
    const entries = group.map((place, at) => ({ name: names[at] as string, asked: askedBy(rows[place] as TableRow) }));
    gateway.createBatch(mark, entries, run);
    yield 'created';
    if (!policy.noWait) yield* collect();
  }
  yield* collect();
  for (let left = policy.limit ?? Number.POSITIVE_INFINITY; left > 0;) {
    const group = due.filter(isReady).slice(0, Math.min(left, policy.lane === 'batch' ? 100 : 3));
    if (group.length === 0) break;
    for (const one of group) due.splice(due.indexOf(one), 1);
    left -= group.length;
    yield* policy.lane === 'batch' ? submit(group) : sendLive(group);
  }
  const isLeft = (id: string): boolean => {
    const place = placeOf.get(id);
    return place !== undefined && isOwn(slotAt(place)) && isLeftToRedo(slotAt(place), fold);
  };
  if (fold.redo && !fold.redo.some(isLeft)) yield* record({ t: 'end' });
  // Of equal rows one may have got the answer that another one waited for; and where a parent was not made again, the earlier answers count.
  if (assignAgain({ stays, table }, fold)) {
    writeManifest(disk, rows, table, fold);
    yield 'manifest';
  }
  const areDone = (slot: number): boolean => ['done', 'incomplete'].includes(slots.stateOf(slot));
  return rows.every((_, place) => !isOwn(slotAt(place)) || areDone(slotAt(place)));
}

/** A command that makes another answer of a row count. Returns its text, and those of all that was paid for the row, if it has that answer. */
export function choose(
  disk: SimulatedDisk,
  boot: string,
  { place, answer }: { place: number; answer: number },
): { chosen: string; paid: string[] } | undefined {
  const { fold, lost } = readFolder(disk, boot);
  const line = [...disk.lines(manifestFile)][place + 1];
  if (line === undefined) return undefined;
  const name = readSlotName(line.text);
  const slot = fold.slots.findNamed(name);
  const isThere = answer <= fold.slots.answersOf(slot);
  const take = isThere && (fold.takes.get(slot)?.[answer - 1] ?? fold.slots.placeOf(slot));
  if (!take || fold.slots.stateOf(slot) === 'sent') return undefined;
  disk.cutTorn(journalFile);
  disk.cutTorn(resultsFile);
  disk.sync(resultsFile);
  const records = [...lost, { t: 'choose', slot: name, answer }];
  disk.append(journalFile, records.map((one) => `${JSON.stringify(one)}\n`).join(''));
  disk.sync(journalFile);
  const textOf = (text: string): string => (JSON.parse(text) as { text: string }).text;
  const lines = [...disk.lines(resultsFile)].filter(({ text, whole }) => whole && readSlotName(text) === name);
  return {
    chosen: textOf(disk.read(resultsFile, take.off, take.len)),
    paid: lines.map(({ text }) => textOf(text)),
  };
}

export interface ReportedRow {
  id: string;
  vars: unknown;
  state: string;
  document: { text?: string; asked?: string } | undefined;
}

/** The report of a folder, or of those of all shards: the rows of one manifest with the answers of all. */
export function report(disks: readonly SimulatedDisk[], boot: string): ReportedRow[] {
  const folds = disks.map((disk) => readFolder(disk, boot).fold);
  const manifests = disks.map((disk) => [...disk.lines(manifestFile)].slice(1).map(({ text }) => text));
  const lines = manifests.find((all) => all.length > 0) ?? [];
  const keysOf = (all: readonly string[]): string => all.map((text) => readSlotName(text).slice(0, 32)).join();
  const isSame = manifests.map((all) => keysOf(all) === keysOf(lines));
  const numbers = new Map<string, number>();
  return lines.map((text, place) => {
    const { id, vars } = JSON.parse(text) as { id: string; vars: unknown };
    // Which of equal rows has which answer is known in the folder of its shard alone; if that has another table yet, any of them will do.
    const key = readSlotName(text).slice(0, 32);
    const owner = Number.parseInt(key.slice(0, 8), 16) % disks.length;
    const number = numbers.get(key) ?? 1;
    numbers.set(key, number + 1);
    const name = isSame[owner]
      ? readSlotName(manifests[owner]?.[place] as string)
      : number === 1
        ? key
        : `${key}-${number}`;
    let row: ReportedRow = { id, vars, state: 'pending', document: undefined };
    for (const [at, { slots }] of folds.entries()) {
      const slot = slots.findNamed(name);
      if (slot < 0) continue;
      const found = slots.placeOf(slot);
      const document =
        found && (JSON.parse(disks[at]?.read(resultsFile, found.off, found.len) as string) as ReportedRow['document']);
      const state = slots.stateOf(slot);
      if (document || state !== 'pending') row = { id, vars, state, document };
    }
    return row;
  });
}
