import type { BatchState, GatewaySettings, Job, PreparedJob } from '../../../batch/index.ts';
import { addCost, type Cost, findOwn, findPrice, getCurrency } from '../../../library/index.ts';
import type { Context } from '../../context.ts';
import { priceWarning, requireOneCurrency, requirePrice } from '../../run/costs.ts';
import type { Settings } from '../../settings/types.ts';
import type { BatchFlags } from './flags.ts';
import type { RequestBuilder } from './jobs/request.ts';

/** The prices of the jobs of a run, as far as these were read. */
export type JobPrices = ReturnType<typeof openJobPrices>;

export function openJobPrices({ flags, state, context }: { flags: BatchFlags; state: BatchState; context: Context }) {
  let isPriced = false;
  const currencies = new Set<string>();
  const warnings = new Set<string>();
  const mostOf: (Cost | undefined)[] = [];
  const see = ({ prices }: Pick<GatewaySettings, 'prices'>): void => {
    isPriced ||= Object.keys(prices).length > 0;
  };
  return {
    /** Whether some job has a price. */
    hasAny: (): boolean => isPriced,
    see,
    /** Throws GatewayError usage if a job has no price, or one of another currency, and a budget is given. */
    async check(settings: Settings, { values }: Pick<Job, 'values'>): Promise<void> {
      see(settings);
      const { prices, model, aliases, budget } = settings;
      if (budget === undefined && flags.maxCost === undefined && !isPriced) return;
      const named = values['fallback'] ?? settings.fallback;
      const models = typeof named === 'string' ? [model, findOwn(aliases, named) ?? named] : [model];
      if (budget !== undefined) for (const name of models) requirePrice(prices, name, '--budget');
      if (flags.maxCost !== undefined) {
        for (const name of models) currencies.add(getCurrency(requirePrice(prices, name)));
        return requireOneCurrency([...state.spending.costs.map(({ currency }) => currency), ...currencies]);
      }
      const warning = isPriced ? priceWarning(settings) : undefined;
      if (warning === undefined || warnings.has(warning)) return;
      warnings.add(warning);
      await context.ui.warn(warning);
    },
    /** Keeps the most that a request which was built can cost. */
    keepMost(place: number, { request, settings, bound }: PreparedJob): void {
      if (!bound?.isMost) return;
      const currency = getCurrency(findPrice(settings.prices, request.model) ?? {});
      mostOf[place] = { amount: bound.amount, currency };
    },
    /** The most that some jobs can cost; undefined if that is not known of each. */
    sumMost(places: readonly number[]): readonly Cost[] | undefined {
      const most = places.flatMap((place) => mostOf[place] ?? []);
      return most.length < places.length ? undefined : most.reduce<readonly Cost[]>(addCost, []);
    },
  };
}

/** Builds requests of jobs, each once its price was checked. */
export function preparePriced(
  { settingsOf, prepare }: Pick<RequestBuilder, 'settingsOf' | 'prepare'>,
  prices: JobPrices,
): (job: Job) => Promise<PreparedJob> {
  return async (job) => {
    await prices.check(await settingsOf(job), job);
    return prepare(job);
  };
}
