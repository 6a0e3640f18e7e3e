import { type EditedRow, findEdited, markWanted } from './edited.ts';
import { assignSlots } from './assign.ts';
import { decideSlot, isMadeAgain } from './decide.ts';
import { editedError } from './edited-error.ts';
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
import { type Batch, type Job, jobProducts, type PreparedJob } from '../types.ts';
import type { ApiRequest } from '../../formats/format.ts';
import { minOf } from '../../long-lists.ts';
import type { Settings } from '../../settings/types.ts';
import type { AuthUse } from '../../formats/types.ts';
import type { AuthForm } from '../../vendors/services.ts';

/** The plan of a run, made before anything is sent. */
export interface BatchPlan {
  /** The rows of the file, and the slot of each. */
  table: RowTable;
  /** The numbers of rows of this shard, of the whole file, and of those that this run sends. */
  jobs: number;
  total: number;
  toSend: number;
  /** The number of rows that an earlier run sent, and this one sends again. */
  again: number;
  /** The number of rows whose requests were built, as their digests were not in the manifest. */
  built: number;
  /** The numbers of rows without an answer, and of rows to be made again, that are left for another run, by a limit or as nobody named them. */
  left: number;
  leftAgain: number;
  /** The number of lines that are no rows, in a stream of rows. */
  refused: number;
  /** The rows that take no place of the limit: an answer that they use is neither there nor made by this run. */
  held: readonly number[];
  /** 1 for each row that is to be sent, by its place. */
  due: Uint8Array;
  /** The rows that were edited, whether this run sends them or not. */
  edited: readonly EditedRow[];
  /** The slots of rows that stay though rows that they use are made again, by their places. */
  stays: ReadonlyMap<number, number>;
  /** The rows that this run makes again; undefined if it begins none of that. */
  redo: RedoRecord | undefined;
  /** Whether a row belongs to this shard; and the number of the shard that it belongs to, from 1. */
  isOwn(place: number): boolean;
  shardOf(place: number): number;
  /** Digests of the parts that rows share. */
  shared: Readonly<Record<string, string>>;
  /** Scheme and host of the gateway of the first row, or `offline`. */
  origin: string;
  /** The gateways of the rows, by `gatewayKey`. */
  gateways: Map<string, BatchGateway>;
  /** The rows whose requests are kept, by their places: they are not built again before they are sent. */
  ready: Map<number, { job: Job; prepared: PreparedJob }>;
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

export function emptyPlan(origin: string): BatchPlan {
  return {
    table: newRowTable(),
    jobs: 0,
    total: 0,
    toSend: 0,
    again: 0,
    built: 0,
    left: 0,
    leftAgain: 0,
    refused: 0,
    held: [],
    due: new Uint8Array(0),
    edited: [],
    stays: new Map(),
    redo: undefined,
    isOwn: () => true,
    shardOf: () => 1,
    shared: {},
    origin,
    gateways: new Map(),
    ready: new Map(),
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
  afterAll(plan: BatchPlan): Promise<NamedRows | undefined>;
}

type NamedRows = ReadonlySet<number>;

interface Planning extends PlanOptions {
  plan: BatchPlan;
  /** The rows that were read so far, by their ids. */
  index: RowIndex;
  /** The rows that use others. */
  naming: NamingRow[];
  /** The number of characters that are left for requests that are kept. */
  room: number;
}

/** The most that is kept ready: a number of jobs, and the characters of their bodies in all. Without it a short batch takes a tenth longer. */
const maxKept = { jobs: 2048, characters: 4 * 1024 * 1024 };

/**
 * Reads the table, gives each row its slot, and decides which rows are sent. Throws the errors of its callbacks, or GatewayError
 * batch-edited for edited rows.
 */
export async function planBatch(options: PlanOptions): Promise<BatchPlan> {
  const plan = emptyPlan('');
  const { rows } = options.state.manifest;
  plan.table = newRowTable(rows.size);
  const planning: Planning = { ...options, plan, index: indexRows(plan.table), naming: [], room: maxKept.characters };
  await readRows(planning);
  await resolveLinks(planning.naming, { ...options, table: plan.table });
  const named = await options.afterAll(plan);
  assignRows(planning, named);
  await judgeEdits(planning, named);
  decideRows(planning, named);
  markWanted(plan.table, options.state.slots);
  return plan;
}

async function readRows(planning: Planning): Promise<void> {
  const { jobs, onChecked, onFault, signal } = planning;
  for await (const job of jobs.read(onFault)) {
    signal.throwIfAborted();
    try {
      // To wait for each of a million jobs takes longer than to see that they have not changed.
      const reading = readRow(job, planning);
      if (reading) await reading;
    } catch (error) {
      onFault(error);
    }
    onChecked();
  }
}

/** Reads a row into the table. Returns no promise if its key is known. */
function readRow(job: Job, planning: Planning): Promise<void> | undefined {
  const { jobs } = planning;
  const settings = jobs.settingsOf(job);
  if (settings instanceof Promise) return settings.then((found) => readRowWith(job, found, planning));
  return readRowWith(job, settings, planning);
}

function readRowWith(job: Job, settings: Settings, planning: Planning): Promise<void> | undefined {
  const { jobs, plan, state } = planning;
  if (plan.total++ === 0) describeShared(job, settings, plan);
  if (job.uses) return buildRow(job, planning);
  const known = findKnown(state.manifest, jobs.digestSource(job, settings));
  // A row without an answer is built all the same, as it is most likely sent.
  if (known === undefined || state.slots.answersOf(known.first) === 0) return buildRow(job, planning);
  addGateway({ settings }, plan);
  const { id, isNumbered } = job;
  const place = addKnownRow(plan.table, { id, isNumbered, first: known.first });
  plan.table.froms[place] = known.number;
  return enterRow(job, place, planning);
}

async function buildRow(job: Job, planning: Planning): Promise<void> {
  const { jobs, plan, state } = planning;
  const { table } = plan;
  const prepared = await jobs.prepare(job);
  addGateway({ settings: prepared.settings, post: prepared.request.post }, plan);
  const { key, from } = prepared;
  const { id, line, uses } = job;
  const place = uses ? addLinkedRow(table, job) : addRow(table, { ...job, key }, state.slots);
  if (uses) planning.naming.push({ place, id, line, uses, key });
  else if (from !== undefined) table.froms[place] = numberFrom(state.manifest, from);
  plan.built++;
  planning.onBuilt(place, job, prepared);
  // After the first request that is not kept, none is: later ones would be sent before it.
  planning.room -= plan.ready.size < maxKept.jobs ? prepared.characters : Number.POSITIVE_INFINITY;
  if (uses || planning.room < 0) await prepared.close();
  else plan.ready.set(place, { job, prepared });
  await enterRow(job, place, planning);
}

function enterRow(job: Job, place: number, planning: Planning): Promise<void> | undefined {
  const { index, jobs, onDuplicate, onRow, plan } = planning;
  plan.table.products[place] = jobProducts.indexOf(jobs.productOf(job));
  onRow(job, place);
  return index.add(place) ? onDuplicate(job) : undefined;
}

/** Notes the parts that the first row shares with the others, so that an edit of them can be named. */
function describeShared(job: Job, settings: Settings, plan: BatchPlan): void {
  const { places: _, vars: __, ...values } = job.values;
  const { effort, model, format, service } = settings;
  plan.origin = getRequestOrigin(settings);
  const all = {
    ...(effort && { effort: effort }),
    ...values,
    address: plan.origin,
    model: model,
    format: format,
    service: service,
  };
  plan.shared = Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, digestText(JSON.stringify(value)).slice(0, 8)]),
  );
}

/** Gives each row its slot, and marks the rows that are made again before the rows that use them get their keys. */
function assignRows({ plan, policy, shard, state }: Planning, named: NamedRows | undefined): void {
  const { table } = plan;
  const rows = named && [...named].map((place) => describeNamed(table, place, state.slots)).toSorted();
  // An earlier run named the same rows, and left some of them.
  const goesOn = rows !== undefined && state.redo?.join() === rows.join();
  const marked: string[] = [];
  const families = shard && table.links.size > 0 ? joinFamilies(table) : undefined;
  const headOf = (place: number): number => {
    const roots = families?.rootsOf(place) ?? [place];
    return minOf(roots.map((root) => state.slots.headOf(table.slots[root] as number)));
  };
  if (shard) {
    plan.shardOf = (place) => (headOf(place) % shard.total) + 1;
    plan.isOwn = (place) => plan.shardOf(place) === shard.index;
  }
  const leavesStale = named !== undefined && !policy.acceptChanges;
  const findHad = leavesStale ? openStale(table, state.manifest.rows, state.slots) : undefined;
  const findStale = (place: number): number | undefined =>
    named?.has(place) || !plan.isOwn(place) ? undefined : findHad?.(place);
  const stays = new Map<number, number>();
  const markIfAgain = (place: number, slot: number): void => {
    if (!plan.isOwn(place) || stays.has(place)) return;
    const isFull = policy.limit !== undefined && marked.length >= policy.limit;
    const marking = {
      isNamed: named?.has(place) === true,
      goesOn,
      policy: isFull ? {} : policy,
    };
    if (!isMadeAgain(slot, marking, state)) return;
    markAgain(slot, state);
    marked.push(state.slots.nameOf(slot));
  };
  assignSlots(table, state.manifest.rows, state.slots, { stays, findStale, onSlot: markIfAgain });
  plan.stays = stays;
  noteUses(plan, state);
  const isNew = rows !== undefined && !goesOn;
  if (marked.length > 0 || isNew) plan.redo = { t: 'redo', rows: isNew ? rows : undefined, slots: marked };
  if (isNew) state.redo = rows;
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

/** Throws GatewayError batch-edited for rows that were edited, unless the user accepts that. */
async function judgeEdits(planning: Planning, named: NamedRows | undefined): Promise<void> {
  const { plan, policy, shard, state } = planning;
  plan.edited = findEdited(plan.table, state.manifest.rows, state.slots, shard && plan.isOwn);
  const leavesStale = named !== undefined && !policy.acceptChanges;
  const stopping = plan.edited.filter(({ place, isStale }) => !(leavesStale && (isStale || named.has(place))));
  if (stopping.length > 0 && !policy.acceptChanges) throw await editedError(stopping, planning);
}

/** Decides which rows are sent, in the order of the file. */
function decideRows(planning: Planning, named: NamedRows | undefined): void {
  const { plan, policy, state, onDue } = planning;
  const { table } = plan;
  const { slots } = state;
  const { limit = Number.POSITIVE_INFINITY } = policy;
  const edited = new Map(plan.edited.map((row) => [row.place, row]));
  const isMended = openMended(planning);
  plan.due = new Uint8Array(table.size);
  const held = new Set<number>();
  /** With a limit, a row takes no place of the rows that it waits for. */
  const isHeld = (place: number): boolean => policy.limit !== undefined && !areComing(place, plan, state);
  for (let place = 0; place < table.size; place++) {
    if (!plan.isOwn(place)) continue;
    plan.jobs++;
    const slot = table.slots[place] as number;
    const isAtService = state.atService.has(slot);
    const decision = decideSlot(slots.stateOf(slot), { isAtService, isNamed: isNamed(place, slot), policy });
    if (plan.stays.has(place)) continue;
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
  if (plan.toSend < limit) plan.held = [...held];
  else for (const place of held) countLeft(place);

  function isNamed(place: number, slot: number): boolean {
    if (named?.has(place)) return true;
    if (edited.has(place)) return policy.acceptChanges === true;
    // An earlier run can have begun to make a cut answer again.
    const isCut = slots.has(slot, 'cut') && policy.retry?.includes('incomplete') === true;
    return isCut || isMended(place);
  }
  function sendOrLeave(place: number): void {
    if (plan.toSend >= limit) return countLeft(place);
    plan.toSend++;
    if (wasSent(place)) plan.again++;
    plan.due[place] = 1;
    onDue(place, wasSent(place), edited.get(place));
  }
  function countLeft(place: number): void {
    if (wasSent(place)) plan.leftAgain++;
    else plan.left++;
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
function openMended({ plan: { table }, policy, state: { manifest, slots } }: Planning): (place: number) => boolean {
  if (policy.onlyNamed !== true || policy.retry?.includes('failed') !== true) return () => false;
  const before = indexRows(manifest.rows);
  return (place) => {
    const was = before.find(table.ids[place] as number);
    const had = was === undefined ? undefined : manifest.rows.slots[was];
    return had !== undefined && slots.stateOf(had) === 'failed' && !slots.has(had, 'wanted');
  };
}

/** Whether all answers that a row uses are there, or are made by this run. */
function areComing(place: number, { table, due }: BatchPlan, { slots }: Batch['state']): boolean {
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

function addGateway({ settings, post }: Pick<BatchGateway, 'settings' | 'post'>, { gateways }: BatchPlan): void {
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
