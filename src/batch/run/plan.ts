import { type EditedRow, findEdited, markEdited, markWanted } from './edited.ts';
import { assignSlots } from './assign.ts';
import { decideSlot, isMadeAgain } from './decide.ts';
import { editedError, hasOtherFlags, isEditedByFlags } from './edited-error.ts';
import { joinFamilies, type NamingRow, resolveLinks } from './links.ts';
import { openStale } from './stale.ts';
import {
  addKnownRow,
  addLinkedRow,
  addRow,
  describeNamed,
  indexRows,
  nameUse,
  newRowTable,
  type RowIndex,
  type RowTable,
} from './table.ts';
import { gatewayKey, getRequestOrigin } from '../gateway.ts';
import { digestText } from '../../request-key.ts';
import { markAgain } from '../folder/fold.ts';
import { findKnown, numberFrom } from '../folder/manifest.ts';
import type { RedoRecord } from '../folder/records.ts';
import type { BatchState } from '../folder/state.ts';
import { type Batch, type BatchPolicy, type Job, jobProducts, type PreparedJob } from '../types.ts';
import type { ApiRequest } from '../../formats/format.ts';
import { minOf } from '../../long-lists.ts';
import type { Settings } from '../../settings/types.ts';
import type { AuthUse } from '../../formats/types.ts';
import type { AuthForm } from '../../vendors/services.ts';

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
  /** The rows whose requests are kept, by their places: they are not built again before they are sent. */
  ready: Map<number, { job: Job; prepared: PreparedJob }>;
}

/** The rows that belong to this run, and those that it makes again. */
interface AssignedRows {
  /** Whether a row belongs to this shard; and the number of the shard that it belongs to, from 1. */
  isOwn(place: number): boolean;
  shardOf(place: number): number;
  /** The slots of rows that stay though rows that they use are made again, by their places. */
  stays: ReadonlyMap<number, number>;
  /** The rows that this run makes again; undefined if it begins none of that. */
  redo: RedoRecord | undefined;
}

/** The rows that are sent, and those that are left. */
interface DecidedRows {
  /** 1 for each row that is to be sent, by its place. */
  due: Uint8Array;
  /** The numbers of rows of this shard, and of those that this run sends. */
  jobs: number;
  toSend: number;
  /** The number of rows that an earlier run sent, and this one sends again. */
  again: number;
  /** The numbers of rows without an answer, and of rows to be made again, that are left for another run, by a limit or as nobody named them. */
  left: number;
  leftAgain: number;
  /** The rows that take no place of the limit: an answer that they use is neither there nor made by this run. */
  held: readonly number[];
}

/** The plan of a run, made before anything is sent. */
export interface BatchPlan extends ReadRows, AssignedRows, DecidedRows {
  /** The rows that were edited, whether this run sends them or not. */
  edited: readonly EditedRow[];
  /** The places of edited rows that this run leaves, as it sends only what was named: the next run asks for them. */
  unaccepted: readonly number[];
  /** The number of lines that are no rows, in a stream of rows. */
  refused: number;
}

/** Rows that this run leaves, because an earlier one sent them. */
export function sentBefore({ jobs, toSend, left }: BatchPlan): number {
  return jobs - toSend - left;
}

/** A gateway of some rows, and their forms of authentication. */
interface BatchGateway {
  settings: Settings;
  forms: Partial<Record<AuthUse, AuthForm>>;
  /** One of the requests to the gateway; absent if none was built. */
  post?: ApiRequest;
}

function emptyRows(table: RowTable, origin: string): ReadRows {
  return { table, total: 0, built: 0, shared: {}, origin, gateways: new Map(), ready: new Map() };
}

/** The plan of a stream of rows, which are not known before. */
export function emptyPlan(origin: string): BatchPlan {
  return {
    ...emptyRows(newRowTable(), origin),
    isOwn: () => true,
    shardOf: () => 1,
    stays: new Map(),
    redo: undefined,
    due: new Uint8Array(0),
    jobs: 0,
    toSend: 0,
    again: 0,
    left: 0,
    leftAgain: 0,
    held: [],
    edited: [],
    unaccepted: [],
    refused: 0,
  };
}

/** The batch to plan, and callbacks that get its rows. */
export interface PlanOptions extends Pick<Batch, 'host' | 'jobs' | 'state' | 'shard' | 'policy'> {
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
  onBuilt(place: number, job: Job, prepared: PreparedJob): void;
  /** Gets the place of each row that this run sends, whether it was sent before, and whether it was edited. */
  onDue(place: number, isAgain: boolean, edited: EditedRow | undefined): void;
  /**
   * Awaited once all rows are read: throws for their mistakes. Returns the places of the rows that `--redo` names; undefined
   * without it.
   */
  afterAll(read: ReadRows): Promise<NamedRows | undefined>;
}

type NamedRows = ReadonlySet<number>;

/** The most that is kept ready: a number of jobs, and the characters of their bodies in all. Without it a short batch takes a tenth longer. */
const maxKept = { jobs: 2048, characters: 4 * 1024 * 1024 };

/**
 * Reads the table, gives each row its slot, and decides which rows are sent. Throws the errors of its callbacks, or GatewayError
 * batch-edited for edited rows.
 */
export async function planBatch(options: PlanOptions): Promise<BatchPlan> {
  const read = await readRows(options);
  const { shared, table } = read;
  const named = await options.afterAll(read);
  const assigned = assignRows(table, named, options);
  const { manifest, slots } = options.state;
  const compared = { hasOtherFlags: hasOtherFlags(options), isOwn: options.shard && assigned.isOwn };
  const find = (): EditedRow[] => findEdited(table, manifest.rows, slots, compared);
  const edited = find();
  const unaccepted = listUnaccepted(edited, named, options.policy);
  const isLeft = options.policy.onlyNamed && !isEditedByFlags({ ...options, shared });
  if (unaccepted.length > 0 && !isLeft) {
    // The user is asked for all that the flag pays for, also for the rows that use what was edited.
    assignSlots(table, manifest.rows, slots);
    throw await editedError(listUnaccepted(find(), named, options.policy), { ...options, shared });
  }
  const decided = decideRows(table, { ...assigned, edited, named }, options);
  markWanted(table, slots);
  markEdited(unaccepted, table, slots);
  return { ...read, ...assigned, ...decided, edited, unaccepted, refused: 0 };
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
    room: maxKept.characters,
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
  const { built, gateways, origin, ready, shared, total } = reading;
  return { table, total, built, shared, origin, gateways, ready };
}

/** What was read so far: it grows with each row. */
interface Reading extends PlanOptions, ReadRows {
  /** The rows by their ids. */
  index: RowIndex;
  /** The rows that use others. */
  naming: NamingRow[];
  /** The number of characters that are left for requests that are kept. */
  room: number;
}

/** Reads a row into the table. Returns no promise if its key is known. */
function readRow(job: Job, reading: Reading): Promise<void> | undefined {
  const settings = reading.jobs.settingsOf(job);
  if (settings instanceof Promise) return settings.then((found) => readRowWith(job, found, reading));
  return readRowWith(job, settings, reading);
}

function readRowWith(job: Job, settings: Settings, reading: Reading): Promise<void> | undefined {
  const { gateways, jobs, state, table } = reading;
  if (reading.total++ === 0) {
    reading.origin = getRequestOrigin(settings);
    reading.shared = digestShared(job, settings);
  }
  if (job.uses) return buildRow(job, reading);
  const known = findKnown(state.manifest, jobs.digestSource(job, settings));
  // A row without an answer is built all the same, as it is most likely sent.
  if (known === undefined || state.slots.answersOf(known.first) === 0) return buildRow(job, reading);
  addGateway({ settings }, gateways);
  const { id, isNumbered } = job;
  const place = addKnownRow(table, { id, isNumbered, first: known.first });
  table.froms[place] = known.number;
  return enterRow(job, place, reading);
}

async function buildRow(job: Job, reading: Reading): Promise<void> {
  const { gateways, jobs, naming, ready, state, table } = reading;
  const prepared = await jobs.prepare(job);
  addGateway({ settings: prepared.settings, post: prepared.request.post }, gateways);
  const { key, from } = prepared;
  const { id, line, uses } = job;
  const place = uses ? addLinkedRow(table, job) : addRow(table, { ...job, key }, state.slots);
  if (uses) naming.push({ place, id, line, uses, key });
  else if (from !== undefined) table.froms[place] = numberFrom(state.manifest, from);
  reading.built++;
  reading.onBuilt(place, job, prepared);
  // After the first request that is not kept, none is: later ones would be sent before it.
  reading.room -= ready.size < maxKept.jobs ? prepared.characters : Number.POSITIVE_INFINITY;
  if (uses || reading.room < 0) await prepared.close();
  else ready.set(place, { job, prepared });
  await enterRow(job, place, reading);
}

function enterRow(job: Job, place: number, reading: Reading): Promise<void> | undefined {
  const { index, jobs, onDuplicate, onRow, table } = reading;
  table.products[place] = jobProducts.indexOf(jobs.productOf(job));
  onRow(job, place);
  return index.add(place) ? onDuplicate(job) : undefined;
}

/** Digests of the parts that the first row shares with the others, so that an edit of them can be named. */
function digestShared(job: Job, settings: Settings): ReadRows['shared'] {
  const { places: _, vars: __, ...values } = job.values;
  const { effort, model, format, service } = settings;
  const address = getRequestOrigin(settings);
  const all = { ...(effort && { effort }), ...values, address, model, format, service };
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, digestText(JSON.stringify(value)).slice(0, 8)]),
  );
}

/** Gives each row its slot, and marks the rows that are made again before the rows that use them get their keys. */
function assignRows(
  table: RowTable,
  named: NamedRows | undefined,
  { policy, shard, state }: PlanOptions,
): AssignedRows {
  const rows = named && [...named].map((place) => describeNamed(table, place, state.slots)).toSorted();
  // An earlier run named the same rows, and left some of them.
  const goesOn = rows !== undefined && state.redo?.join() === rows.join();
  const marked: string[] = [];
  const families = shard && table.links.size > 0 ? joinFamilies(table) : undefined;
  const headOf = (place: number): number => {
    const roots = families?.rootsOf(place) ?? [place];
    return minOf(roots.map((root) => state.slots.headOf(table.slots[root] as number)));
  };
  const shardOf = (place: number): number => (shard === undefined ? 1 : (headOf(place) % shard.total) + 1);
  const isOwn = (place: number): boolean => shard === undefined || shardOf(place) === shard.index;
  const findHad = !policy.acceptChanges ? openStale(table, state.manifest.rows, state.slots) : undefined;
  const findStale = (place: number): number | undefined =>
    named?.has(place) || !isOwn(place) ? undefined : findHad?.(place);
  const stays = new Map<number, number>();
  const markIfAgain = (place: number, slot: number): void => {
    if (!isOwn(place) || stays.has(place)) return;
    const isFull = policy.limit !== undefined && marked.length >= policy.limit;
    const marking = { isNamed: named?.has(place) === true, goesOn, policy: isFull ? {} : policy };
    if (!isMadeAgain(slot, marking, state)) return;
    markAgain(slot, state);
    marked.push(state.slots.nameOf(slot));
  };
  assignSlots(table, state.manifest.rows, state.slots, { stays, findStale, onSlot: markIfAgain });
  noteUses({ stays, table }, state);
  const isNew = rows !== undefined && !goesOn;
  if (isNew) state.redo = rows;
  const isRecorded = marked.length > 0 || isNew;
  return {
    isOwn,
    shardOf,
    stays,
    redo: isRecorded ? { t: 'redo', rows: isNew ? rows : undefined, slots: marked } : undefined,
  };
}

/** Notes which answers are used by rows that ask with them. What is known of a row that stays is older. */
function noteUses(
  { stays, table }: Pick<BatchPlan, 'stays' | 'table'>,
  { manifest, slots }: Pick<BatchState, 'manifest' | 'slots'>,
): void {
  for (const [place, { uses }] of table.links)
    if (!stays.has(place))
      manifest.uses.set(table.slots[place] as number, uses.map((use) => nameUse(use, slots)).join(' '));
}

/** Lists the places of rows that were edited, and that the user has not said to pay for. */
function listUnaccepted(
  edited: readonly EditedRow[],
  named: NamedRows | undefined,
  { acceptChanges }: BatchPolicy,
): number[] {
  if (acceptChanges) return [];
  return edited.map(({ place }) => place).filter((place) => !named?.has(place));
}

interface Deciding extends AssignedRows {
  edited: readonly EditedRow[];
  named: NamedRows | undefined;
}

/** Decides which rows are sent, in the order of the file. */
function decideRows(table: RowTable, { edited, isOwn, named, stays }: Deciding, options: PlanOptions): DecidedRows {
  const { policy, state, onDue } = options;
  const { slots } = state;
  const { limit = Number.POSITIVE_INFINITY } = policy;
  const editedAt = new Map(edited.map((row) => [row.place, row]));
  const isMended = openMended(table, options);
  const due = new Uint8Array(table.size);
  const held = new Set<number>();
  const counts = { jobs: 0, toSend: 0, again: 0, left: 0, leftAgain: 0 };
  /** With a limit, a row takes no place of the rows that it waits for. */
  const isHeld = (place: number): boolean => policy.limit !== undefined && !areComing(place, { table, due }, state);
  for (let place = 0; place < table.size; place++) {
    if (!isOwn(place)) continue;
    counts.jobs++;
    const slot = table.slots[place] as number;
    const isAtService = state.atService.has(slot);
    const decision = decideSlot(slots.stateOf(slot), { isAtService, isNamed: isNamed(place, slot), policy });
    if (stays.has(place)) continue;
    if (decision === 'later') countLeft(place);
    if (decision !== 'send') continue;
    if (isHeld(place)) held.add(place);
    else sendOrLeave(place);
  }
  // The rows that a held row uses can come after it in the file, but not in the levels.
  for (const place of held.size > 0 ? table.levels.flat() : []) {
    if (!held.has(place) || isHeld(place)) continue;
    held.delete(place);
    sendOrLeave(place);
  }
  const isFull = counts.toSend >= limit;
  if (isFull) for (const place of held) countLeft(place);
  return { ...counts, due, held: isFull ? [] : [...held] };

  function isNamed(place: number, slot: number): boolean {
    if (named?.has(place)) return true;
    if (editedAt.has(place)) return policy.acceptChanges === true;
    // An earlier run can have begun to make a cut answer again.
    const isCut = slots.has(slot, 'cut') && policy.retry?.includes('incomplete') === true;
    return isCut || isMended(place);
  }
  function sendOrLeave(place: number): void {
    if (counts.toSend >= limit) return countLeft(place);
    counts.toSend++;
    if (wasSent(place)) counts.again++;
    due[place] = 1;
    onDue(place, wasSent(place), editedAt.get(place));
  }
  function countLeft(place: number): void {
    if (wasSent(place)) counts.leftAgain++;
    else counts.left++;
  }
  function wasSent(place: number): boolean {
    const slot = table.slots[place] as number;
    return slots.answersOf(slot) > 0 || slots.stateOf(slot) !== 'pending';
  }
}

/**
 * Finds rows that failed and were edited since. They ask something new, but who mends a row and types `batch retry` means that row.
 * To be asked once the wanted slots are marked.
 */
function openMended(table: RowTable, { policy, state: { manifest, slots } }: PlanOptions): (place: number) => boolean {
  if (policy.onlyNamed !== true || policy.retry?.includes('failed') !== true) return () => false;
  const before = indexRows(manifest.rows);
  const known = new Set(manifest.rows.slots.subarray(0, manifest.rows.size));
  return (place) => {
    if (known.has(table.slots[place] as number)) return false;
    const was = before.find(table.ids[place] as number);
    const had = was === undefined ? undefined : manifest.rows.slots[was];
    return had !== undefined && slots.stateOf(had) === 'failed' && !slots.has(had, 'wanted');
  };
}

/** Whether all answers that a row uses are there, or are made by this run. */
function areComing(
  place: number,
  { table, due }: Pick<BatchPlan, 'table' | 'due'>,
  { slots }: Batch['state'],
): boolean {
  const { uses = [], parents = [] } = table.links.get(place) ?? {};
  return uses.every(({ slot, generation }, at) => {
    if (due[parents[at]?.place as number] === 1) return true;
    return ['done', 'incomplete'].includes(slots.stateOf(slot)) && slots.countingOf(slot) === generation;
  });
}

/** Closes the requests that were built and are not sent. */
export async function closeUnsent({ ready, due }: BatchPlan): Promise<void> {
  for (const [place, { prepared }] of ready) {
    if (due[place] === 1) continue;
    ready.delete(place);
    await prepared.close();
  }
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
  state: Pick<BatchState, 'manifest' | 'slots'>,
): boolean {
  const { slots } = state;
  const before = { ...table, slots: table.slots.slice() };
  assignSlots(table, before, slots, { stays: new Map(stays) });
  noteUses({ stays, table }, state);
  const isChanged = table.slots.some((slot, place) => slot !== before.slots[place]);
  if (isChanged) markWanted(table, slots);
  return isChanged;
}
