import { Big } from 'big.js';
import { isObject, type JsonObject, type JsonValue, listField, numberField, objectField } from '../json.ts';
import type { Price, Prices } from './types.ts';
import { nameInPriceList } from '../vendors/price-lists.ts';
import { isWholePrice } from './price.ts';

/** The prices in a list that others keep, as settings have them. */
interface ReadPrices {
  prices: Prices;
  /** Number of all models in the list. */
  listed: number;
}

/**
 * Reads the list of models.dev (`api.json`): the models of a service, otherwise all, also under the name of their provider.
 * Undefined for any other text. A model without a price of input and output is left out: no price is guessed.
 */
export function readPriceList(list: JsonValue, service: string | undefined): ReadPrices | undefined {
  if (!isObject(list) || !Object.values(list).some((row) => isObject(row) && isObject(row['models']))) return undefined;
  const wanted = service === undefined ? undefined : nameInPriceList(service);
  const models = Object.entries(list).flatMap(([provider, row]) =>
    Object.entries((isObject(row) && objectField(row, 'models')) || {}).map(([id, model]) => ({
      provider,
      id,
      model,
    })),
  );
  const chosen = wanted === undefined ? models : models.filter(({ provider }) => provider === wanted);
  const entries = chosen.map(({ provider, id, model }): [string, Price | undefined] => [
    wanted === undefined ? `${provider}/${id}` : id,
    isObject(model) ? readPrice(model) : undefined,
  ]);
  return { prices: keepWhole(entries), listed: models.length };
}

/** Amounts in USD for a million tokens. */
function readPrice(model: JsonObject): Price | undefined {
  const cost = objectField(model, 'cost');
  if (cost === undefined) return undefined;
  const { input = [], output = [] } = objectField(model, 'modalities') ?? {};
  const modalities = { input: [input].flat(), output: [output].flat() };
  const over = objectField(cost, 'context_over_200k');
  const tiers = (listField(cost, 'tiers') ?? []).filter(isObject).flatMap((row) => {
    const above = numberField(objectField(row, 'tier') ?? {}, 'size');
    return above === undefined ? [] : [{ above, ...readAmounts(row, modalities) }];
  });
  const steps = tiers.length === 0 && over ? [{ above: 200_000, ...readAmounts(over, modalities) }] : tiers;
  return { ...readAmounts(cost, modalities), ...(steps.length > 0 && { tiers: steps }) };
}

/**
 * The list has amounts of sound where they are "billed separately", as its README says, and none of pictures: the output of a
 * model that makes pictures has their amount, and the cost of pictures in the request to such a model is not in the list.
 */
function readAmounts(cost: JsonObject, modalities: { input: JsonValue[]; output: JsonValue[] }): Price {
  const makesImages = modalities.output.includes('image');
  const keys: Readonly<Record<string, readonly (string | false)[]>> = {
    input: ['input'],
    output: ['output'],
    cached: ['cache_read'],
    cacheWrite: ['cache_write'],
    thinking: ['reasoning'],
    imageInput: [modalities.input.includes('image') && !makesImages && 'input'],
    audioInput: ['input_audio', modalities.input.includes('audio') && 'input'],
    imageOutput: [makesImages && 'output'],
    audioOutput: ['output_audio', modalities.output.includes('audio') && 'output'],
  };
  const entries = Object.entries(keys).flatMap(([name, places]) => {
    const amount = places.map((key) => (key ? numberField(cost, key) : undefined)).find((found) => found !== undefined);
    return amount !== undefined && amount >= 0 ? [[name, new Big(amount).toFixed()]] : [];
  });
  return Object.fromEntries(entries) as Price;
}

function keepWhole(entries: readonly (readonly [string, Price | undefined])[]): Prices {
  const kept = entries.filter(([name, price]) => /^\S{1,200}$/.test(name) && price && isWholePrice(price));
  return Object.fromEntries(kept) as Prices;
}
