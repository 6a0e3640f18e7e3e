import {
  closest,
  findOwn,
  GatewayError,
  isObject,
  type JsonObject,
  type JsonValue,
  shellWord,
  usageError,
} from '../../../library/index.ts';
import { quoteWord } from '../../flags/flag.ts';
import { keyForms } from '../../settings/definition.ts';
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

/** Every key of a profile, dotted; `headers.<Name>`, `models.<name>` and `prices.<model>` come beside them. */
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
export const keysText = [...configKeys, 'models.<name>', 'headers.<Name>', 'prices.<model>'].join(', ');

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
  if (key === 'prices') return { kind: 'prices', steps: ['prices'], example: { 'some-model': price } };
  const [, group, name] = /^(headers|models|prices)\.(.+)/s.exec(key) ?? [];
  if (group === undefined || name === undefined || profileKeys.has(key)) return profileKeys.get(key);
  if (group === 'prices') return { kind: 'prices', steps: [group, name], example: price };
  return { kind: 'text', steps: [group, name] };
}

/** Throws GatewayError usage for an unknown key, naming the nearest. */
export function requireKey(key: string): Key {
  const found = findKey(key);
  if (found !== undefined) return found;
  const near = nearestKeys(key);
  const hint = near.length === 0 ? `keys are ${keysText}` : `did you mean: ${near.join(', ')}?`;
  throw usageError(`there is no setting ${quoteWord(key)}`, hint);
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
  if (kind !== 'prices' && !(kind === 'command' && word.startsWith('['))) return word;
  try {
    return JSON.parse(word) as JsonValue;
  } catch (error) {
    throw usageError(`${key} is not a JSON ${kind === 'command' ? 'list' : 'object'}`, findKeyExample(key), error);
  }
}
