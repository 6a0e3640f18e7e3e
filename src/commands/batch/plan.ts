import {
  type Batch,
  type BatchPlan,
  type Job,
  type JobCommand,
  getRequestOrigin,
  planBatch,
  type PlannedJob,
} from '../../batch/index.ts';
import { usageError } from '../../errors.ts';
import { addCost } from '../../cost/cost.ts';
import { getCurrency, findPrice } from '../../cost/price.ts';
import type { Cost } from '../../cost/types.ts';
import { describeBody } from '../../body.ts';
import { isObject, type JsonObject } from '../../json.ts';
import type { ServiceName } from '../../vendors/services.ts';
import { keyForAnyOrigin } from '../../settings/key.ts';
import { Secret } from '../../settings/redact.ts';
import type { Settings } from '../../settings/types.ts';
import type { Context } from '../../cli/context.ts';
import type { TextPlaces } from '../../cli/input/prompt.ts';
import { priceWarning, requireOneCurrency, requirePrice } from '../../cli/run/costs.ts';
import { createDryClient } from '../../cli/run/client.ts';
import { type BatchFlags, requireOneLane } from './flags.ts';
import { collectLineErrors, duplicateError, type JobSource, type LineErrors } from './jobs/source.ts';
import { openRedo } from './redo.ts';
import { maxNamed } from './summary.ts';

/** What people are told of a plan, beside what the run needs. */
export interface BatchPlanFacts {
  /**
   * Jobs that are sent again because they were edited: the first of their ids, how many, how many of them only use a newer result, how
   * many may have been billed, and the most that they can cost if known.
   */
  edited: { ids: string[]; jobs: number; stale: number; billed: number; most: readonly Cost[] | undefined };
  /** The first request that is sent. */
  first: { id: string; body: JsonObject } | undefined;
  /** What is sent, by command, model and service. */
  kinds: Map<string, JobKind>;
  pricing: PriceFacts;
  /** Some job has variables. */
  hasVars: boolean;
  /** Some job was built, whose result can have other variables than it has now. */
  hasBuilt: boolean;
}

/** What is known of the prices of jobs. */
interface PriceFacts {
  /** Some job has a price. */
  hasPrices: boolean;
  currencies: Set<string>;
  /** What people were told. */
  warnings: Set<string>;
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
  const edited = { ids: [], jobs: 0, stale: 0, billed: 0, most: [] };
  const pricing = { hasPrices: false, currencies: new Set<string>(), warnings: new Set<string>() };
  return { edited, first: undefined, kinds: new Map(), pricing, hasVars: false, hasBuilt: false };
}

interface PlanJobs extends Pick<Batch, 'jobs' | 'policy' | 'state' | 'shard'> {
  facts: BatchPlanFacts;
  source: JobSource;
  flags: BatchFlags;
  context: Context;
  /** The run before was killed. */
  isTakenOver: boolean;
  /** Called after each job of the file. */
  onChecked: () => void;
}

/** Plans a run as the flags say. Throws GatewayError usage with file and line, and batch-locked. */
export async function planJobs({ facts, source, flags, context, isTakenOver, ...batch }: PlanJobs): Promise<BatchPlan> {
  let lineErrors: LineErrors | undefined;
  const redo = flags.redo && openRedo(flags.redo, flags, { ...batch, isTakenOver });
  return planBatch({
    ...batch,
    signal: context.signal,
    onFault: (error) => (lineErrors ??= collectLineErrors(source)).add(error),
    async onDuplicate(job) {
      if (lineErrors?.isFull) return lineErrors.countAnother();
      throw await duplicateError(job, source);
    },
    redo,
    onPlanned: (planned) => addPlanned(planned, facts),
    onAgain() {
      lineErrors?.throwIfAny();
      redo?.forget();
      Object.assign(facts, emptyFacts(), { pricing: facts.pricing });
    },
    findLineBreak: (job, earlier) => findLineBreak(job, earlier, batch.jobs),
    async afterAll(plan) {
      lineErrors?.throwIfAny();
      if (plan.total === 0) throw usageError(`${source.name} contains no jobs`, source.lineForm);
      redo?.requireAll();
      // Jobs that are not built have no price checked.
      facts.pricing.hasPrices ||= [...plan.gateways.values()].some(
        ({ settings }) => Object.keys(settings.prices).length > 0,
      );
      await checkGateways(plan, batch.jobs, context);
      const lanes = new Set([...plan.gateways.values()].map(({ settings }) => settings.lane.value));
      if (lanes.has('batch') || flags.wait === false || flags.poll !== undefined) requireOneLane(lanes, flags);
    },
  });
}

/** The name of the prompt if a line break at its end is all that parts a job from an earlier request. */
async function findLineBreak(
  job: Job,
  { digest, origin }: { digest: string; origin: string },
  jobs: Batch['jobs'],
): Promise<string | undefined> {
  const { prompt, places } = job.values as { prompt?: string; places?: TextPlaces };
  if (prompt === undefined) return undefined;
  const bare = prompt.replace(/\r?\n$/, '');
  for (const other of [bare, `${bare}\n`, `${bare}\r\n`]) {
    if (other === prompt) continue;
    const prepared = await jobs.prepare({ ...job, values: { ...job.values, prompt: other } }, origin);
    await prepared.close();
    if (prepared.digest === digest) return places?.prompt ?? 'the prompt';
  }
  return undefined;
}

interface PlanPricing extends Pick<Batch, 'state'> {
  facts: Pick<BatchPlanFacts, 'pricing'>;
  flags: BatchFlags;
  context: Context;
}

/** Throws GatewayError usage if a job has no price, or one of another currency, and a budget is given. */
export async function checkPrice(settings: Settings, job: Pick<Job, 'values'>, planning: PlanPricing): Promise<void> {
  const { pricing } = planning.facts;
  pricing.hasPrices ||= Object.keys(settings.prices).length > 0;
  const isPaid = settings.budget !== undefined || planning.flags.maxCost !== undefined;
  if (isPaid || pricing.hasPrices) await checkPriced(settings, job, planning);
}

async function checkPriced(
  settings: Settings,
  { values }: Pick<Job, 'values'>,
  { facts: { pricing }, flags, state, context }: PlanPricing,
): Promise<void> {
  const { prices, model, aliases } = settings;
  const named = values['fallback'] ?? settings.fallback?.value;
  const models = typeof named === 'string' ? [model.value, aliases[named] ?? named] : [model.value];
  if (settings.budget !== undefined) for (const name of models) requirePrice(prices, name, '--budget');
  if (flags.maxCost !== undefined) {
    for (const name of models) pricing.currencies.add(getCurrency(requirePrice(prices, name)));
    return requireOneCurrency([...state.spending.costs.map(({ currency }) => currency), ...pricing.currencies]);
  }
  const warning = pricing.hasPrices ? priceWarning(settings) : undefined;
  if (warning === undefined || pricing.warnings.has(warning)) return undefined;
  pricing.warnings.add(warning);
  return context.ui.warn(warning);
}

/** Counts a job for those who read the plan. */
function addPlanned({ job, prepared, decision, edited: isEdited }: PlannedJob, facts: BatchPlanFacts): void {
  const { id, command, values } = job;
  facts.hasVars ||= isObject(values['vars']);
  if (prepared === undefined) return;
  facts.hasBuilt = true;
  if (decision !== 'run') return;
  const { request, settings, bound } = prepared;
  facts.first ??= { id, body: describeBody(request.post.body) };
  const { model } = request;
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
  if (isEdited.isSame) edited.stale++;
  const currency = getCurrency(findPrice(settings.prices, model) ?? {});
  edited.most = bound?.isMost && edited.most ? addCost(edited.most, { amount: bound.amount, currency }) : undefined;
}

/** What no job can know of itself: where the requests go, and whether a key may go there. */
async function checkGateways({ gateways }: BatchPlan, jobs: Batch['jobs'], context: Context): Promise<void> {
  if (gateways.size === 0) {
    // This shard has no job.
    const { value } = await jobs.read(() => undefined).next();
    gateways.set('', { settings: await jobs.settingsOf(value as Job), forms: {} });
  }
  if (gateways.size > 1) requireOwnKeys([...gateways.values()].map(({ settings }) => settings));
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
