import { Big } from 'big.js';
import { isObject, type JsonObject, type JsonValue, listField, numberField, objectField, textField } from '../json.ts';
import type { Price, Prices } from '../settings/types.ts';
import { nameInPriceList } from '../vendors/price-lists.ts';
import { isWholePrice } from './price.ts';

/** The prices in a list that others keep, as settings have them. */
export interface ReadPrices {
  /** Whose list it is. */
  source: 'models.dev' | 'LiteLLM';
  prices: Prices;
  /** How many models the list has in all. */
  listed: number;
}

/**
 * Reads the list of models.dev (`api.json`) or of LiteLLM: the models of a service, else all by the name of their provider too.
 * Undefined for anything else. A model without a price of input and output is left out: none is guessed.
 */
export function readPriceList(list: JsonValue, service: string | undefined): ReadPrices | undefined {
  if (!isObject(list)) return undefined;
  const rows = Object.values(list).filter(isObject);
  if (rows.some((row) => isObject(row['models']))) return readModelsDev(list, service);
  return rows.some((row) => 'litellm_provider' in row) ? readLitellm(list, service) : undefined;
}

function readModelsDev(list: JsonObject, service: string | undefined): ReadPrices {
  const wanted = service === undefined ? undefined : nameInPriceList(service, 'modelsDev');
  const models = Object.entries(list).flatMap(([provider, held]) =>
    Object.entries((isObject(held) && objectField(held, 'models')) || {}).map(([id, model]) => ({
      provider,
      id,
      model,
    })),
  );
  const chosen = wanted === undefined ? models : models.filter(({ provider }) => provider === wanted);
  const entries = chosen.map(({ provider, id, model }): [string, Price | undefined] => {
    const cost = isObject(model) ? objectField(model, 'cost') : undefined;
    return [wanted === undefined ? `${provider}/${id}` : id, cost && readModelsDevCost(cost)];
  });
  return { source: 'models.dev', prices: keepWhole(entries), listed: models.length };
}

/** Amounts in USD for a million tokens. */
function readModelsDevCost(cost: JsonObject): Price {
  const over = objectField(cost, 'context_over_200k');
  const tiers = (listField(cost, 'tiers') ?? []).filter(isObject).flatMap((held) => {
    const above = numberField(objectField(held, 'tier') ?? {}, 'size');
    return above === undefined ? [] : [{ above, ...readModelsDevAmounts(held) }];
  });
  const steps = tiers.length === 0 && over ? [{ above: 200_000, ...readModelsDevAmounts(over) }] : tiers;
  return { ...readModelsDevAmounts(cost), ...(steps.length > 0 && { tiers: steps }) };
}

function readModelsDevAmounts(cost: JsonObject): Price {
  return readAmounts(cost, 1, {
    input: 'input',
    output: 'output',
    cached: 'cache_read',
    cacheWrite: 'cache_write',
    thinking: 'reasoning',
  });
}

function readLitellm(list: JsonObject, service: string | undefined): ReadPrices {
  const { sample_spec: _, ...models } = list;
  const wanted = service === undefined ? undefined : nameInPriceList(service, 'litellm');
  const entries = Object.entries(models).flatMap(([name, row]): [string, Price][] => {
    if (!isObject(row) || (wanted !== undefined && textField(row, 'litellm_provider') !== wanted)) return [];
    const own = wanted !== undefined && name.startsWith(`${wanted}/`) ? name.slice(wanted.length + 1) : name;
    return [[own, readLitellmPrice(row)]];
  });
  return { source: 'LiteLLM', prices: keepWhole(entries), listed: Object.keys(models).length };
}

/** Amounts in USD for one token; those of long prompts have names such as `input_cost_per_token_above_200k_tokens`. */
function readLitellmPrice(row: JsonObject): Price {
  const lengths = Object.keys(row).flatMap((key) => /^input_cost_per_token_above_(\d+)k_tokens$/.exec(key)?.[1] ?? []);
  const tiers = lengths.map((thousands) => {
    const behind = `_above_${thousands}k_tokens`;
    return { above: Number(thousands) * 1000, ...readLitellmAmounts(row, behind) };
  });
  const image = readAmounts(row, 1, { image: 'output_cost_per_image' });
  return { ...readLitellmAmounts(row, ''), ...image, ...(tiers.length > 0 && { tiers }) };
}

function readLitellmAmounts(row: JsonObject, behind: string): Price {
  return readAmounts(row, 1_000_000, {
    input: `input_cost_per_token${behind}`,
    output: `output_cost_per_token${behind}`,
    cached: `cache_read_input_token_cost${behind}`,
    cacheWrite: `cache_creation_input_token_cost${behind}`,
    ...(behind === '' && {
      cacheWriteLong: 'cache_creation_input_token_cost_above_1hr',
      thinking: 'output_cost_per_reasoning_token',
    }),
  });
}

/** The amounts that an object has, as decimal texts. */
function readAmounts(held: JsonObject, times: number, names: Readonly<Record<string, string>>): Price {
  const entries = Object.entries(names).flatMap(([name, key]) => {
    const amount = numberField(held, key);
    return amount !== undefined && amount >= 0 ? [[name, new Big(amount).times(times).toFixed()]] : [];
  });
  return Object.fromEntries(entries) as Price;
}

function keepWhole(entries: readonly (readonly [string, Price | undefined])[]): Prices {
  const kept = entries.filter(([name, price]) => /^\S{1,200}$/.test(name) && price && isWholePrice(price));
  return Object.fromEntries(kept) as Prices;
}
