import {
  closest,
  findOwn,
  GatewayError,
  isObject,
  type JsonObject,
  type JsonValue,
  serviceTiers,
  shellWord,
  usageError,
} from '../../../library/index.ts';
import { quoteWord } from '../../flags/flag.ts';
import { amountFields, keyForms, priceFields } from '../../settings/definition.ts';
import { checkConfig } from '../../settings/parse.ts';
import { requireProfileName } from '../../settings/profile-name.ts';
import { isCredentialName } from '../../settings/redact.ts';
import { type SettingDefinition, settings } from '../../settings/table.ts';
import type { Config, LoadedConfig, Profile } from '../../settings/types.ts';

/** One value of a profile: its place, and its possible values. */
interface Key extends Pick<SettingDefinition, 'kind' | 'values'> {
  /** The names that lead to the value. The name of a header or of a model can hold dots. */
  steps: readonly string[];
  example?: unknown;
}

/** Every key of a profile, dotted; `headers.<Name>` and `prices.<model>.<field>` come beside them. */
const profileKeys: ReadonlyMap<string, Key> = new Map(
  Object.values<SettingDefinition>(settings).flatMap(({ key, fields, kind, values, examples }): [string, Key][] => {
    if (key === undefined || kind === 'headers' || kind === 'prices') return [];
    const toKeyEntry = (steps: string[], example: unknown): [string, Key] => [
      steps.join('.'),
      { kind, values: kind === 'switch' ? ['true', 'false'] : (values ?? []), steps, example },
    ];
    if (fields === undefined) return [toKeyEntry([key], examples?.[0])];
    return Object.entries(fields).map(([field, { examples }]) => toKeyEntry([key, field], examples?.[0]));
  }),
);

/** The keys for suggestions and completion; those of `keysText` come beside them. */
export const configKeys: readonly string[] = [...profileKeys.keys()];

/** All keys, for help. */
export const keysText = [...configKeys, 'models.<name>', 'headers.<Name>', 'prices.<model>.<field>'].join(', ');

/** The possible values of a key, if they are a short list. */
export function listKeyValues(key: string): readonly string[] {
  return profileKeys.get(key)?.values ?? [];
}

/** Groups of keys that `unset` removes together. */
export const keyGroups: readonly string[] = [
  ...new Set(configKeys.filter((key) => key.includes('.')).map((key) => key.slice(0, key.indexOf('.')))),
  'headers',
  'prices',
];

const price = { input: '0.30', output: '2.50' };

function findKey(key: string): Key | undefined {
  const header = /^headers\.(.+)/s.exec(key)?.[1];
  if (header !== undefined) return { kind: 'text', steps: ['headers', header] };
  if (key === 'prices') return { kind: 'prices', steps: ['prices'], example: { 'some-model': price } };
  const alias = /^models\.(.+)/s.exec(key)?.[1];
  if (alias !== undefined && !profileKeys.has(key)) return { kind: 'text', steps: ['models', alias] };
  const model = /^prices\.(.+)/s.exec(key)?.[1];
  if (model === undefined) return profileKeys.get(key);
  const field = priceFields.find((name) => model.length > name.length + 1 && model.endsWith(`.${name}`));
  if (field === undefined) return { kind: 'prices', steps: ['prices', model], example: price };
  const [, name = '', tier] = tierForm.exec(model.slice(0, -field.length - 1)) ?? [];
  const isOfTier = tier !== undefined && amountFields.some((amount) => amount === field);
  const steps = isOfTier ? ['prices', name, tier, field] : ['prices', model.slice(0, -field.length - 1), field];
  return { kind: 'text', steps, example: examples[field] ?? '0.30' };
}

/** The name of a model, and a service tier that has amounts of its own. */
const tierForm = new RegExp(`^(.+)\\.(${serviceTiers.join('|')})$`, 's');
const examples: { [field in (typeof priceFields)[number]]?: string } = {
  batch: '0.5',
  flex: '0.5',
  priority: '2',
  fast: '2',
  us: '1.1',
  currency: 'USD',
  from: '2026-12-01',
  until: '2026-11-30',
};

/** The command or flag for a setting that people look for among the keys. */
const elsewhere: Readonly<Record<string, string>> = {
  profile: 'gateway-cli config use <profile>',
  ...Object.fromEntries(
    ['system', 'systemPrompt', 'role', 'prompt', 'template'].map((key) => [
      key,
      'write it to a file of gateway-cli prompts list and use it with -t <name>, or type --system with each command',
    ]),
  ),
};

/** Throws GatewayError usage for an unknown key, naming the nearest. */
export function requireKey(key: string): Key {
  const found = findKey(key);
  if (found !== undefined) return found;
  const near = nearestKeys(key);
  const hint = near.length === 0 ? `keys are ${keysText}` : `did you mean: ${near.join(', ')}?`;
  throw usageError(`there is no setting ${quoteWord(key)}`, findOwn(elsewhere, key) ?? hint);
}

/** Words that people type in place of a key. */
const otherNames: Readonly<Record<string, string>> = {
  key: 'apiKey',
  token: 'apiKey',
  url: 'baseUrl',
  endpoint: 'baseUrl',
};

/** `model` means all of `models.text`, `models.image` and so on. */
function nearestKeys(key: string): string[] {
  const near = findOwn(otherNames, key.toLowerCase()) ?? closest(key, configKeys);
  if (near !== undefined) return [near];
  const groups = configKeys.filter((name) => name.includes('.')).map((name) => name.split('.')[0] ?? '');
  const group = closest(key, groups);
  return configKeys.filter((name) => name.startsWith(`${group}.`));
}

/** Whether the value of a key must not be typed as an argument. */
export function isSecretKey(key: string): boolean {
  return key === 'apiKey' || (key.startsWith('headers.') && isCredentialName(key.slice('headers.'.length)));
}

/** The command that sets a key, for hints. */
export function settingCommand(key: string): string {
  const example = key.startsWith('prices') ? findKeyExample(key) : undefined;
  const word = isSecretKey(key) ? '-   (it asks, or reads stdin)' : '<value>';
  return example ?? `gateway-cli config set ${shellWord(key)} ${word}`;
}

function findKeyExample(key: string): string | undefined {
  const { values, example = values?.[0] } = findKey(key) ?? {};
  if (example === undefined) return undefined;
  const word = typeof example === 'string' ? example : JSON.stringify(example);
  return `gateway-cli config set ${shellWord(key)} ${shellWord(word)}`;
}

/** The config with one key of a profile set; the profile is made if it does not exist. Throws GatewayError usage. */
export function withValue(loaded: LoadedConfig, profile: string, { key, word }: { key: string; word: string }): Config {
  const { config, path } = loaded;
  requireProfileName(profile);
  const before: JsonObject = { ...(findOwn(config.profiles, profile) as JsonObject | undefined) };
  // The other forms of the API key are deleted from the profile: they would contradict this one.
  if (keyForms.some((form) => form === key)) for (const form of keyForms) delete before[form];
  const after = withValueAt(before, requireKey(key).steps, parseKeyValue(key, word));
  try {
    return checkConfig({ ...config, profiles: { ...config.profiles, [profile]: after } }, path);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const message = error.message.replace(`${path}: `, '').replace(`profiles.${profile}.`, '');
    throw usageError(message, findKeyExample(key) ?? `gateway-cli config list --profile ${profile}`, error);
  }
}

/** The config without one key of a profile, or without a whole group (`models`); undefined if it was not there. */
export function withoutConfigKey({ config }: LoadedConfig, profile: string, key: string): Config | undefined {
  const before = findOwn(config.profiles, profile) as JsonObject | undefined;
  const steps = findKey(key)?.steps ?? [key];
  const found = steps.reduce<JsonValue | undefined>(
    (at, step) => (isObject(at) ? findOwn(at, step) : undefined),
    before,
  );
  if (before === undefined || found === undefined) return undefined;
  return { ...config, profiles: { ...config.profiles, [profile]: withValueAt(before, steps, undefined) as Profile } };
}

/** The object with another value, or without it: then also without the objects that it leaves empty. */
function withValueAt(
  at: JsonObject,
  [step = '', ...rest]: readonly string[],
  value: JsonValue | undefined,
): JsonObject {
  const { [step]: inner, ...others } = at;
  const next = rest.length === 0 ? value : withValueAt(isObject(inner) ? inner : {}, rest, value);
  const isGone = next === undefined || (value === undefined && isObject(next) && Object.keys(next).length === 0);
  return isGone ? others : { ...at, [step]: next };
}

/** Parses a typed word as the value of a key. */
function parseKeyValue(key: string, word: string): JsonValue {
  const { kind } = requireKey(key);
  if ((kind === 'count' || kind === 'duration') && /^\d{1,15}$/.test(word)) return Number(word);
  if (kind === 'switch' && /^(?:true|false)$/.test(word)) return word === 'true';
  const isOwnAmounts = key.startsWith('prices.') && word.startsWith('{');
  if (kind !== 'prices' && !isOwnAmounts && !(kind === 'command' && word.startsWith('['))) return word;
  // A mistyped field looks like a part of the model's name.
  const field = key.slice(key.lastIndexOf('.') + 1);
  const near = kind === 'prices' && !/^[[{]/.test(word) ? closest(field, priceFields) : undefined;
  if (near !== undefined && key.split('.').length > 2)
    throw usageError(
      `${key} is not a JSON object, and names no field of a price: ${priceFields.join(', ')}`,
      `did you mean: ${key.slice(0, -field.length)}${near}?`,
    );
  try {
    return JSON.parse(word) as JsonValue;
  } catch (error) {
    throw usageError(`${key} is not a JSON ${kind === 'command' ? 'list' : 'object'}`, findKeyExample(key), error);
  }
}
