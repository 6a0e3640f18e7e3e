import { type EditedRow, findEdited, markWanted } from './edited.ts';
import { assignSlots } from './assign.ts';
import { isMadeAgain, isRetried } from './decide.ts';
import { decideRows, openRetried, type DecidedRows } from './decide-rows.ts';
import { editedError, hasOtherFlags, isEditedByFlags } from './edited-error.ts';
import { joinFamilies, type NamingRow, resolveLinks } from './links.ts';
import { openStale, openWaiting } from './stale.ts';
import {
  addKnownRow,
  addLinkedRow,
  addRow,
  describeNamed,
  indexRows,
  nameUses,
  newRowTable,
  type RowIndex,
  type RowTable,
} from './table.ts';
import { gatewayKey, getRequestOrigin } from '../gateway.ts';
import { type ApiRequest, type AuthForm, type AuthUse, digestText, minOf } from '../../library/index.ts';
import { applyRecord, markAgain, unmarkCut } from '../folder/fold.ts';
import { findKnown, numberFrom } from '../folder/manifest.ts';
import type { LinkRecord, RedoRecord } from '../folder/records.ts';
import type { BatchState } from '../folder/state.ts';
import {
  type Batch,
  type BatchPolicy,
  type Job,
  jobProducts,
  type GatewaySettings,
  type PreparedJob,
} from '../types.ts';

/** The rows of the file, and the facts of their requests. */
interface ReadRows {
  /** The rows of the file, and the slot of each once it has one. */
  table: RowTable;
  /** The number of rows of the file. */
  total: number;
  /** The number of rows whose requests were built, as their digests were not in the manifest. */
  built: number;
  /** Digests of the parts that rows share. */
  shared: Readonly<Record<string, string>>;
  /** Scheme and host of the gateway of the first row, or `offline`. */
  origin: string;
  /** The gateways of the rows, by `gatewayKey`. */
  gateways: Map<string, BatchGateway>;
}

/** The rows that belong to this run, and those that it makes again. */
interface AssignedRows {
  /** Whether a row belongs to this shard; and the number of the shard that it belongs to, from 1. */
  isOwn(place: number): boolean;
  shardOf(place: number): number;
  /** The slots of rows that stay though rows that they use are made again, by their places. */
  stays: ReadonlyMap<number, number>;
  /** Slots that this run makes again though they may have been billed. */
  unsure: ReadonlySet<number>;
}

/** The rows that are to be made again. */
interface MarkedRows {
  /** Their slots, and the places of those whose answers were cut and that nobody named. */
  slots: readonly number[];
  cut: readonly number[];
  /** The rows that `--redo` names, unless an earlier run named the same. */
  newRedo: readonly string[] | undefined;
}

/** The plan of a run, made before anything is sent. */
export interface BatchPlan extends ReadRows, AssignedRows, DecidedRows {
  /** The rows that this run makes again; undefined if it begins none of that. */
  redo: RedoRecord | undefined;
  /** The rows that were edited, whether this run sends them or not. */
  edited: readonly EditedRow[];
  /** What the slots ask that are sent for the first time, of rows that use others. */
  links: readonly LinkRecord[];
  /** The number of lines that are no rows, in a stream of rows. */
  refused: number;
}

/** Rows that this run leaves, because an earlier one sent them. */
export function sentBefore({ jobs, toSend, left, held }: BatchPlan): number {
  return jobs - toSend - left - held.length;
}

/** A gateway of some rows, and their forms of authentication. */
interface BatchGateway {
  settings: GatewaySettings;
  forms: Partial<Record<AuthUse, AuthForm>>;
  /** One of the requests to the gateway; absent if none was built. */
  post?: ApiRequest;
}

function emptyRows(table: RowTable, origin: string): ReadRows {
  return { table, total: 0, built: 0, shared: {}, origin, gateways: new Map() };
}

/** The plan of a stream of rows, which are not known before. */
export function emptyPlan(origin: string): BatchPlan {
  return {
    ...emptyRows(newRowTable(), origin),
    isOwn: () => true,
    shardOf: () => 1,
    stays: new Map(),
    unsure: new Set(),
    redo: undefined,
    due: new Uint8Array(0),
    jobs: 0,
    toSend: 0,
    again: 0,
    twice: 0,
    fresh: 0,
    first: { again: [], fresh: [] },
    left: 0,
    held: [],
    edited: [],
    links: [],
    refused: 0,
  };
}

/** The batch to plan, and callbacks that get its rows. */
interface PlanOptions extends Pick<Batch, 'host' | 'jobs' | 'state' | 'shard' | 'policy'> {
  signal: AbortSignal;
  /** Takes a mistake in the jobs, so that all are reported together; throws anything else. */
  onFault(error: unknown): void;
  /** Takes a job whose id an earlier one has. */
  onDuplicate(job: Job): Promise<void>;
  /** Gets each row with its place. */
  onRow(job: Job, place: number): void;
  /** Called after each job of the file is read. */
  onChecked(): void;
  /** Gets each request that was built, by the place of its row. */
  onBuilt(place: number, prepared: PreparedJob): void;
  /**
   * Awaited once all rows are read: throws for their mistakes. Returns the places of the rows that `--redo` names; undefined
   * without it.
   */
  afterAll(read: ReadRows): Promise<NamedRows | undefined>;
}

type NamedRows = ReadonlySet<number>;

/**
 * Reads the table, gives each row its slot, and decides which rows are sent. Throws the errors of its callbacks, or GatewayError
 * batch-edited for edited rows.
 */
export async function planBatch(options: PlanOptions): Promise<BatchPlan> {
  const read = await readRows(options);
  const { shared, table } = read;
  const named = await options.afterAll(read);
  const { assigned, marked } = assignRows(table, named, options);
  const { manifest, slots } = options.state;
  const compared = {
    hasOtherFlags: hasOtherFlags(options),
    isOwn: options.shard && assigned.isOwn,
    isSameShard: isSameShard(options.shard, manifest.header?.shard),
  };
  const find = () => {
    markWanted(table, slots);
    const findRetried = openRetried(table, options);
    const changed = findEdited(table, manifest.rows, slots, compared);
    return { changed, edited: changed.filter(({ place }) => findRetried(place) === undefined) };
  };
  const { changed, edited } = find();
  const isLeft = options.policy.onlyNamed && !isEditedByFlags({ ...options, shared });
  if (listUnaccepted(edited, named, options.policy).length > 0 && !isLeft) {
    // The user is asked for all that the flag pays for, also for the rows that use what was edited.
    assignSlots(table, manifest.rows, slots);
    throw await editedError(listUnaccepted(find().edited, named, options.policy), { ...options, shared });
  }
  const decided = decideReached(table, { ...assigned, edited, named }, marked.cut, options);
  // What was not named, or is left by a limit, waits for a run that asks for it.
  for (const { place } of listUnaccepted(changed, named, options.policy))
    if (decided.due[place] !== 1) table.edited.add(place);
  const links = listNewLinks({ table, due: decided.due }, options.state);
  const redo = describeRedo(marked, slots);
  return { ...read, ...assigned, ...decided, redo, edited, links, refused: 0 };
}

/** Decides which rows are sent. A cut answer that a limit leaves stays as it is: its row is not made again. */
function decideReached(
  table: RowTable,
  deciding: Parameters<typeof decideRows>[1],
  cut: MarkedRows['cut'],
  options: PlanOptions,
): DecidedRows {
  const decided = decideRows(table, deciding, options);
  const left = cut.filter((place) => decided.due[place] !== 1);
  for (const place of left) unmarkCut(table.slots[place] as number, options.state);
  return left.length === 0 ? decided : decideRows(table, deciding, options);
}

/** The record of the rows that are to be made again, without those that a limit leaves. */
function describeRedo(
  { newRedo: rows, slots: marked }: MarkedRows,
  slots: BatchState['slots'],
): RedoRecord | undefined {
  const names = marked.filter((slot) => slots.has(slot, 'again')).map((slot) => slots.nameOf(slot));
  return rows !== undefined || names.length > 0 ? { t: 'redo', rows, slots: names } : undefined;
}

/** Reads the rows of the file, and finds those that others use. */
async function readRows(options: PlanOptions): Promise<ReadRows> {
  const { jobs, onChecked, onFault, signal, state } = options;
  const table = newRowTable(state.manifest.rows.size);
  const reading: Reading = {
    ...options,
    ...emptyRows(table, ''),
    index: indexRows(table),
    naming: [],
  };
  for await (const job of jobs.read(onFault)) {
    signal.throwIfAborted();
    try {
      // To wait for each of a million jobs takes longer than to see that they have not changed.
      const row = readRow(job, reading);
      if (row) await row;
    } catch (error) {
      onFault(error);
    }
    onChecked();
  }
  await resolveLinks(reading.naming, { ...options, table });
  const { built, gateways, origin, shared, total } = reading;
  return { table, total, built, shared, origin, gateways };
}

/** What was read so far: it grows with each row. */
interface Reading extends PlanOptions, ReadRows {
  /** The rows by their ids. */
  index: RowIndex;
  /** The rows that use others. */
  naming: NamingRow[];
}

/** Reads a row into the table. Returns no promise if its key is known. */
function readRow(job: Job, reading: Reading): Promise<void> | undefined {
  const settings = reading.jobs.settingsOf(job);
  if (settings instanceof Promise) return settings.then((found) => readRowWith(job, found, reading));
  return readRowWith(job, settings, reading);
}

function readRowWith(job: Job, settings: GatewaySettings, reading: Reading): Promise<void> | undefined {
  const { gateways, jobs, state, table } = reading;
  if (reading.total++ === 0) {
    reading.origin = getRequestOrigin(settings);
    reading.shared = digestShared(job, settings);
  }
  if (job.uses) return buildRow(job, undefined, reading);
  const digest = jobs.digestSource(job, settings);
  const known = findKnown(state.manifest, digest);
  // A row without an answer is built all the same, as it is most likely sent.
  if (known === undefined || state.slots.answersOf(known.first) === 0) return buildRow(job, digest, reading);
  addGateway({ settings }, gateways);
  const { id, isNumbered } = job;
  const place = addKnownRow(table, { id, isNumbered, first: known.first });
  table.froms[place] = known.number;
  return enterRow(job, place, reading);
}

async function buildRow(job: Job, digest: string | undefined, reading: Reading): Promise<void> {
  const { gateways, jobs, naming, state, table } = reading;
  const prepared = await jobs.prepare(job);
  addGateway({ settings: prepared.settings, post: prepared.request.post }, gateways);
  const { key, hasOtherParts } = prepared;
  const { id, line, uses } = job;
  const place = uses ? addLinkedRow(table, job) : addRow(table, { id, isNumbered: job.isNumbered, key }, state.slots);
  if (uses) naming.push({ place, id, line, uses, key });
  else if (digest !== undefined && !hasOtherParts) table.froms[place] = numberFrom(state.manifest, digest);
  reading.built++;
  reading.onBuilt(place, prepared);
  // To keep the requests until they are sent would take memory, and spare a twentieth of the time.
  await prepared.close();
  await enterRow(job, place, reading);
}

function enterRow(job: Job, place: number, reading: Reading): Promise<void> | undefined {
  const { index, jobs, onDuplicate, onRow, table } = reading;
  table.products[place] = jobProducts.indexOf(jobs.productOf(job));
  onRow(job, place);
  return index.add(place) ? onDuplicate(job) : undefined;
}

/** Digests of the parts that the first row shares with the others, so that an edit of them can be named. */
function digestShared(job: Job, settings: GatewaySettings): ReadRows['shared'] {
  const { places: _, vars: __, ...values } = job.values;
  const { effort, model, format, service } = settings;
  const address = getRequestOrigin(settings);
  const all = { ...(effort && { effort }), ...values, address, model, format, service };
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, digestText(JSON.stringify(value)).slice(0, 8)]),
  );
}

/** Parts the rows among shards by their keys; rows that use each other go to one shard. To be asked once their slots are known. */
function partRows(
  table: RowTable,
  shard: PlanOptions['shard'],
  { slots }: Pick<BatchState, 'slots'>,
): Pick<AssignedRows, 'isOwn' | 'shardOf'> {
  if (shard === undefined) return { isOwn: () => true, shardOf: () => 1 };
  const families = table.links.size > 0 ? joinFamilies(table) : undefined;
  const shardOf = (place: number): number => {
    const roots = families?.rootsOf(place) ?? [place];
    return (minOf(roots.map((root) => slots.headOf(table.slots[root] as number))) % shard.total) + 1;
  };
  return { isOwn: (place) => shardOf(place) === shard.index, shardOf };
}

function isSameShard(one: PlanOptions['shard'], other: PlanOptions['shard']): boolean {
  return one !== undefined && one.index === other?.index && one.total === other.total;
}

/** Gives each row its slot, and marks the rows that are made again before the rows that use them get their keys. */
function assignRows(
  table: RowTable,
  named: NamedRows | undefined,
  { policy, shard, state }: PlanOptions,
): { assigned: AssignedRows; marked: MarkedRows } {
  const rows = named && [...named].map((place) => describeNamed(table, place, state.slots)).toSorted();
  // An earlier run named the same rows, and left some of them.
  const goesOn = rows !== undefined && state.redo?.join() === rows.join();
  const marked: number[] = [];
  const cut: number[] = [];
  const unsure = new Set<number>();
  const { isOwn, shardOf } = partRows(table, shard, state);
  const findHad = openStale(table, state);
  const waiting = openWaiting(table, { policy, state });
  // A row leaves its earlier answer by the user's word, and only for one that this run can get.
  const findStale = (place: number): Iterable<number> => {
    if (named?.has(place) || !isOwn(place)) return [];
    const had = findFirst(findHad(place));
    const isMeant = policy.acceptChanges || (had !== undefined && isRetried(had, policy, state));
    return isMeant && !waiting.has(place) ? [] : findHad(place);
  };
  const isAccepted = (place: number): boolean =>
    policy.acceptChanges === true && findFirst(findHad(place)) !== undefined;
  const stays = new Map<number, number>();
  const markIfAgain = (place: number, slot: number): void => {
    if (!isOwn(place) || stays.has(place)) return;
    const isNamed = named?.has(place) === true || isAccepted(place);
    if (!isMadeAgain(slot, { isNamed, goesOn, policy }, state)) return;
    const slotState = state.slots.stateOf(slot);
    if (slotState === 'sent') unsure.add(slot);
    if (slotState === 'incomplete' && !isNamed) cut.push(place);
    markAgain(slot, state);
    marked.push(slot);
  };
  const onSlot = (place: number, slot: number): void => {
    markIfAgain(place, slot);
    waiting.see(place);
  };
  assignSlots(table, state.manifest.rows, state.slots, { stays, findStale, onSlot });
  const newRedo = goesOn ? undefined : rows;
  if (newRedo) state.redo = newRedo;
  return { assigned: { isOwn, shardOf, stays, unsure }, marked: { slots: marked, cut, newRedo } };
}

/** Lists what the slots ask that are sent, and tells the state. */
function listNewLinks({ table, due }: Pick<BatchPlan, 'table' | 'due'>, state: BatchState): LinkRecord[] {
  const records: LinkRecord[] = [];
  for (const [place, { asks, uses }] of table.links) {
    const slot = table.slots[place] as number;
    if (due[place] === 0 || state.links.has(slot)) continue;
    const record: LinkRecord = { t: 'link', slot: state.slots.nameOf(slot), asks, uses: nameUses(uses, state.slots) };
    applyRecord(record, state);
    records.push(record);
  }
  return records;
}

function findFirst(slots: Iterable<number>): number | undefined {
  for (const slot of slots) return slot;
  return undefined;
}

/** Lists the rows that were edited, and that the user has not said to pay for. */
function listUnaccepted(
  edited: readonly EditedRow[],
  named: NamedRows | undefined,
  { acceptChanges }: BatchPolicy,
): readonly EditedRow[] {
  return acceptChanges ? [] : edited.filter(({ place }) => !named?.has(place));
}

function addGateway({ settings, post }: Pick<BatchGateway, 'settings' | 'post'>, gateways: ReadRows['gateways']): void {
  const key = gatewayKey(settings);
  const gateway: BatchGateway = gateways.get(key) ?? { settings, forms: {} };
  gateways.set(key, gateway);
  if (post === undefined) return;
  gateway.post ??= post;
  if (!(post.use in gateway.forms)) gateway.forms = { [post.use]: settings.auth, ...gateway.forms };
}

/**
 * Gives each row its slot once more, after a run: of equal rows one may have failed while another one has an answer too many, and
 * if a parent was not made again, the earlier answers count. Returns whether some row has another slot now.
 */
export function assignAgain(
  { stays, table }: Pick<BatchPlan, 'stays' | 'table'>,
  { slots }: Pick<BatchState, 'slots'>,
): boolean {
  const before = { ...table, slots: table.slots.slice() };
  assignSlots(table, before, slots, { stays: new Map(stays) });
  const isChanged = table.slots.some((slot, place) => slot !== before.slots[place]);
  if (isChanged) markWanted(table, slots);
  return isChanged;
}
