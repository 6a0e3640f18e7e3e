import {
  field,
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  numberField,
  objectField,
  textField,
} from '../json.ts';
import { listEfforts } from '../vendors/effort.ts';
import type { ModelFacts } from '../vendors/model-rules.ts';

/** A model that a service offers; absent means that its list does not say. */
export interface ListedModel extends ModelFacts {
  /** The name that `-m` takes, without `models/`. */
  id: string;
  /** The name of the model for people. */
  title: string | undefined;
  /** The operations that it supports, if the list has them: `generateContent`. */
  operations: string[] | undefined;
  /** The most tokens that the model takes, and the most that it gives. */
  context?: number | undefined;
  outputLimit?: number | undefined;
  /** The inputs that the model takes: `text`, `image`. */
  inputs?: string[] | undefined;
  outputs?: string[] | undefined;
  /** USD for a million tokens, as decimals. */
  prices?: { input?: string; output?: string; cached?: string } | undefined;
}

/** Reads an entry of the list of any service. An entry without a name is left out: it cannot be requested. */
export function readListedModel(entry: JsonValue): ListedModel[] {
  if (!isObject(entry)) return [];
  // Beside an id, `name` is the name for people; LM Studio's own list has a key.
  const [id = '', name] = ['id', 'key', 'name'].flatMap((key) => textField(entry, key) ?? []);
  if (id === '') return [];
  const operations = listField(entry, 'supportedGenerationMethods')?.filter((method) => typeof method === 'string');
  const facts: Omit<ListedModel, 'id' | 'title' | 'operations'> = {
    ...readLife(entry),
    ...readModalities(entry),
    ...readEfforts(entry),
    createdAt: readTime(['createdAt', 'created', 'modifiedAt'].map((key) => field(entry, key)).find((time) => time)),
    context: readCount(entry, contextNames),
    outputLimit: readCount(entry, outputNames),
    prices: readListedPrices(objectField(entry, 'pricing')),
    isLoaded: (listField(entry, 'loadedInstances')?.length ?? 0) > 0 || undefined,
  };
  const known = Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
  const title = textField(entry, 'displayName') ?? name;
  return [{ id: id.replace(/^models\//, ''), title, operations, ...known }];
}

/** The end of a model as OpenAI, Anthropic, OpenRouter and Mistral tell it. */
function readLife(entry: JsonObject): Pick<ListedModel, 'endsOn' | 'lifecycle' | 'successor' | 'line'> {
  const ends = ['shutdownDate', 'retiresAt', 'expirationDate', 'deprecation'].map((key) => field(entry, key));
  const endsOn = readTime(ends.find((end) => end))?.slice(0, 10);
  const isDeprecated = entry['deprecated'] === true || (field(entry, 'deprecatedAt') ?? undefined) !== undefined;
  return {
    endsOn,
    lifecycle: textField(entry, 'lifecycle') ?? (isDeprecated ? 'deprecated' : undefined),
    successor: textField(entry, 'deprecationReplacementModel') ?? textField(entry, 'successor'),
    line: textField(entry, 'line'),
  };
}

const contextNames = 'inputTokenLimit maxInputTokens contextLength contextWindow maxContextLength maxModelLen'.split(
  ' ',
);
const outputNames = 'outputTokenLimit maxOutputTokens maxCompletionTokens maxTokens'.split(' ');

function readCount(entry: JsonObject, names: readonly string[]): number | undefined {
  const places = [entry, objectField(entry, 'topProvider') ?? {}];
  const counts = places.flatMap((place) => names.map((name) => numberField(place, name)));
  return counts.find((count) => Number.isSafeInteger(count) && Number(count) > 0);
}

/** OpenRouter lists them, Anthropic has a switch for each, Mistral and LM Studio one for pictures, Together a type. */
function readModalities(entry: JsonObject): Pick<ListedModel, 'inputs' | 'outputs'> {
  const architecture = objectField(entry, 'architecture') ?? {};
  const listed = {
    inputs: wordsIn(architecture, 'inputModalities'),
    outputs: wordsIn(architecture, 'outputModalities'),
  };
  if (listed.inputs ?? listed.outputs) return listed;
  const capabilities = objectField(entry, 'capabilities');
  const type = textField(entry, 'type');
  if (type === 'image') return { outputs: ['image'] };
  const can = (name: string): boolean => isSupported(capabilities, name);
  if (capabilities === undefined) return type === 'chat' || type === 'language' ? { outputs: ['text'] } : {};
  const more = [...(can('imageInput') || can('vision') ? ['image'] : []), ...(can('pdfInput') ? ['pdf'] : [])];
  return { inputs: ['text', ...more] };
}

/** Whether a list has a switch that is on. */
function isSupported(switches: JsonObject | undefined, name: string): boolean {
  const value = switches && field(switches, name);
  return value === true || (isObject(value) && value['supported'] === true);
}

/** Anthropic has a switch for each word, and for the value that turns thinking off; OpenRouter has a list. */
function readEfforts(entry: JsonObject): Pick<ListedModel, 'efforts' | 'thinkingOff'> {
  const reasoning = objectField(entry, 'reasoning');
  const listed = reasoning && wordsIn(reasoning, 'supportedEfforts');
  if (listed) return { efforts: listEfforts(field(reasoning, 'mandatory') === true ? listed : ['none', ...listed]) };
  const capabilities = objectField(entry, 'capabilities') ?? {};
  const effort = objectField(capabilities, 'effort');
  if (effort === undefined) return {};
  const types = objectField(objectField(capabilities, 'thinking') ?? {}, 'types');
  const off = ['disabled', 'between_tools'].find((name) => isSupported(types, name));
  const words = isSupported(effort, 'supported') ? Object.keys(effort).filter((name) => isSupported(effort, name)) : [];
  return {
    efforts: listEfforts(off === undefined ? words : ['none', ...words]),
    thinkingOff: off === 'between_tools' ? off : undefined,
  };
}

function wordsIn(object: JsonObject, name: string): string[] | undefined {
  return listField(object, name)?.filter((word) => typeof word === 'string');
}

/** Texts are for one token (OpenRouter), numbers for a million (Together). A price below 0 is not known before the reply. */
function readListedPrices(pricing: JsonObject | undefined): ListedModel['prices'] {
  if (pricing === undefined) return undefined;
  const read = (...names: string[]): string | undefined => {
    const price = names.map((name) => field(pricing, name)).find((value) => value !== undefined);
    const amount = typeof price === 'string' ? Number(price) * 1e6 : price;
    if (typeof amount !== 'number' || !(amount >= 0)) return undefined;
    return String(Number(amount.toPrecision(12)));
  };
  const prices = {
    input: read('prompt', 'input'),
    output: read('completion', 'output'),
    cached: read('inputCacheRead', 'cachedInput'),
  };
  const known = Object.entries(prices).filter(([, price]) => price !== undefined);
  return known.length === 0 ? undefined : (Object.fromEntries(known) as ListedModel['prices']);
}

/** A time in ISO 8601: services write seconds, days or ISO 8601. */
function readTime(time: JsonValue | undefined): string | undefined {
  const ms = typeof time === 'number' ? time * 1000 : typeof time === 'string' ? Date.parse(time) : NaN;
  return Math.abs(ms) < 8e15 && ms > 0 ? new Date(ms).toISOString() : undefined;
}
