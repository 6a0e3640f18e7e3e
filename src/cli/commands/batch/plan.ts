import {
  type Batch,
  type BatchPlan,
  getRequestOrigin,
  type Job,
  planBatch,
  type PreparedJob,
} from '../../../batch/index.ts';
import { addCost, type Cost, findOwn, findPrice, getCurrency, usageError } from '../../../library/index.ts';
import { keyForAnyOrigin } from '../../settings/key.ts';
import { Secret } from '../../settings/redact.ts';
import type { Settings } from '../../settings/types.ts';
import type { Context } from '../../context.ts';
import { priceWarning, requireOneCurrency, requirePrice } from '../../run/costs.ts';
import { createDryClient } from '../../run/client.ts';
import { type BatchFlags, requireOneLane } from './flags.ts';
import type { RequestBuilder } from './jobs/request.ts';
import { collectLineErrors, duplicateError, type JobSource, type LineErrors } from './jobs/source.ts';
import type { TypedFolder } from './next-command.ts';
import { ownSettings } from './own-settings.ts';
import { noteOtherShards, openRedo, requireUsed } from './redo.ts';
import type { FoundRow } from './row-names.ts';

/** The facts of a plan that people are told, beside those that the run needs. */
export interface BatchPlanFacts {
  /** The most that the requests of jobs can cost, by their places; absent for those that were not built, or have no price. */
  mostOf: (Cost | undefined)[];
  pricing: PriceFacts;
}

/** Facts of the prices of jobs. */
interface PriceFacts {
  /** Some job has a price. */
  hasPrices: boolean;
  currencies: Set<string>;
  /** The warnings that people were told. */
  warnings: Set<string>;
}

export function emptyFacts(): BatchPlanFacts {
  const pricing = { hasPrices: false, currencies: new Set<string>(), warnings: new Set<string>() };
  return { mostOf: [], pricing };
}

interface PlanJobs extends Pick<Batch, 'host' | 'jobs' | 'outdir' | 'policy' | 'state' | 'shard'> {
  folder: TypedFolder | undefined;
  facts: BatchPlanFacts;
  source: JobSource;
  flags: BatchFlags;
  context: Context;
  /** Called after each job of the file. */
  onChecked: () => void;
}

/** Plans a run by its flags. Throws GatewayError usage with file and line, and batch-edited. */
export async function planJobs({ facts, source, flags, context, ...batch }: PlanJobs): Promise<BatchPlan> {
  let lineErrors: LineErrors | undefined;
  const redo = flags.redo && openRedo(flags.redo, { ...batch, source });
  let named: readonly FoundRow[] | undefined;
  const plan = await planBatch({
    ...batch,
    signal: context.signal,
    onFault: (error) => (lineErrors ??= collectLineErrors(source)).add(error),
    async onDuplicate(job) {
      if (lineErrors?.isFull) return lineErrors.countAnother();
      throw await duplicateError(job, source);
    },
    onRow: (job, place) => redo?.see(job, place),
    onBuilt: (place, prepared) => keepMost(place, prepared, facts),
    async afterAll(read) {
      lineErrors?.throwIfAny();
      if (read.total === 0) throw usageError(`${source.name} contains no jobs`, source.lineForm);
      named = await redo?.find(read.table);
      // The prices of jobs that are not built are not checked.
      facts.pricing.hasPrices ||= [...read.gateways.values()].some(
        ({ settings }) => Object.keys(settings.prices).length > 0,
      );
      await checkGateways(read.gateways, batch.jobs, context);
      const lanes = new Set([...read.gateways.values()].map(({ settings }) => settings.lane));
      if (lanes.has('batch') || flags.wait === false) requireOneLane(lanes, flags);
      return named && new Set(named.map(({ place }) => place));
    },
  });
  if (named) {
    requireUsed(named, { ...batch, plan });
    await noteOtherShards(named, { ...batch, plan }, context);
  }
  return plan;
}

interface PlanPricing extends Pick<Batch, 'state'> {
  facts: Pick<BatchPlanFacts, 'pricing'>;
  flags: BatchFlags;
  context: Context;
}

/** Builds requests of jobs, each once its price was checked. */
export function preparePriced(
  { settingsOf, prepare }: Pick<RequestBuilder, 'settingsOf' | 'prepare'>,
  planning: PlanPricing,
): (job: Job) => Promise<PreparedJob> {
  return async (job) => {
    await checkPrice(await settingsOf(job), job, planning);
    return prepare(job);
  };
}

/** Throws GatewayError usage if a job has no price, or one of another currency, and a budget is given. */
async function checkPrice(settings: Settings, job: Pick<Job, 'values'>, planning: PlanPricing): Promise<void> {
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
  const named = values['fallback'] ?? settings.fallback;
  const models = typeof named === 'string' ? [model, findOwn(aliases, named) ?? named] : [model];
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

/** Keeps the most that a request which was built can cost. */
function keepMost(place: number, { request, settings, bound }: PreparedJob, { mostOf }: BatchPlanFacts): void {
  if (!bound?.isMost) return;
  const currency = getCurrency(findPrice(settings.prices, request.model) ?? {});
  mostOf[place] = { amount: bound.amount, currency };
}

/** The most that some jobs can cost; undefined if that is not known of each. */
export function sumMost(places: readonly number[], { mostOf }: BatchPlanFacts): readonly Cost[] | undefined {
  const most = places.flatMap((place) => mostOf[place] ?? []);
  return most.length < places.length ? undefined : most.reduce<readonly Cost[]>(addCost, []);
}

/** Checks the gateways of the requests, which no job can do by itself, and whether a key may go there. */
async function checkGateways(gateways: BatchPlan['gateways'], jobs: Batch['jobs'], context: Context): Promise<void> {
  if (gateways.size === 0) {
    // This shard has no job, so the gateway is that of the first job of the file.
    const { value } = await jobs.read(() => undefined).next();
    gateways.set('', { settings: await jobs.settingsOf(value as Job), forms: {} });
  }
  if (gateways.size > 1) requireOwnKeys([...gateways.values()].map(ownSettings));
  for (const gateway of gateways.values()) {
    if (gateway.settings.offline || gateway.post === undefined) continue;
    (await createDryClient(ownSettings(gateway), context, gateway.forms)).address(gateway.post);
  }
}

/** Throws GatewayError usage if a key or a secret header of no origin would go to several. */
export function requireOwnKeys(gateways: readonly Settings[]): void {
  const remote = gateways.filter(({ offline }) => !offline);
  const origins = new Set(remote.map(getRequestOrigin));
  if (origins.size < 2) return;
  const hosts = [...origins].join(' and ');
  const key = remote.map((settings) => keyForAnyOrigin(settings.key)).find((name) => name !== undefined);
  if (key !== undefined)
    throw usageError(
      `the jobs go to ${hosts}, and the key of ${key} would go to all of them`,
      `leave ${key} out; each profile has its own key: gateway-cli config set apiKey - --profile <name>`,
    );
  for (const { headers, origins } of remote)
    for (const { name, value } of headers) {
      const origin = origins.headers[name];
      if (origin?.kind !== 'flag' || !(value instanceof Secret)) continue;
      throw usageError(
        `the jobs go to ${hosts}, and header ${name} (${origin.from}) would go to all of them`,
        `put it into the headers of its profile: gateway-cli config set headers.${name} - --profile <name>`,
      );
    }
}
