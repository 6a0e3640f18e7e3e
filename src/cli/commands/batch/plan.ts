import {
  type Batch,
  type BatchPlan,
  type EditedRow,
  getRequestOrigin,
  type Job,
  maxNamed,
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
import { collectLineErrors, duplicateError, type JobSource, type LineErrors } from './jobs/source.ts';
import { ownSettings } from './own-settings.ts';
import { noteOtherShards, openRedo, requireUsed } from './redo.ts';
import type { FoundRow } from './row-names.ts';

/** The facts of a plan that people are told, beside those that the run needs. */
export interface BatchPlanFacts {
  /**
   * Jobs that are sent because they were edited: their number, the number of those that only use a newer result, whether some of them
   * may be new, and the most that they can cost if known.
   */
  edited: { places: number[]; jobs: number; stale: number; mayBeNew: boolean; most: readonly Cost[] | undefined };
  /** The first jobs that are sent again, by their places. */
  again: number[];
  /** The number of jobs that are sent for the first time and were not edited, and the places of the first of them. */
  fresh: { places: number[]; jobs: number };
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
  const edited = { places: [], jobs: 0, stale: 0, mayBeNew: false, most: [] };
  const pricing = { hasPrices: false, currencies: new Set<string>(), warnings: new Set<string>() };
  return { edited, again: [], fresh: { places: [], jobs: 0 }, pricing };
}

interface PlanJobs extends Pick<Batch, 'host' | 'jobs' | 'outdir' | 'policy' | 'state' | 'shard'> {
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
  const built = keepBuilt(facts);
  const plan = await planBatch({
    ...batch,
    signal: context.signal,
    onFault: (error) => (lineErrors ??= collectLineErrors(source)).add(error),
    async onDuplicate(job) {
      if (lineErrors?.isFull) return lineErrors.countAnother();
      throw await duplicateError(job, source);
    },
    onRow: (job, place) => redo?.see(job, place),
    ...built,
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
    await noteOtherShards(named, { ...batch, plan, flags }, context);
  }
  return plan;
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

/** Keeps what the requests that were built can cost, and counts those that are sent. */
function keepBuilt(facts: BatchPlanFacts) {
  /** The most that the requests of rows can cost, by their places. */
  const mostOf: (Cost | undefined)[] = [];
  return {
    onBuilt(place: number, { request, settings, bound }: PreparedJob): void {
      if (!bound?.isMost) return;
      const currency = getCurrency(findPrice(settings.prices, request.model) ?? {});
      mostOf[place] = { amount: bound.amount, currency };
    },
    onDue(place: number, isAgain: boolean, isEdited: EditedRow | undefined): void {
      if (isAgain && facts.again.length <= maxNamed) facts.again.push(place);
      if (!isAgain && !isEdited && facts.fresh.jobs++ < maxNamed) facts.fresh.places.push(place);
      if (!isEdited) return;
      const { edited } = facts;
      if (edited.jobs++ < maxNamed) edited.places.push(place);
      if (isEdited.isStale) edited.stale++;
      edited.mayBeNew ||= isEdited.mayBeNew;
      const most = mostOf[place];
      edited.most = most && edited.most ? addCost(edited.most, most) : undefined;
    },
  };
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
