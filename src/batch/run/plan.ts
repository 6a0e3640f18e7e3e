import { isDeepStrictEqual } from 'node:util';
import { addHash, digestText, hashId, toHex, type Hash64, isInShard } from '../digest.ts';
import { gatewayKey, getRequestOrigin } from '../gateway.ts';
import type { Batch, FirstJob, Job, MovedRecord, PreparedJob, ReadyJob, Redo, RunRecord } from '../types.ts';
import type { ApiRequest } from '../../formats/format.ts';
import { GatewayError } from '../../errors.ts';
import { type BatchState, type JobIndex, markRemoved } from '../folder/state.ts';
import { type Decision, decideOn } from './decide.ts';
import type { Stray } from './known-by.ts';
import {
  type ChangedJobs,
  changedError,
  isLeftAsBuilt,
  isSentAgain,
  judgeJob,
  markNamed,
  noChangedJobs,
} from './known-jobs.ts';
import { addMove, findMoves, mayMove } from './moves.ts';
import { readyJob } from './queue.ts';
import type { Settings } from '../../settings/types.ts';
import type { AuthUse } from '../../formats/types.ts';
import type { AuthForm } from '../../vendors/services.ts';
import { append } from '../../long-lists.ts';

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
  first: FirstJob | undefined;
  /** How many jobs have the answer to an earlier version of them. */
  edited: number;
  /** Jobs of the journal that the file does not name any more. */
  removed: string[];
  /** Jobs of the journal that have another place in the file now, or another id; and how many have another number. */
  moves: Omit<MovedRecord, 'at'>[];
  moved: number;
  /** The journal does not say of some job what it is built from, or says what another version built. */
  hasNewBasis: boolean;
  /** The ids of the jobs whose results a job uses, by its id. */
  parents: Map<string, string[]>;
  /** Of a shard: a sum over all ids of the file. */
  list: string | undefined;
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
  /** What it makes again though nothing of it was edited. */
  redo: Redo | undefined;
  /** The ids of jobs that use a result which is newer than they are, or which this run makes again, and that stay as they are. */
  leftStale: ReadonlySet<string>;
  /** Rows of jobs that are made again though nothing of them was edited: they are named, or what they use is newer. */
  redone: Set<number>;
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
  const counts = { jobs: 0, total: 0, toSend: 0, again: 0, left: 0, leftAgain: 0, edited: 0 };
  return {
    ...counts,
    first: undefined,
    removed: [],
    moves: [],
    moved: 0,
    hasNewBasis: false,
    parents: new Map(),
    list: undefined,
    origin,
    gateways: new Map(),
    ready: new Map(),
    leftEdited: new Set(),
    editedAtService: new Set(),
    redo: undefined,
    leftStale: new Set(),
    redone: new Set(),
  };
}

/** What is planned: a job of this shard. */
export interface PlannedJob {
  job: Job;
  /** Absent for a job that is not sent, and that was not built: it is as it was. */
  prepared: PreparedJob | undefined;
  decision: Decision;
  /** It was sent with another request before, or with the same one and a result that is older than the one it uses now. */
  edited: { mayBeBilled: boolean; isSame: boolean } | undefined;
}

/** What those who plan a batch say about its jobs. */
export interface PlanOptions extends Pick<Batch, 'jobs' | 'state' | 'shard' | 'policy'> {
  signal: AbortSignal;
  /** Takes a mistake in the jobs, so that all are reported together; throws anything else. */
  onFault(error: unknown): void;
  /** Takes a job whose id an earlier one has. */
  onDuplicate(job: Job): Promise<void>;
  /** Which jobs are made again whatever became of them. `goesOn`: of these, only what an earlier run with the same names left. */
  redo?: { named: string; goesOn: boolean; names(job: Job): boolean } | undefined;
  onPlanned(planned: PlannedJob): void;
  /** All jobs are read again, known by other ids: what was planned does not count. */
  onAgain(): void;
  /** The name of the text of a job that makes it an earlier request, but for the line break at its end. */
  findLineBreak(job: Job, earlier: { digest: string; origin: string }): Promise<string | undefined>;
  /** Called after each job of the file. */
  onChecked(): void;
  /** Awaited once all are read: throws for what is wrong with them. */
  afterAll(plan: BatchPlan): Promise<void>;
}

export interface Planning extends PlanOptions {
  plan: BatchPlan;
  sum: Hash64;
  changed: ChangedJobs;
  /** The ids that `leftStale` lists if the run goes on, in the order of the file; a limit leaves some of them. */
  keeping: Set<string>;
  /** Number of jobs that the folder knows, and those of the file that it does not know so. */
  known: number;
  strays: Stray[] | undefined;
  /** The number of some job is that of another request. */
  hasOther: boolean;
  previous: Job | undefined;
  /** The lines in the journal are in the order of the file; of the last job, that line and the one in the file. */
  isOrdered: boolean;
  last: { place: number; line: number };
  /** Whether jobs that use results of others used an older one than there is, by their rows. */
  older: Map<number, Promise<boolean>>;
  /** The origins of all jobs of the file. */
  origins: Set<string>;
  /** Characters that the next jobs which are kept ready may have. */
  room: number;
}

/** What is kept ready at most: jobs, and characters of their bodies in all. Without it a short batch takes a tenth longer. */
const maxKept = { jobs: 2048, characters: 4 * 1024 * 1024 };

/**
 * Checks every job and decides what is sent. Throws what its callbacks throw, or GatewayError batch-locked where the folder
 * belongs to another gateway or shard, or jobs were edited.
 */
export async function planBatch(options: PlanOptions): Promise<BatchPlan> {
  const { state } = options;
  // A new folder knows no job: none can have moved, have been edited or be gone.
  const before = state.run && state.index.remember();
  let planning = await readJobs(options);
  if (before) planning = await readMovedAgain(planning, before);
  const { plan } = planning;
  plan.list = options.shard && toHex(planning.sum);
  await options.afterAll(plan);
  if (before) markUnlisted(planning);
  plan.redo = listRedo(planning);
  return plan;
}

/** Jobs that may be known by other ids than they have in the file are read once more, and again by the ids that were found. */
async function readMovedAgain(first: Planning, before: ReturnType<JobIndex['remember']>): Promise<Planning> {
  let planning = first;
  const readAgain = async (strays?: Stray[]): Promise<void> => {
    for (const { prepared } of planning.plan.ready.values()) await prepared.close();
    planning.onAgain();
    before.restore();
    planning = await readJobs(planning, strays);
  };
  const moves: BatchPlan['moves'] = [];
  for (;;) {
    // Strays are kept only where there can be any: the jobs that were not sent yet may be a million.
    if (mayMove(planning, before)) await readAgain([]);
    const found = findMoves(planning, before);
    if (!found) break;
    append(moves, found.moves);
    await readAgain();
    // Once those are known whose results it uses, a job can be, too.
    if (!found.hasRenamed || planning.plan.parents.size === 0) break;
  }
  const { isOrdered, plan } = planning;
  const { index } = planning.state;
  for (const move of moves) move.basis = index.basisOf(index.find(move.to as string)) ?? '';
  plan.moves = isOrdered && moves.length === 0 ? [] : [...moves, ...plan.moves];
  return planning;
}

/** Marks the jobs that the file does not name any more. Throws GatewayError batch-locked. */
function markUnlisted(planning: Planning): void {
  const { changed, jobs, known, origins, plan, shard, state } = planning;
  for (let row = 0; row < state.index.size; row++)
    if (!state.index.has(row, 'inFile')) plan.removed.push(state.index.idOf(row));
  markRemoved(state, plan.removed);
  const owner = findOwner(state);
  requireMatch(owner, { origin: origins.has(plan.origin) ? plan.origin : [...origins].join(', '), shard });
  const how = isDeepStrictEqual(owner?.vary, planning.policy.vary) ? '' : ' as they are varied now';
  if (owner && known > 0 && plan.removed.length === known)
    throw new GatewayError('batch-locked', `the folder holds other jobs: none of ${jobs.name} is among them${how}`, {
      hint: 'name another folder with -o',
      sent: 'no',
    });
  // Who names what is to be made again means only that: what uses it stays as it is.
  if (changed.jobs > 0 && !(planning.redo && changed.areStale)) throw changedError(changed, findEdited(planning));
  plan.leftStale = planning.keeping;
}

/** In what the first job was edited, if the last run began with it, too. */
function findEdited({ changed, plan: { first }, state: { run } }: Planning): string[] {
  const [now, before] = [first?.from ?? {}, run?.first?.from ?? {}];
  if (first === undefined || first.id !== run?.first?.id || !changed.ids.includes(first.id)) return [];
  return Object.keys({ ...now, ...before })
    .filter((name) => now[name] !== before[name])
    .toSorted();
}

function listRedo({ plan: { redone }, redo, state }: Planning): Redo | undefined {
  const ids = [...redone].map((row) => state.index.idOf(row));
  const named = redo?.named;
  if (redo?.goesOn) return { named, goesOn: true, ids: ids.filter((id) => !state.redo?.ends.has(id)) };
  return ids.length > 0 ? { named, ids } : undefined;
}

/** Reads all jobs once, and decides what each is. */
async function readJobs(options: PlanOptions, strays?: Stray[]): Promise<Planning> {
  const { index } = options.state;
  for (let row = 0; row < index.size; row++) index.setFlag(row, 'removed', false);
  const planning: Planning = {
    ...options,
    plan: emptyPlan(''),
    sum: { high: 0, low: 0 },
    changed: noChangedJobs(),
    keeping: new Set(),
    known: index.size,
    strays,
    hasOther: false,
    previous: undefined,
    isOrdered: true,
    last: { place: 0, line: 0 },
    older: new Map(),
    origins: new Set(),
    room: maxKept.characters,
  };
  for await (const job of options.jobs.read(options.onFault)) {
    options.signal.throwIfAborted();
    try {
      // To wait for each of a million jobs takes longer than to see that they are as they were.
      const planned = planJob(job, planning);
      if (planned) await planned;
    } catch (error) {
      options.onFault(error);
    }
    planning.previous = job;
    options.onChecked();
  }
  return planning;
}

/** A job of the file that was not there before. */
export interface EnteredJob {
  job: Job;
  row: number;
  /** Where the folder knows its id: its row, and the line that it had. */
  known: { row: number; line: number } | undefined;
  isRedone: boolean;
}

/** No promise where the job is as it was. */
function planJob(job: Job, planning: Planning): Promise<void> | undefined {
  const { index } = planning.state;
  const row = index.add(job.id);
  if (index.has(row, 'inFile')) return planning.onDuplicate(job);
  const line = index.placeOf(row);
  index.setFlag(row, 'inFile');
  index.setPlace(row, ++planning.plan.total);
  if (planning.shard) planning.sum = addHash(planning.sum, hashId(job.id));
  const isRedone = isSentAgain(job, planning);
  const entered = { job, row, known: row < planning.known ? { row, line } : undefined, isRedone };
  const settings = planning.jobs.settingsOf(job);
  if (settings instanceof Promise || planning.shard || job.names) return planAmongOthers(entered, settings, planning);
  addOrigin(settings, planning);
  return planEntered(entered, settings, [], planning);
}

/** Its shard and its parents depend on other jobs. */
async function planAmongOthers(
  entered: EnteredJob,
  reading: Settings | Promise<Settings>,
  planning: Planning,
): Promise<void> {
  const { jobs, shard } = planning;
  const { job } = entered;
  const settings = await reading;
  addOrigin(settings, planning);
  if (shard && !isInShard(await jobs.links().familyOf(job), shard)) return;
  const parents = job.names ? await enterParents(job, planning) : [];
  await planEntered(entered, settings, parents, planning);
}

function addOrigin(settings: Settings, { plan, state, origins }: Planning): void {
  const origin = getRequestOrigin(settings);
  plan.origin ||= findOwner(state)?.origin ?? origin;
  origins.add(origin);
}

function planEntered(
  entered: EnteredJob,
  settings: Settings,
  parents: readonly Job[],
  planning: Planning,
): Promise<void> | undefined {
  const { jobs, plan, state } = planning;
  const { job, row, known, isRedone } = entered;
  if (planning.redo?.names(job)) markNamed(job, row, planning);
  if (plan.jobs++ === 0) plan.first = describeFirst(job, settings);
  const isLeft =
    known &&
    parents.length === 0 &&
    isLeftAsBuilt(row, jobs.digestBasis(job, settings, plan.origin), isRedone, planning);
  if (!isLeft) return planBuilt(entered, parents, planning);
  state.index.setFlag(row, 'asBuilt');
  addGateway({ settings }, plan);
  addMove(job, { known, isSent: false }, planning);
  planning.onPlanned({ job, prepared: undefined, decision: 'skip', edited: undefined });
  return undefined;
}

function describeFirst(job: Job, settings: Settings): FirstJob {
  const { places: _, ...values } = job.values;
  const { effort, model, format, service } = settings;
  const all = {
    ...(effort && { effort: effort.value }),
    ...values,
    model: model.value,
    format: format.value,
    service: service.value,
  };
  const digests = Object.entries(all).map(([name, value]) => [name, digestText(JSON.stringify(value)).slice(0, 8)]);
  return { id: job.id, from: Object.fromEntries(digests) };
}

/** Builds the request of a job, and decides on it. */
async function planBuilt(
  { job, row, known, isRedone }: EnteredJob,
  parents: readonly Job[],
  planning: Planning,
): Promise<void> {
  const { jobs, plan, state } = planning;
  const { index } = state;
  const prepared = await jobs.prepare(job, plan.origin);
  addGateway({ settings: prepared.settings, post: prepared.request.post }, plan);
  const isOfFolder = known !== undefined || parents.length > 0 || planning.strays !== undefined;
  const { decision, edited }: Pick<PlannedJob, 'decision' | 'edited'> = isOfFolder
    ? await judgeJob({ job, row, prepared, known, parents, isRedone }, planning)
    : { decision: decideOn(row, prepared.digest, planning), edited: undefined };
  if (state.run) addMove(job, { known, isSent: decision === 'run' }, planning);
  planning.onPlanned({ job, prepared, decision, edited });
  if (decision !== 'run') return prepared.close();

  index.setFlag(row, 'toSend');
  // From the first job on that is not kept ready, none is: later ones would be sent before it.
  planning.room -= plan.ready.size < maxKept.jobs ? prepared.characters : Number.POSITIVE_INFINITY;
  if (planning.room < 0) return prepared.close();
  plan.ready.set(job.id, readyJob(job, prepared));
}

/** The jobs whose results a job uses. It is not kept ready, nor is any after it. */
async function enterParents(job: Job, planning: Planning): Promise<readonly Job[]> {
  const parents = await planning.jobs.links().parentsOf(job);
  planning.plan.parents.set(
    job.id,
    parents.map(({ id }) => id),
  );
  planning.room = -1;
  return parents;
}

function addGateway({ settings, post }: Pick<BatchGateway, 'settings' | 'post'>, { gateways }: BatchPlan): void {
  const key = gatewayKey(settings);
  const gateway: BatchGateway = gateways.get(key) ?? { settings, forms: {} };
  gateways.set(key, gateway);
  if (post === undefined) return;
  gateway.post ??= post;
  if (!(post.use in gateway.forms)) gateway.forms = { [post.use]: settings.auth.value, ...gateway.forms };
}

/** The run that a folder belongs to: none where nothing of it was answered, or may have been billed. */
export function findOwner({ index, failures, run }: BatchState): RunRecord | undefined {
  for (let row = 0; row < index.size; row++) {
    const state = index.stateOf(row);
    const isFree = state === 'new' || (state === 'failed' && failures.get(index.idOf(row))?.billed === 'no');
    if (!isFree || index.has(row, 'atService')) return run;
  }
  return undefined;
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
