import { GatewayError, usageError } from '../../errors.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { isObject } from '../../json.ts';
import { closest } from '../../settings/closest.ts';
import { isCredentialName } from '../../settings/redact.ts';
import { keyForms, priceFields } from '../../settings/definition.ts';
import { type Row, settings } from '../../settings/table.ts';
import { checkConfig } from '../../settings/parse.ts';
import { requireProfileName } from '../../settings/profile.ts';
import type { Config, LoadedConfig } from '../../settings/types.ts';
import { quote } from '../../cli/flags/flag.ts';
import { shellWord } from '../../shell-word.ts';

/** Every key of a profile, dotted; `headers.<Name>` and `prices.<model>.<field>` come beside them. */
const profileKeys: ReadonlyMap<string, Row> = new Map(
  Object.values<Row>(settings).flatMap((row): [string, Row][] => {
    const { key, fields, kind } = row;
    if (key === undefined || kind === 'headers' || kind === 'prices') return [];
    if (fields === undefined) return [[key, row]];
    return Object.entries(fields).map(([field, { examples }]) => [`${key}.${field}`, { ...row, examples }]);
  }),
);

/** The keys for suggestions and completion; those of `keysText` come beside them. */
export const configKeys: readonly string[] = [...profileKeys.keys()];

/** All keys, for help. */
export const keysText = [...configKeys, 'headers.<Name>', 'prices.<model>.<field>'].join(', ');

/** What a key can be set to, where that is a short list. */
export function valuesOfKey(key: string): readonly string[] {
  const { kind, values = [] } = profileKeys.get(key) ?? {};
  return kind === 'switch' ? ['true', 'false'] : values;
}

/** Whether the value of a key must not stand in argv. */
export function isSecretKey(key: string): boolean {
  return key === 'apiKey' || (isHeaderKey(key) && isCredentialName(key.slice('headers.'.length)));
}

/** The command that sets a key, for hints. */
export function settingCommand(key: string): string {
  const example = exampleOf(key);
  if (key.startsWith('prices') && example !== undefined) return example;
  return isSecretKey(key)
    ? `gateway-cli config set ${shellWord(key)} -   (it asks, or reads stdin)`
    : `gateway-cli config set ${shellWord(key)} <value>`;
}

/** Throws GatewayError usage for an unknown key, naming the nearest. */
export function requireKey(key: string): string {
  if (profileKeys.has(key) || isHeaderKey(key) || isPriceKey(key)) return key;
  const near = closest(key, configKeys);
  const hint = near === undefined ? `keys are ${keysText}` : `did you mean: ${near}?`;
  throw usageError(`there is no setting ${quote(key)}`, key === 'profile' ? 'gateway-cli config use <profile>' : hint);
}

/** The config with one key of a profile set; the profile is made where it is not there. Throws GatewayError usage. */
export function withValue(loaded: LoadedConfig, profile: string, { key, word }: { key: string; word: string }): Config {
  const { config, path } = loaded;
  requireProfileName(profile);
  const before: JsonObject = { ...(config.profiles[profile] as JsonObject | undefined) };
  // One key is enough: the others of the profile would contradict it.
  if (keyForms.some((form) => form === key)) for (const form of keyForms) delete before[form];
  const after = place(before, stepsOf(key), jsonOf(key, word));
  try {
    return checkConfig({ ...config, profiles: { ...config.profiles, [profile]: after } }, path);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const message = error.message.replace(`${path}: `, '').replace(`profiles.${profile}.`, '');
    throw usageError(message, exampleOf(key) ?? `gateway-cli config list --profile ${profile}`, error);
  }
}

/** The value that a typed word stands for. */
function jsonOf(key: string, word: string): JsonValue {
  if (isPriceKey(key) && priceFieldOf(key) === undefined) return jsonObjectOf(key, word);
  const kind = profileKeys.get(key)?.kind;
  if ((kind === 'count' || kind === 'duration') && /^\d{1,15}$/.test(word)) return Number(word);
  if (kind === 'switch' && /^(?:true|false)$/.test(word)) return word === 'true';
  if (kind !== 'command' || !word.startsWith('[')) return word;
  try {
    return JSON.parse(word) as JsonValue;
  } catch (error) {
    throw usageError(`${key} is not a JSON list`, exampleOf(key), error);
  }
}

/** All prices, or that of one model. What ends like a mistyped field is told as such. */
function jsonObjectOf(key: string, word: string): JsonValue {
  const near = word.startsWith('{') ? undefined : closest(key.slice(key.lastIndexOf('.') + 1), priceFields);
  if (near !== undefined && key.split('.').length > 2)
    throw usageError(
      `${key} is not a JSON object, and names no field of a price: ${priceFields.join(', ')}`,
      `did you mean: ${key.slice(0, key.lastIndexOf('.'))}.${near}?`,
    );
  try {
    return JSON.parse(word) as JsonValue;
  } catch (error) {
    throw usageError(`${key} is not a JSON object`, exampleOf(key), error);
  }
}

/** The config without one key of a profile, or without a whole group (`models`); undefined where it was not there. */
export function withoutKey({ config }: LoadedConfig, profile: string, key: string): Config | undefined {
  const before = config.profiles[profile] as JsonObject | undefined;
  if (before === undefined || valueAt(before, stepsOf(key)) === undefined) return undefined;
  return {
    ...config,
    profiles: { ...config.profiles, [profile]: cut(before, stepsOf(key)) as Config['profiles'][''] },
  };
}

/** Groups that `unset` can take away whole. */
export const keyGroups: readonly string[] = [
  ...new Set(configKeys.filter((key) => key.includes('.')).map((key) => stepsOf(key)[0] ?? '')),
  'headers',
  'prices',
];

function isHeaderKey(key: string): boolean {
  return /^headers\../.test(key);
}

/** `prices`, `prices.<model>` or `prices.<model>.<field>`. */
function isPriceKey(key: string): boolean {
  return key === 'prices' || /^prices\../.test(key);
}

function priceFieldOf(key: string): string | undefined {
  return /^prices\..+\.(\w+)$/
    .exec(key)
    ?.slice(1)
    .find((field) => priceFields.some((known) => known === field));
}

/** The name of a header or of a model may hold dots of its own. */
function stepsOf(key: string): string[] {
  const at = key.indexOf('.');
  if (at < 0) return [key];
  const field = isPriceKey(key) ? priceFieldOf(key) : undefined;
  if (field === undefined) return [key.slice(0, at), key.slice(at + 1)];
  return [key.slice(0, at), key.slice(at + 1, -field.length - 1), field];
}

function place(at: JsonObject, [step = '', ...rest]: readonly string[], value: JsonValue): JsonObject {
  const inner = at[step];
  if (rest.length === 0) return { ...at, [step]: value };
  return { ...at, [step]: place(isObject(inner) ? inner : {}, rest, value) };
}

function valueAt(at: JsonObject, [step = '', ...rest]: readonly string[]): JsonValue | undefined {
  const inner = Object.hasOwn(at, step) ? at[step] : undefined;
  if (rest.length === 0) return inner;
  return isObject(inner) ? valueAt(inner, rest) : undefined;
}

function cut(at: JsonObject, [step = '', ...rest]: readonly string[]): JsonObject {
  const { [step]: inner, ...others } = at;
  if (rest.length === 0 || !isObject(inner)) return others;
  const left = cut(inner, rest);
  return Object.keys(left).length === 0 ? others : { ...others, [step]: left };
}

function exampleOf(key: string): string | undefined {
  if (isPriceKey(key)) return exampleOfPrice(key);
  const [example = valuesOfKey(key)[0]] = profileKeys.get(key)?.examples ?? [];
  if (example === undefined) return undefined;
  const typed = typeof example === 'string' ? example : JSON.stringify(example);
  return `gateway-cli config set ${shellWord(key)} ${shellWord(typed)}`;
}

function exampleOfPrice(key: string): string {
  const field = priceFieldOf(key);
  const price = { input: '0.30', output: '2.50' };
  const value = key === 'prices' ? { 'some-model': price } : price;
  const typed = field === undefined ? JSON.stringify(value) : field === 'currency' ? 'USD' : '0.30';
  return `gateway-cli config set ${shellWord(key)} ${shellWord(typed)}`;
}
