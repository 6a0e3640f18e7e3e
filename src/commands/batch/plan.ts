import {
  type Batch,
  type BatchPlan,
  findIdNumber,
  type Job,
  type JobCommand,
  getRequestOrigin,
  planBatch,
  type PlannedJob,
} from '../../batch/index.ts';
import { usageError, GatewayError } from '../../errors.ts';
import { addCost } from '../../cost/cost.ts';
import { getCurrency, findPrice } from '../../cost/price.ts';
import type { Cost } from '../../cost/types.ts';
import { closest } from '../../closest.ts';
import { isObject } from '../../json.ts';
import { shellWord } from '../../shell-word.ts';
import type { ServiceName } from '../../vendors/services.ts';
import { keyForAnyOrigin } from '../../settings/key.ts';
import { Secret } from '../../settings/redact.ts';
import type { Settings } from '../../settings/types.ts';
import type { Context } from '../../cli/context.ts';
import type { TextPlaces } from '../../cli/input/prompt.ts';
import { priceWarning, requireOneCurrency, requirePrice } from '../../cli/run/costs.ts';
import { createDryClient } from '../../cli/run/client.ts';
import { type BatchFlags, requireOneLane } from './flags.ts';
import { rowId } from './jobs/data-rows.ts';
import { collectLineErrors, duplicate, type JobSource, takesRows } from './jobs/source.ts';

/** What people are told of a plan, beside what the run needs. */
export interface BatchPlanFacts {
  /**
   * Jobs that are sent again because they were edited: the first of their ids, how many, how many of them may have been billed,
   * and the most that they can cost if known.
   */
  edited: { ids: string[]; jobs: number; billed: number; most: readonly Cost[] | undefined };
  /** What is sent, by command, model and service. */
  kinds: Map<string, JobKind>;
  /** Some job has a price. */
  hasPrices: boolean;
  /** Some job has variables. */
  hasVars: boolean;
  /** Some job was built, whose result can have other variables than it has now. */
  hasBuilt: boolean;
}

/** Jobs that are sent of one command, with one model, to one place. */
export interface JobKind {
  command: JobCommand;
  model: string;
  service: ServiceName;
  origin: string;
  jobs: number;
}

export function emptyFacts(): BatchPlanFacts {
  const edited = { ids: [], jobs: 0, billed: 0, most: [] };
  return { edited, kinds: new Map(), hasPrices: false, hasVars: false, hasBuilt: false };
}

interface PlanJobs extends Pick<Batch, 'jobs' | 'policy' | 'state' | 'shard'> {
  facts: BatchPlanFacts;
  source: JobSource;
  flags: BatchFlags;
  context: Context;
  /** Called after each job of the file. */
  onChecked: () => void;
}

/** At most this many ids of edited jobs are listed. */
const maxNamed = 5;

/** Plans a run as the flags say. Throws GatewayError usage with file and line, and batch-locked. */
export async function planJobs({ facts, source, flags, context, ...batch }: PlanJobs): Promise<BatchPlan> {
  const lineErrors = collectLineErrors(source);
  const redo = openRedo(flags, batch);
  return planBatch({
    ...batch,
    signal: context.signal,
    onFault: lineErrors.add,
    async onDuplicate(job) {
      if (lineErrors.isFull) return lineErrors.countAnother();
      throw await duplicate(job, source);
    },
    isRedone: redo.names,
    onPlanned: (planned) => addPlanned(planned, facts),
    onAgain() {
      lineErrors.throwIfAny();
      redo.forget();
      Object.assign(facts, emptyFacts(), { hasPrices: facts.hasPrices });
    },
    findLineBreak: (job, earlier) => findLineBreak(job, earlier, batch.jobs),
    async afterAll(plan) {
      lineErrors.throwIfAny();
      if (plan.total === 0) throw usageError(`${source.name} contains no jobs`, source.lineForm);
      redo.requireAll();
      // Jobs that are not built have no price checked.
      facts.hasPrices ||= [...plan.gateways.values()].some(({ settings }) => Object.keys(settings.prices).length > 0);
      await checkGateways(plan, batch.jobs, context);
      const lanes = new Set([...plan.gateways.values()].map(({ settings }) => settings.lane.value));
      if (lanes.has('batch') || flags.wait === false || flags.poll !== undefined) requireOneLane(lanes, flags);
    },
  });
}

/** The name of the prompt if a line break at its end is all that parts a job from an earlier request. */
async function findLineBreak(
  job: Job,
  { request, origin }: { request: string; origin: string },
  jobs: Batch['jobs'],
): Promise<string | undefined> {
  const { prompt, places } = job.values as { prompt?: string; places?: TextPlaces };
  if (prompt === undefined) return undefined;
  const bare = prompt.replace(/\r?\n$/, '');
  for (const other of [bare, `${bare}\n`, `${bare}\r\n`]) {
    if (other === prompt) continue;
    const prepared = await jobs.prepare({ ...job, values: { ...job.values, prompt: other } }, origin);
    await prepared.close();
    if (prepared.request === request) return places?.prompt ?? 'the prompt';
  }
  return undefined;
}

interface PlanPricing extends Pick<Batch, 'state'> {
  flags: BatchFlags;
  context: Context;
}

export type PriceCheck = (settings: Settings, job: Pick<Job, 'values'>) => Promise<void>;

/** Checks the prices of jobs: throws GatewayError usage if one has no price, or one of another currency, and a budget is given. */
export function createPriceCheck(
  facts: Pick<BatchPlanFacts, 'hasPrices'>,
  { flags, state, context }: PlanPricing,
): PriceCheck {
  const currencies = new Set<string>();
  const warnings = new Set<string>();
  return async (settings, { values }) => {
    const { prices, model, aliases } = settings;
    const named = values['fallback'] ?? settings.fallback?.value;
    const models = typeof named === 'string' ? [model.value, aliases[named] ?? named] : [model.value];
    facts.hasPrices ||= Object.keys(prices).length > 0;
    if (settings.budget !== undefined) for (const name of models) requirePrice(prices, name, '--budget');
    if (flags.maxCost !== undefined) {
      for (const name of models) currencies.add(getCurrency(requirePrice(prices, name)));
      return requireOneCurrency([...state.spending.costs.map(({ currency }) => currency), ...currencies]);
    }
    const warning = facts.hasPrices ? priceWarning(settings) : undefined;
    if (warning === undefined || warnings.has(warning)) return undefined;
    warnings.add(warning);
    return context.ui.warn(warning);
  };
}

/** Counts a job for those who read the plan. */
function addPlanned({ job, prepared, decision, edited: isEdited }: PlannedJob, facts: BatchPlanFacts): void {
  const { id, command, values } = job;
  facts.hasVars ||= isObject(values['vars']);
  if (prepared === undefined) return;
  facts.hasBuilt = true;
  if (decision !== 'run') return;
  const { operation, settings, bound } = prepared;
  const { model } = operation;
  const service = settings.service.value;
  const origin = getRequestOrigin(settings);
  const key = JSON.stringify([command, model, service, origin]);
  const kind = facts.kinds.get(key) ?? { command, model, service, origin, jobs: 0 };
  kind.jobs++;
  facts.kinds.set(key, kind);
  if (!isEdited) return;
  const { edited } = facts;
  if (edited.jobs++ < maxNamed) edited.ids.push(id);
  if (isEdited.mayBeBilled) edited.billed++;
  const currency = getCurrency(findPrice(settings.prices, model) ?? {});
  edited.most = bound?.isMost && edited.most ? addCost(edited.most, { amount: bound.amount, currency }) : undefined;
}

/** Finds the jobs of `--redo`. */
function openRedo(flags: BatchFlags, batch: Pick<Batch, 'jobs' | 'state'>) {
  const words = redoneJobs(flags);
  const wanted = new Set(words.flatMap(idsIn));
  /** Those of them that the file has, and one that a batch of the service holds. */
  const found = new Set<string>();
  let heldId: string | undefined;
  return {
    /** The jobs are read again: their ids can be others. */
    forget(): void {
      found.clear();
      heldId = undefined;
    },
    /**
     * Whether it names a job: by its id, or by that of the line which makes several jobs of its `count`. One that its folder knows
     * by no number has that of its row too.
     */
    names({ id, lineId, fileId }: Job, row: number): boolean {
      if (wanted.size === 0) return false;
      const names = [id, lineId, findIdNumber(id) === undefined ? fileId : undefined].filter(
        (name) => name !== undefined && wanted.has(name),
      ) as string[];
      for (const name of names) found.add(name);
      if (names.length > 0 && batch.state.index.has(row, 'atService')) heldId ??= id;
      return names.length > 0;
    },
    /** Throws GatewayError usage if it names a job that the file does not have, batch-locked if a batch of the service holds one. */
    requireAll(): void {
      const ids = words.flatMap((word) => (found.has(word) ? [word] : word.split(',')));
      const unknown = ids.find((id) => !found.has(id));
      if (unknown !== undefined) throw unknownJob(unknown, batch);
      if (heldId === undefined) return;
      const what = `--redo: ${JSON.stringify(heldId)} is at the service, without a result yet`;
      throw new GatewayError('batch-locked', what, {
        hint: 'collect it first: the same command with --lane batch, without --redo',
        sent: 'no',
      });
    },
  };
}

/** What `--redo` names; rows that have no column for their ids can be named by their number. */
function redoneJobs({ redo = [], ...flags }: BatchFlags): string[] {
  if (!takesRows(flags) || flags.idColumn !== undefined) return redo;
  return redo.flatMap((word) => word.split(',')).map(readRowNumber);
}

/** `7` is row 7, `7-2` the second job of its `count`; any other word is an id. */
function readRowNumber(word: string): string {
  return word.replace(/^(\d{1,9})(-\d+)?(?=\+|$)/, (_, number: string, copy = '') => `${rowId(Number(number))}${copy}`);
}

/** The ids that a value of `--redo` can mean: all of it, as an id can hold a comma, or its parts. */
function idsIn(word: string): string[] {
  return [word, ...word.split(',')];
}

function unknownJob(id: string, { state, jobs }: Pick<Batch, 'jobs' | 'state'>): GatewayError {
  const ids = [...state.index.ids()].slice(0, 1000);
  const near = closest(id, ids);
  const hint =
    near === undefined
      ? `name the ids of jobs, such as --redo ${shellWord(ids.slice(0, 2).join(','))}`
      : `did you mean: --redo ${shellWord(near)}`;
  return usageError(`--redo: ${jobs.name} has no job ${JSON.stringify(id)}`, hint);
}

/** What no job can know of itself: where the requests go, and whether a key may go there. */
async function checkGateways({ gateways }: BatchPlan, jobs: Batch['jobs'], context: Context): Promise<void> {
  if (gateways.size === 0) {
    // This shard has no job.
    const { value } = await jobs.read(() => undefined).next();
    gateways.set('', { settings: await jobs.settingsOf(value as Job), forms: {} });
  }
  requireOwnKeys([...gateways.values()].map(({ settings }) => settings));
  for (const { settings, forms, post } of gateways.values()) {
    if (settings.offline.value || post === undefined) continue;
    (await createDryClient(settings, context, forms)).address(post);
  }
}

/** Throws GatewayError usage if a key or a secret header of no origin would go to several. */
export function requireOwnKeys(gateways: readonly Settings[]): void {
  const remote = gateways.filter(({ offline }) => !offline.value);
  const origins = new Set(remote.map(getRequestOrigin));
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
