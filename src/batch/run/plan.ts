import { addIdHash, hashId, toHex, type IdHash, isInShard } from '../digest.ts';
import { gatewayKey, getRequestOrigin } from '../gateway.ts';
import type { Batch, BatchPolicy, Job, JobState, MovedRecord, PreparedJob, ReadyJob, RunRecord } from '../types.ts';
import type { ApiRequest } from '../../formats/format.ts';
import { GatewayError } from '../../errors.ts';
import { type JobIndex, keepEarlier, markRemoved, renameJob } from '../folder/state.ts';
import { findKnown, type Stray, findIdNumber } from './known-by.ts';
import { readyJob } from './queue.ts';
import type { Settings } from '../../settings/types.ts';
import type { AuthUse } from '../../formats/types.ts';
import type { AuthForm } from '../../vendors/services.ts';

/** What a run will do, found out before anything is sent. The index of the journal marks the jobs to send. */
export interface BatchPlan {
  /** Jobs of this shard, of the whole file, and those that this run sends. */
  jobs: number;
  total: number;
  toSend: number;
  /** Jobs that an earlier run sent, and this one sends again. */
  again: number;
  /** Jobs that were never sent, and that the limit leaves for another run. */
  left: number;
  /** Jobs that were to be sent again, and that the limit leaves as they are. */
  leftAgain: number;
  /** Jobs of the journal that the file does not name any more. */
  removed: string[];
  /** Jobs of the journal that have another place in the file now, or another id; and how many have another number. */
  moves: Omit<MovedRecord, 'at'>[];
  moved: number;
  /** The ids of the jobs whose results a job uses, by its id. */
  parents: Map<string, string[]>;
  /** A sum over all ids of the file. */
  list: string;
  /** Scheme and host of the gateway of most jobs, or `offline`: that of the folder, else that of the file's first job. */
  origin: string;
  /** By `gatewayKey`. */
  gateways: Map<string, BatchGateway>;
  /** The first jobs to send, in the order of the file, by their ids: they are not read again to be sent. */
  ready: Map<string, ReadyJob>;
  /** Rows of jobs that were edited while the service has them. */
  editedAtService: Set<number>;
  /** Rows of jobs that were edited, and are not sent: their results are those of the requests before. */
  leftEdited: Set<number>;
  /** Those of them that keep what they made of a result which this run makes again with others that use it. */
  leftStale: readonly string[];
}

/** Jobs that this run leaves, because an earlier one sent them. */
export function sentBefore({ jobs, toSend, left }: BatchPlan): number {
  return jobs - toSend - left;
}

/** A gateway that jobs are sent to, and their forms of authentication. */
interface BatchGateway {
  settings: Settings;
  forms: Partial<Record<AuthUse, AuthForm>>;
  /** One of its requests; absent if none was built. */
  post?: ApiRequest;
}

export function emptyPlan(origin: string): BatchPlan {
  const counts = { jobs: 0, total: 0, toSend: 0, again: 0, left: 0, leftAgain: 0 };
  return {
    ...counts,
    removed: [],
    moves: [],
    moved: 0,
    parents: new Map(),
    list: '',
    origin,
    gateways: new Map(),
    ready: new Map(),
    leftEdited: new Set(),
    editedAtService: new Set(),
    leftStale: [],
  };
}

/** What is planned: a job of this shard. */
export interface PlannedJob {
  job: Job;
  /** Absent for a job that is not sent, and that was not built: it is as it was. */
  prepared: PreparedJob | undefined;
  decision: ReturnType<typeof decide>;
  /** It was sent with another request before. */
  edited: { mayBeBilled: boolean } | undefined;
}

/** What those who plan a batch say about its jobs. */
export interface PlanOptions extends Pick<Batch, 'jobs' | 'state' | 'shard' | 'policy'> {
  signal: AbortSignal;
  /** Takes a mistake in the jobs, so that all are reported together; throws anything else. */
  onFault(error: unknown): void;
  /** Takes a job whose id an earlier one has. */
  onDuplicate(job: Job): Promise<void>;
  /** Whether a job is sent again whatever became of it. */
  isRedone?: ((job: Job, row: number) => boolean) | undefined;
  onPlanned(planned: PlannedJob): void;
  /** All jobs are read again, known by other ids: what was planned does not count. */
  onAgain(): void;
  /** The name of the text of a job that makes it an earlier request, but for the line break at its end. */
  findLineBreak(job: Job, earlier: { request: string; origin: string }): Promise<string | undefined>;
  /** Called after each job of the file. */
  onChecked(): void;
  /** Awaited once all are read: throws for what is wrong with them. */
  afterAll(plan: BatchPlan): Promise<void>;
}

interface Planning extends PlanOptions {
  plan: BatchPlan;
  sum: IdHash;
  /**
   * The first edited jobs that are not sent, how many there are, whether all of them failed before or used a result that is older
   * than that of now, and the text whose last line break is all that was changed.
   */
  changed: { ids: string[]; jobs: number; areFailed: boolean; areStale: boolean; lineBreakOf: string | undefined };
  /** Jobs that used a result which is older than that of now, and nothing else of them was changed. */
  stale: Set<string>;
  /** Rows of jobs that are sent again whatever became of them. */
  redone: Set<number>;
  /** Number of jobs that the folder knows, and those of the file that it does not know so. */
  known: number;
  strays: Stray[] | undefined;
  /** The number of some job is that of another request. */
  hasOther: boolean;
  previous: Job | undefined;
  /** Whether jobs that use results of others used an older one than there is, by their rows. */
  older: Map<number, Promise<boolean>>;
  /** The origins of all jobs of the file. */
  origins: Set<string>;
  /** Characters that the next jobs which are kept ready may have. */
  room: number;
}

/** What is kept ready at most: jobs, and characters of their bodies in all. Without it a short batch takes a tenth longer. */
const maxKept = { jobs: 2048, characters: 4 * 1024 * 1024 };

/** At most this many ids of edited jobs are listed. */
const maxNamed = 5;

/**
 * Checks every job and decides what is sent. Throws what its callbacks throw, or GatewayError batch-locked where the folder
 * belongs to another gateway or shard, or jobs were edited.
 */
export async function planBatch(options: PlanOptions): Promise<BatchPlan> {
  const { jobs, state, shard } = options;
  const before = state.index.remember();
  let planning = await readJobs(options);
  const readAgain = async (strays?: Stray[]): Promise<void> => {
    for (const { prepared } of planning.plan.ready.values()) await prepared.close();
    options.onAgain();
    before.restore();
    planning = await readJobs(options, strays);
  };
  // Strays are kept only where there can be any: the jobs that were not sent yet may be a million.
  if (mayMove(planning, before)) await readAgain([]);
  const moves = findMoves(planning, before);
  if (moves) {
    await readAgain();
    planning.plan.moves.unshift(...moves);
  }
  const { changed, known, origins, plan } = planning;
  plan.list = toHex(planning.sum);
  await options.afterAll(plan);
  plan.removed = [...state.index.ids()].filter((_, row) => !state.index.has(row, 'inFile'));
  markRemoved(state, plan.removed);
  requireMatch(state.run, { origin: origins.has(plan.origin) ? plan.origin : [...origins].join(', '), shard });
  if (known > 0 && plan.removed.length === known)
    throw new GatewayError('batch-locked', `the folder holds other jobs: none of ${jobs.name} is among them`, {
      hint: 'name another folder with -o',
      sent: 'no',
    });
  if (changed.jobs > 0 && !areChangesChosen(planning)) throw changedError(changed.ids, changed.jobs, changed);
  plan.leftStale = [...planning.stale];
  return plan;
}

/**
 * Whether all jobs that were changed use a result which is made again together with some that use it: who named those has chosen among
 * them, and the others stay as they are.
 */
function areChangesChosen({ changed, plan, redone, stale, state: { index } }: Planning): boolean {
  const chosen = new Set<string>();
  for (const [id, parents] of plan.parents)
    if (redone.has(index.find(id)))
      for (const parent of parents) if (redone.has(index.find(parent))) chosen.add(parent);
  const isAsBefore = (id: string, parent: string): boolean => {
    const at = index.find(parent);
    return !index.has(at, 'toSend') && index.turnOf(at) <= index.turnOf(index.find(id));
  };
  const areAll = (id: string): boolean =>
    plan.parents.get(id)?.every((parent) => chosen.has(parent) || stale.has(parent) || isAsBefore(id, parent)) === true;
  return stale.size === changed.jobs && [...stale].every(areAll);
}

/** Reads all jobs once, and decides what each is. */
async function readJobs(options: PlanOptions, strays?: Stray[]): Promise<Planning> {
  const { index } = options.state;
  for (let row = 0; row < index.size; row++) index.mark(row, 'removed', false);
  const planning: Planning = {
    ...options,
    plan: emptyPlan(''),
    sum: { high: 0, low: 0 },
    changed: { ids: [], jobs: 0, areFailed: true, areStale: true, lineBreakOf: undefined },
    stale: new Set(),
    redone: new Set(),
    known: index.size,
    strays,
    hasOther: false,
    previous: undefined,
    older: new Map(),
    origins: new Set(),
    room: maxKept.characters,
  };
  for await (const job of options.jobs.read(options.onFault)) {
    options.signal.throwIfAborted();
    await planJob(job, planning).catch(options.onFault);
    planning.previous = job;
    options.onChecked();
  }
  return planning;
}

/** Whether jobs may be known by other ids than they have in the file: a number has another request, or some are new and some not there. */
function mayMove({ hasOther, known, state: { index } }: Planning, before: ReturnType<JobIndex['remember']>): boolean {
  if (hasOther) return true;
  const isMissing = (_: unknown, row: number): boolean => !index.has(row, 'inFile');
  return index.size > known && Array.from({ length: before.size }).some(isMissing);
}

/**
 * Sees whether jobs are known in the folder by other ids than they have in the file. If so, all is as before the jobs were read,
 * but for ids that jobs got, and they are to be read again. Throws GatewayError batch-locked where another shard may have sent them.
 */
function findMoves(planning: Planning, before: ReturnType<JobIndex['remember']>): BatchPlan['moves'] | undefined {
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
function addMove({ id, fileId = id, line }: Job, known: { row: number; line: number }, planning: Planning): void {
  const { plan, state } = planning;
  const number = findIdNumber(fileId);
  const hasMoved = number !== (state.numbers.get(known.row) ?? findIdNumber(id));
  if (hasMoved) plan.moved++;
  const isOrdered = state.numbers.size === 0 && state.knownIds === undefined;
  if (hasMoved || (!isOrdered && line !== known.line)) plan.moves.push({ type: 'moved', id, number, line });
}

function addStray({ id, line, isNumbered = false }: Job, request: string, planning: Planning): void {
  const previous = planning.previous && { id: planning.previous.id, line: planning.previous.line };
  planning.strays?.push({ place: planning.plan.total, line, id, request, isNumbered, previous });
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

async function planJob(job: Job, planning: Planning): Promise<void> {
  const { jobs, plan, changed, state } = planning;
  const { index } = state;
  const line = index.placeOf(index.find(job.id));
  const row = enter(job, planning);
  if (row === undefined) return planning.onDuplicate(job);
  const isRedone = planning.isRedone?.(job, row) === true;
  if (isRedone) planning.redone.add(row);
  const settings = await jobs.settingsOf(job);
  const origin = getRequestOrigin(settings);
  plan.origin ||= state.run?.origin ?? origin;
  planning.origins.add(origin);
  const { shard } = planning;
  if (shard && !isInShard(await jobs.links().familyOf(job), shard)) return;
  const parents = job.names ? await jobs.links().parentsOf(job) : [];
  if (parents.length > 0) {
    plan.parents.set(
      job.id,
      parents.map(({ id }) => id),
    );
    planning.room = -1;
  }
  const isStale = parents.length > 0 && (await usesOlderResult(job, row, planning));
  plan.jobs++;
  const isKnown = row < planning.known;
  if (
    isKnown &&
    parents.length === 0 &&
    isLeftAsBuilt(row, jobs.digestBasis(job, settings, plan.origin), { ...planning, isRedone })
  ) {
    index.mark(row, 'asBuilt');
    addGateway({ settings }, plan);
    if (job.isNumbered) addMove(job, { row, line }, planning);
    return planning.onPlanned({ job, prepared: undefined, decision: 'skip', edited: undefined });
  }
  const prepared = await jobs.prepare(job, plan.origin);
  const { request } = prepared;
  addGateway({ settings, post: prepared.operation.post }, plan);
  if (!isKnown || index.requestOf(row) !== request) addStray(job, request, planning);
  planning.hasOther ||= isKnown && job.isNumbered === true && index.requestOf(row) !== request;
  if (isKnown && job.isNumbered) addMove(job, { row, line }, planning);
  const isEdited = index.stateOf(row) !== 'new' && (isStale || index.requestOf(row) !== request);
  const edited = isEdited ? { mayBeBilled: state.failures.get(job.id)?.billed !== 'no' } : undefined;
  const isHeld = planning.policy.limit !== undefined && !(await areUsable(parents, planning));
  const isSame = index.requestOf(row) === request;
  const decision = decideOn(row, request, { ...planning, isRedone, isStale, isHeld });
  if (isSame) index.setBasis(row, prepared.basis);
  if (edited && decision !== 'run') plan.leftEdited.add(row);
  planning.onPlanned({ job, prepared, decision, edited });
  if (decision === 'changed') {
    if (changed.jobs++ < maxNamed) changed.ids.push(job.id);
    changed.areFailed &&= index.stateOf(row) === 'failed';
    if (index.requestOf(row) === request) planning.stale.add(job.id);
    changed.areStale &&= planning.stale.has(job.id);
    const earlier = { request: index.requestOf(row), origin: plan.origin };
    if (changed.jobs === 1 || changed.lineBreakOf !== undefined)
      changed.lineBreakOf = await planning.findLineBreak(job, earlier);
  }
  const isSent = decision === 'run';
  if (isSent) index.mark(row, 'toSend');
  // From the first job on that is not kept ready, none is: later ones would be sent before it.
  if (isSent) planning.room -= plan.ready.size < maxKept.jobs ? prepared.characters : Number.POSITIVE_INFINITY;
  if (isSent && planning.room >= 0) plan.ready.set(job.id, readyJob(job, prepared));
  else await prepared.close();
}

/** Whether a job is built from the same as before, and is not sent: its request need not be built to know that, nor its result be read. */
function isLeftAsBuilt(
  row: number,
  basis: string,
  { policy, state: { index }, isRedone }: Pick<Planning, 'policy' | 'state'> & { isRedone: boolean },
): boolean {
  if (!index.hasBasis(row, basis) || index.has(row, 'atService') || index.isRenamed(row)) return false;
  const known = { state: index.stateOf(row), incomplete: index.has(row, 'incomplete'), same: true, atService: false };
  return decide({ ...known, isRedone }, policy) === 'skip';
}

/** Its row in the index; undefined when the file has its id already. */
function enter({ id }: Job, planning: Planning): number | undefined {
  const { index } = planning.state;
  const row = index.add(id);
  if (index.has(row, 'inFile')) return undefined;
  index.mark(row, 'inFile');
  index.setPlace(row, ++planning.plan.total);
  planning.sum = addIdHash(planning.sum, hashId(id));
  return row;
}

/**
 * Whether a job that was sent used a result that another one has replaced since, or that this run replaces. It is found out once for
 * each: many can use one result, and once a job is to be sent again its state does not say so any more.
 */
function usesOlderResult(job: Job, row: number, planning: Planning): Promise<boolean> {
  const found = planning.older.get(row) ?? findOlderResult(job, row, planning);
  planning.older.set(row, found);
  return found;
}

async function findOlderResult(job: Job, row: number, planning: Planning): Promise<boolean> {
  const { jobs, state } = planning;
  const { index } = state;
  if (row < 0 || (index.stateOf(row) === 'new' && !index.has(row, 'atService'))) return false;
  for (const parent of job.names ? await jobs.links().parentsOf(job) : []) {
    const at = index.find(parent.id);
    const isOlder = isMadeAgain(parent, at, planning) || index.turnOf(at) > index.turnOf(row);
    if (isOlder || (await usesOlderResult(parent, at, planning))) return true;
  }
  return false;
}

/** Whether a job that is done is sent again as it is. */
function isMadeAgain(job: Job, row: number, { policy, state: { index }, isRedone }: Planning): boolean {
  if (index.stateOf(row) !== 'done') return false;
  return isRedone?.(job, row) === true || (policy.retryIncomplete === true && index.has(row, 'incomplete'));
}

/**
 * Whether the results of these jobs can be used in this run: each is sent in it, or is done and stays. With a limit, a job takes the place
 * of none that it waits for, and is not sent with what another run replaces.
 */
async function areUsable(parents: readonly Job[], planning: Planning): Promise<boolean> {
  const { jobs, plan, state } = planning;
  const { index } = state;
  for (const parent of parents) {
    const at = index.find(parent.id);
    if (index.has(at, 'toSend')) continue;
    if (index.stateOf(at) !== 'done' || isMadeAgain(parent, at, planning)) return false;
    if (index.requestOf(at) !== (await jobs.links().digestJob(parent, plan.origin))) return false;
    if (await usesOlderResult(parent, at, planning)) return false;
  }
  return true;
}

/** Decides whether a job is sent, and counts it then. The index has its request from then on. */
export function decideOn(
  row: number,
  request: string,
  {
    plan,
    policy,
    state,
    isRedone = false,
    isStale = false,
    isHeld = false,
  }: Pick<Batch, 'plan' | 'policy' | 'state'> & { isRedone?: boolean; isStale?: boolean; isHeld?: boolean },
): ReturnType<typeof decide> {
  const { index } = state;
  const known = index.stateOf(row);
  const same = index.requestOf(row) === request && !isStale;
  const marks = { incomplete: index.has(row, 'incomplete'), atService: index.has(row, 'atService') };
  const decision = decide({ state: known, same, isRedone, ...marks }, policy);
  if (decision === 'skip' && marks.atService && !same) plan.editedAtService.add(row);
  if (decision !== 'run') return decision;
  if (isHeld || (policy.limit !== undefined && plan.toSend >= policy.limit)) {
    if (known === 'new') plan.left++;
    else plan.leftAgain++;
    return 'skip';
  }
  plan.toSend++;
  if (known !== 'new') plan.again++;
  keepEarlier(row, state);
  // The state of the old version says nothing about the edited job.
  if (!same) index.setState(row, 'new');
  index.setRequest(row, request);
  return decision;
}

function addGateway({ settings, post }: Pick<BatchGateway, 'settings' | 'post'>, { gateways }: BatchPlan): void {
  const key = gatewayKey(settings);
  const gateway: BatchGateway = gateways.get(key) ?? { settings, forms: {} };
  gateways.set(key, gateway);
  if (post === undefined) return;
  gateway.post ??= post;
  gateway.forms = { [post.use]: settings.auth.value, ...gateway.forms };
}

/** What is known about a job when a run begins. */
interface KnownJob {
  state: JobState;
  /** It is done, though its answer may not be whole. */
  incomplete: boolean;
  /** The request is the one that the journal knows. */
  same: boolean;
  /** A batch of the service holds it. */
  atService: boolean;
  /** It is sent again whatever became of it. */
  isRedone: boolean;
}

/** The one place that decides whether a job is paid for again: it is sent or left, or the run stops because it was edited. */
export function decide(
  { state, incomplete, same, atService, isRedone }: KnownJob,
  policy: BatchPolicy,
): 'run' | 'skip' | 'changed' {
  if (atService) return same || policy.acceptChanges ? 'skip' : 'changed';
  if (state === 'new' || isRedone) return 'run';
  // A higher token limit changes every job; jobs with whole answers are not sent again.
  if (state === 'done' && policy.retryIncomplete) return incomplete ? 'run' : 'skip';
  // A failed job is edited to be sent again.
  if (state === 'failed' && policy.retryFailed) return 'run';
  if (!same) return policy.acceptChanges ? 'run' : 'changed';
  if (state === 'sent' || state === 'unknown') return policy.retryUnknown ? 'run' : 'skip';
  return 'skip';
}

/** The error for jobs that were edited since they were sent. */
export function changedError(
  ids: readonly string[],
  count: number,
  { areFailed = false, areStale = false, lineBreakOf }: Partial<Planning['changed']> = {},
): GatewayError {
  const flag = areFailed ? '--retry-failed' : '--accept-changes';
  const more = count > ids.length ? ` and ${count - ids.length} more` : '';
  const what = count === 1 ? '1 job was' : `${count} jobs were`;
  const how = lineBreakOf ? `, by the line break at the end of ${lineBreakOf} alone` : '';
  const back = lineBreakOf ? 'to send nothing again: put the line break back as it was\n' : '';
  const again = areStale ? 'to make those again too, after what they use' : 'to send just those again';
  return new GatewayError(
    'batch-locked',
    areStale
      ? `${what} sent with a result that another job replaces: ${ids.join(', ')}${more}`
      : `${what} edited since an earlier run sent ${count === 1 ? 'it' : 'them'}${how}: ${ids.join(', ')}${more}`,
    {
      hint: `${back}${again}: ${flag}; to keep both: another folder with -o`,
      sent: 'no',
    },
  );
}

/** Throws GatewayError batch-locked when a folder's journal belongs to another gateway or another shard. */
export function requireMatch(before: RunRecord | undefined, now: Pick<RunRecord, 'origin' | 'shard'>): void {
  if (before === undefined) return;
  for (const [was, is] of [
    [before.origin, now.origin],
    [shardText(before.shard), shardText(now.shard)],
  ])
    if (was !== is)
      throw new GatewayError('batch-locked', `the folder belongs to ${was}, not to ${is}`, {
        hint: 'name another folder with -o',
        sent: 'no',
      });
}

const shardText = (shard: RunRecord['shard']): string =>
  shard === undefined ? 'a run without --shard' : `--shard ${shard.index}/${shard.total}`;
