import { addIdHash, hashId, hexOf, type IdHash, isInShard } from '../digest.ts';
import type { ServiceName } from '../../services.ts';
import type { Batch, Job, JobCommand, JobState, PreparedJob, ReadyJob, RunRecord } from '../types.ts';
import type { Post } from '../../formats/format.ts';
import { usageError, GatewayError } from '../../errors.ts';
import { readyJob } from './queue.ts';
import { addCost } from '../../cost/cost.ts';
import { currencyOf, priceOf } from '../../cost/price.ts';
import type { Cost } from '../../cost/types.ts';
import { closest } from '../../closest.ts';
import { isObject } from '../../json.ts';
import { shellWord } from '../../shell-word.ts';
import { keyForAnyOrigin } from '../../settings/key.ts';
import { Secret } from '../../settings/redact.ts';
import type { Settings } from '../../settings/types.ts';
import { originOf } from '../../commands/batch/jobs/request.ts';
import { rowId } from '../../commands/batch/jobs/data-rows.ts';
import { type LineErrors, collectLineErrors, duplicate, takesRows } from '../../commands/batch/jobs/source.ts';
import { type BatchFlags, requireOneLane } from '../../commands/batch/flags.ts';
import { priceWarning, requireOneCurrency, requirePrice } from '../../cli/run/costs.ts';
import { type AuthForms, surveyClient } from '../../cli/run/client.ts';

/** What a run will do, found out before anything is sent. The index of the journal marks the jobs to send. */
export interface BatchPlan {
  /** Jobs of this shard, of the whole file, and those that this run sends. */
  jobs: number;
  total: number;
  toSend: number;
  /** Jobs that an earlier run sent, and this one sends again. */
  again: number;
  /** Jobs that were never sent, and that `--limit` leaves for another run. */
  left: number;
  /**
   * Jobs that are sent again because they were edited: the first of their ids, how many, how many of them may have been billed,
   * and the most that they can cost if known.
   */
  edited: { ids: string[]; jobs: number; billed: number; most: readonly Cost[] | undefined };
  /** What is sent, by command, model and service. */
  kinds: Map<string, JobKind>;
  /** Jobs of the journal that the file does not name any more. */
  removed: number;
  /** A sum over all ids of the file. */
  list: string;
  /** Scheme and host of the gateway of most jobs, or `offline`: that of the folder, else that of the file's first job. */
  origin: string;
  /** By `gatewayKey`. */
  gateways: Map<string, BatchGateway>;
  /** The first jobs to send, in the order of the file, by their ids: they are not read again to be sent. */
  ready: Map<string, ReadyJob>;
  /** Some job has a price. */
  hasPrices: boolean;
  /** Some job has variables. */
  hasVars: boolean;
  /** Rows of jobs that were edited, and are not sent: their results are those of the requests before. */
  leftEdited: Set<number>;
}

/** Jobs that this run leaves, because an earlier one sent them. */
export function sentBefore({ jobs, toSend, left }: BatchPlan): number {
  return jobs - toSend - left;
}

/** Jobs that are sent of one command, with one model, to one place. */
export interface JobKind {
  command: JobCommand;
  model: string;
  service: ServiceName;
  origin: string;
  jobs: number;
}

/** A gateway that jobs are sent to, and their forms of authentication. */
interface BatchGateway {
  settings: Settings;
  forms: AuthForms;
  /** One of its requests; absent if this shard has none. */
  post?: Post;
}

export function emptyPlan(origin: string): BatchPlan {
  const counts = { jobs: 0, total: 0, toSend: 0, again: 0, left: 0, removed: 0 };
  const edited = { ids: [], jobs: 0, billed: 0, most: [] };
  return {
    ...counts,
    list: '',
    origin,
    hasPrices: false,
    hasVars: false,
    leftEdited: new Set(),
    edited,
    kinds: new Map(),
    gateways: new Map(),
    ready: new Map(),
  };
}

/** What jobs of one gateway have in common: all of the connection follows from the profile. */
export function gatewayKey({ offline, profile }: Settings): string {
  return offline.value ? '' : (profile?.value ?? '');
}

interface PlanOptions extends Pick<Batch, 'source' | 'builder' | 'state' | 'shard' | 'flags' | 'context'> {
  /** Called after each job of the file. */
  onChecked: () => void;
}

interface Planning extends PlanOptions {
  plan: BatchPlan;
  sum: IdHash;
  changed: string[];
  changes: number;
  /** All of them failed before. */
  areFailed: boolean;
  /** The origins of all jobs of the file. */
  origins: Set<string>;
  checkPrice: PriceCheck;
  /** Ids that `--redo` can mean, and those of them that the file has. */
  redo: ReadonlySet<string>;
  redone: Set<string>;
  /** A job that `--redo` names, and a batch of the service holds. */
  heldId: string | undefined;
  /** Characters that the next jobs which are kept ready may have. */
  room: number;
  lineErrors: LineErrors;
}

/** What is kept ready at most: jobs, and characters of their bodies in all. Without it a short batch takes a tenth longer. */
const maxKept = { jobs: 2048, characters: 4 * 1024 * 1024 };

/** At most this many ids of edited jobs are listed. */
const maxNamed = 5;

/**
 * Checks every job and decides what is sent. Throws GatewayError usage with file and line, or batch-locked where the folder
 * belongs to another gateway or shard, or jobs were edited.
 */
export async function planBatch(options: PlanOptions): Promise<BatchPlan> {
  const { source, state, context, shard, flags } = options;
  const lineErrors = collectLineErrors(source);
  const known = state.index.size;
  const plan = emptyPlan('');
  const planning: Planning = {
    ...options,
    plan,
    sum: { high: 0, low: 0 },
    changed: [],
    changes: 0,
    areFailed: true,
    origins: new Set(),
    checkPrice: createPriceCheck({ ...options, plan }),
    redo: new Set(redoneJobs(flags).flatMap(idsIn)),
    redone: new Set(),
    heldId: undefined,
    room: maxKept.characters,
    lineErrors,
  };
  for await (const job of source.jobs(lineErrors.add)) {
    context.signal.throwIfAborted();
    await planJob(job, planning).catch(lineErrors.add);
    options.onChecked();
  }
  lineErrors.throwIfAny();
  if (plan.total === 0) throw usageError(`${source.name} contains no jobs`, source.lineForm);
  plan.list = hexOf(planning.sum);
  requireRedo(redoneJobs(flags), planning);
  await checkGateways(planning);
  const lanes = new Set([...plan.gateways.values()].map(({ settings }) => settings.lane.value));
  if (lanes.has('batch') || flags.wait === false || flags.poll !== undefined) requireOneLane(lanes, flags);
  for (let row = 0; row < state.index.size; row++) if (!state.index.has(row, 'inFile')) plan.removed++;
  const { origins } = planning;
  requireMatch(state.run, { origin: origins.has(plan.origin) ? plan.origin : [...origins].join(', '), shard });
  if (known > 0 && plan.removed === known)
    throw new GatewayError('batch-locked', `the folder holds other jobs: none of ${source.name} is among them`, {
      hint: 'name another folder with -o',
      sent: 'no',
    });
  if (planning.changes > 0) throw changedError(planning.changed, planning.changes, planning.areFailed);
  return plan;
}

async function planJob(job: Job, planning: Planning): Promise<void> {
  const { lineErrors, builder, plan } = planning;
  const row = enter(job, planning);
  if (row === undefined && lineErrors.isFull) return lineErrors.countAnother();
  if (row === undefined) throw await duplicate(job, planning.source);
  const isRedone = findRedone(job, row, planning);
  const settings = await builder.settingsOf(job);
  const origin = originOf(settings);
  plan.origin ||= planning.state.run?.origin ?? origin;
  planning.origins.add(origin);
  if (!isInShard(job.id, planning.shard)) return;
  plan.jobs++;
  await planning.checkPrice(settings);
  const prepared = await builder.check(job, plan.origin);
  const { request } = prepared;
  addGateway(prepared, plan);
  const edited = isEditedSince(row, request, planning) && {
    wasBilled: planning.state.failures.get(job.id)?.billed !== 'no',
  };
  const decision = decideOn(row, request, { ...planning, isRedone });
  if (decision === 'run') countDue(job, prepared, { plan, edited });
  else if (edited) plan.leftEdited.add(row);
  plan.hasVars ||= isObject(job.values['vars']);
  if (decision === 'changed') {
    if (planning.changes++ < maxNamed) planning.changed.push(job.id);
    planning.areFailed &&= planning.state.index.stateOf(row) === 'failed';
  }
  const isSent = decision === 'run';
  if (isSent) planning.state.index.mark(row, 'toSend');
  // From the first job on that is not kept ready, none is: later ones would be sent before it.
  if (isSent) planning.room -= plan.ready.size < maxKept.jobs ? prepared.characters : Number.POSITIVE_INFINITY;
  if (isSent && planning.room >= 0) plan.ready.set(job.id, readyJob(job, prepared));
  else await prepared.close();
}

type PriceCheck = (settings: Settings) => Promise<void>;

/** Checks the prices of jobs: throws GatewayError usage if one has no price, or one of another currency, and a budget is given. */
export function createPriceCheck(batch: Pick<Batch, 'plan' | 'flags' | 'state' | 'context'>): PriceCheck {
  const { plan, flags, state, context } = batch;
  const currencies = new Set<string>();
  const warnings = new Set<string>();
  return async (settings) => {
    const { prices, model } = settings;
    plan.hasPrices ||= Object.keys(prices).length > 0;
    if (settings.budget !== undefined) requirePrice(prices, model.value, '--budget');
    if (flags.maxCost !== undefined) {
      currencies.add(currencyOf(requirePrice(prices, model.value)));
      return requireOneCurrency([...state.spending.costs.map(({ currency }) => currency), ...currencies]);
    }
    const warning = plan.hasPrices ? priceWarning(settings) : undefined;
    if (warning === undefined || warnings.has(warning)) return undefined;
    warnings.add(warning);
    return context.ui.warn(warning);
  };
}

/** Whether a job was sent with another request. */
function isEditedSince(row: number, request: string, { state: { index } }: Planning): boolean {
  return index.stateOf(row) !== 'new' && index.requestOf(row) !== request;
}

/** Counts a job that is sent. */
function countDue(
  { id, command }: Job,
  { operation: { model }, settings, bound }: PreparedJob,
  { plan, edited: isEdited }: { plan: BatchPlan; edited: false | { wasBilled: boolean } },
): void {
  const service = settings.service.value;
  const origin = originOf(settings);
  const key = JSON.stringify([command, model, service, origin]);
  const kind = plan.kinds.get(key) ?? { command, model, service, origin, jobs: 0 };
  kind.jobs++;
  plan.kinds.set(key, kind);
  if (!isEdited) return;
  const { edited } = plan;
  if (edited.jobs++ < maxNamed) edited.ids.push(id);
  if (isEdited.wasBilled) edited.billed++;
  const currency = currencyOf(priceOf(settings.prices, model) ?? {});
  edited.most = bound?.isMost && edited.most ? addCost(edited.most, { amount: bound.amount, currency }) : undefined;
}

/** What `--redo` names; rows that have no column for their ids can be named by their number. */
function redoneJobs({ redo = [], ...flags }: PlanOptions['flags']): string[] {
  if (!takesRows(flags) || flags.idColumn !== undefined) return redo;
  return redo.flatMap((word) => word.split(',')).map(readRowNumber);
}

/** `7` is row 7, `7-2` the second job of its `count`; any other word is an id. */
function readRowNumber(word: string): string {
  return word.replace(/^(\d{1,9})(-\d+)?$/, (_, number: string, copy = '') => `${rowId(Number(number))}${copy}`);
}

/** The ids that a value of `--redo` can mean: all of it, as an id can hold a comma, or its parts. */
function idsIn(word: string): string[] {
  return [word, ...word.split(',')];
}

/** Whether `--redo` names a job: by its id, or by that of the line which makes several jobs of its `count`. */
function findRedone({ id, lineId }: Job, row: number, planning: Planning): boolean {
  const names = [id, lineId].filter((name) => name !== undefined && planning.redo.has(name)) as string[];
  for (const name of names) planning.redone.add(name);
  if (names.length > 0 && planning.state.index.has(row, 'atService')) planning.heldId ??= id;
  return names.length > 0;
}

/** Throws GatewayError usage if `--redo` names a job that the file does not have, batch-locked if a batch of the service holds one. */
function requireRedo(words: readonly string[], planning: Planning): void {
  const { redone, heldId } = planning;
  const ids = words.flatMap((word) => (redone.has(word) ? [word] : word.split(',')));
  const unknown = ids.find((id) => !redone.has(id));
  if (unknown !== undefined) throw unknownJob(unknown, planning);
  if (heldId !== undefined)
    throw new GatewayError(
      'batch-locked',
      `--redo: ${JSON.stringify(heldId)} is at the service, without a result yet`,
      {
        hint: 'collect it first: the same command with --lane batch, without --redo',
        sent: 'no',
      },
    );
}

function unknownJob(id: string, { state, source }: Planning): GatewayError {
  const ids = [...state.index.ids()].slice(0, 1000);
  const near = closest(id, ids);
  const hint =
    near === undefined
      ? `name the ids of jobs, such as --redo ${shellWord(ids.slice(0, 2).join(','))}`
      : `did you mean: --redo ${shellWord(near)}`;
  return usageError(`--redo: ${source.name} has no job ${JSON.stringify(id)}`, hint);
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

/** Decides whether a job is sent, and counts it then. The index has its request from then on. */
export function decideOn(
  row: number,
  request: string,
  { plan, flags, state: { index }, isRedone = false }: Pick<Batch, 'plan' | 'flags' | 'state'> & { isRedone?: boolean },
): ReturnType<typeof decide> {
  const state = index.stateOf(row);
  const same = index.requestOf(row) === request;
  const marks = { incomplete: index.has(row, 'incomplete'), atService: index.has(row, 'atService') };
  const decision = decide({ state, same, isRedone, ...marks }, flags);
  if (decision !== 'run') return decision;
  if (flags.limit !== undefined && plan.toSend >= flags.limit) {
    if (state === 'new') plan.left++;
    return 'skip';
  }
  plan.toSend++;
  if (state !== 'new') plan.again++;
  // The state of the old version says nothing about the edited job.
  if (!same) index.setState(row, 'new');
  index.setRequest(row, request);
  return decision;
}

function addGateway({ operation: { post }, settings }: PreparedJob, { gateways }: BatchPlan): void {
  const key = gatewayKey(settings);
  const gateway = gateways.get(key) ?? { settings, forms: {}, post };
  gateway.forms = { [post.use]: settings.auth.value, ...gateway.forms };
  gateways.set(key, gateway);
}

/** What no job can know of itself: where the requests go, and whether a key may go there. */
async function checkGateways({ plan, context, builder, source, lineErrors }: Planning): Promise<void> {
  if (plan.gateways.size === 0) {
    // This shard has no job.
    const { value } = await source.jobs(lineErrors.add).next();
    plan.gateways.set('', { settings: await builder.settingsOf(value as Job), forms: {} });
  }
  requireOwnKeys([...plan.gateways.values()].map(({ settings }) => settings));
  for (const { settings, forms, post } of plan.gateways.values()) {
    if (settings.offline.value || post === undefined) continue;
    (await surveyClient(settings, context, forms)).address(post);
  }
}

/** Throws GatewayError usage if a key or a secret header of no origin would go to several. */
export function requireOwnKeys(gateways: readonly Settings[]): void {
  const remote = gateways.filter(({ offline }) => !offline.value);
  const origins = new Set(remote.map(originOf));
  if (origins.size < 2) return;
  const hosts = [...origins].join(' and ');
  const key = remote.map((settings) => keyForAnyOrigin(settings.key)).find((name) => name !== undefined);
  if (key !== undefined)
    throw usageError(
      `the jobs go to ${hosts}, and the key of ${key} would go to all of them`,
      `leave ${key} out; each profile has its own key: gateway-cli config set apiKey - --profile <name>`,
    );
  const secret = remote
    .flatMap(({ headers }) => headers)
    .find(({ value: { value }, origin }) => origin.kind === 'flag' && value instanceof Secret);
  if (secret !== undefined)
    throw usageError(
      `the jobs go to ${hosts}, and header ${secret.value.name} (${secret.from}) would go to all of them`,
      `put it into the headers of its profile: gateway-cli config set headers.${secret.value.name} - --profile <name>`,
    );
}

/** What is known about a job when a run begins. */
interface Known {
  state: JobState;
  /** It is done, though its answer may not be whole. */
  incomplete: boolean;
  /** The request is the one that the journal knows. */
  same: boolean;
  /** A batch of the service holds it. */
  atService: boolean;
  /** `--redo` names it. */
  isRedone: boolean;
}

/** The one place that decides whether a job is paid for again: it is sent or left, or the run stops because it was edited. */
export function decide(
  { state, incomplete, same, atService, isRedone }: Known,
  flags: BatchFlags,
): 'run' | 'skip' | 'changed' {
  if (atService) return same || flags.acceptChanges ? 'skip' : 'changed';
  if (state === 'new' || isRedone) return 'run';
  // A higher token limit changes every job; jobs with whole answers are not sent again.
  if (state === 'done' && flags.retryIncomplete) return incomplete ? 'run' : 'skip';
  // A failed job is edited to be sent again.
  if (state === 'failed' && flags.retryFailed) return 'run';
  if (!same) return flags.acceptChanges ? 'run' : 'changed';
  if (state === 'sent' || state === 'unknown') return flags.retryUnknown ? 'run' : 'skip';
  return 'skip';
}

/** The error for jobs that were edited since they were sent. */
export function changedError(ids: readonly string[], count: number, areFailed = false): GatewayError {
  const flag = areFailed ? '--retry-failed' : '--accept-changes';
  const more = count > ids.length ? ` and ${count - ids.length} more` : '';
  const what = count === 1 ? '1 job was' : `${count} jobs were`;
  return new GatewayError(
    'batch-locked',
    `${what} edited since an earlier run sent ${count === 1 ? 'it' : 'them'}: ${ids.join(', ')}${more}`,
    {
      hint: `to send just those again: ${flag}; to keep both: another folder with -o`,
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
