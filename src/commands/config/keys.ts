import { GatewayError, usageError } from '../../errors.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { isObject } from '../../json.ts';
import { closest } from '../../settings/closest.ts';
import { isCredentialName } from '../../settings/header-form.ts';
import { checkConfig, requireProfileName } from '../../settings/schema.ts';
import { authForms, type Config, type LoadedConfig } from '../../settings/types.ts';
import { quote } from '../../cli/flags/values.ts';
import { shellWord } from '../../shell-word.ts';

/** A key of a profile, dotted, and how its value is typed. */
interface KeyForm {
  read?: (word: string) => JsonValue;
  /** Never in argv: read from stdin or asked for. */
  secret?: true;
  /** What completion offers. */
  values?: readonly string[];
}

const auth: KeyForm = { values: authForms };
const toggle: KeyForm = { values: ['true', 'false'], read: (word) => ({ true: true, false: false })[word] ?? word };
const numberOrText = (word: string): JsonValue => (/^\d{1,15}$/.test(word) ? Number(word) : word);

/** Every key that `config` reads and writes; `headers.<Name>` comes beside them. */
const forms: Readonly<Record<string, KeyForm>> = {
  baseUrl: {},
  apiKey: { secret: true },
  apiKeyFile: {},
  apiKeyCommand: { read: (word) => (word.startsWith('[') ? listOf(word) : word) },
  'models.text': {},
  'models.image': {},
  'models.edit': {},
  'models.chat': {},
  'auth.text': auth,
  'auth.image': auth,
  'auth.messages': auth,
  'headerNames.apiKey': {},
  'headerNames.version': {},
  maxTokens: { read: numberOrText },
  timeout: { read: numberOrText },
  allowHttp: toggle,
  preview: toggle,
};

/** The keys for help, suggestions and completion. */
export const configKeys: readonly string[] = Object.keys(forms);

/** What a key can be set to, where that is a short list. */
export function valuesOfKey(key: string): readonly string[] {
  return formOf(key)?.values ?? [];
}

/** Whether the value of a key must not stand in argv. */
export function isSecretKey(key: string): boolean {
  return formOf(key)?.secret === true;
}

/** The command that sets a key, for hints. */
export function settingCommand(key: string): string {
  return isSecretKey(key)
    ? `gateway-cli config set ${shellWord(key)} -   (it asks, or reads stdin)`
    : `gateway-cli config set ${shellWord(key)} <value>`;
}

/** Throws GatewayError usage for a key that is none, naming the nearest. */
export function requireKey(key: string): string {
  if (formOf(key) !== undefined) return key;
  const near = closest(key, configKeys);
  const hint = near === undefined ? `keys are ${configKeys.join(', ')} and headers.<Name>` : `did you mean: ${near}?`;
  throw usageError(`there is no setting ${quote(key)}`, key === 'profile' ? 'gateway-cli config use <profile>' : hint);
}

/** The config with one key of a profile set; the profile is made where it is not there. Throws GatewayError usage. */
export function withValue(loaded: LoadedConfig, profile: string, { key, word }: { key: string; word: string }): Config {
  const { config, path } = loaded;
  requireProfileName(profile);
  const before: JsonObject = { ...(config.profiles[profile] as JsonObject | undefined) };
  // One key is enough: the others of the profile would contradict it.
  if (keyKinds.includes(key)) for (const other of keyKinds) delete before[other];
  const after = place(before, stepsOf(key), (formOf(key)?.read ?? keep)(word));
  const next = { ...config, profiles: { ...config.profiles, [profile]: after } };
  try {
    return checkConfig(next, path);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw usageError(
      error.message.replace(`${path}: `, '').replace(`profiles.${profile}.`, ''),
      hintFor(key, profile),
      error,
    );
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
export const keyGroups: readonly string[] = ['models', 'auth', 'headerNames', 'headers'];

const keyKinds = ['apiKey', 'apiKeyFile', 'apiKeyCommand'];

function formOf(key: string): KeyForm | undefined {
  if (Object.hasOwn(forms, key)) return forms[key];
  if (!/^headers\../.test(key)) return undefined;
  return isCredentialName(key.slice('headers.'.length)) ? { secret: true } : {};
}

/** A header's name may hold dots of its own. */
function stepsOf(key: string): string[] {
  const at = key.indexOf('.');
  return at < 0 ? [key] : [key.slice(0, at), key.slice(at + 1)];
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

function hintFor(key: string, profile: string): string {
  const example = examples[key] ?? valuesOfKey(key)[0];
  return example === undefined
    ? `gateway-cli config list --profile ${profile}`
    : `gateway-cli config set ${shellWord(key)} ${example}`;
}

const examples: Record<string, string> = {
  baseUrl: 'https://gateway.example.com',
  maxTokens: '4096',
  timeout: '90s',
  apiKeyCommand: `'["pass", "show", "gateway"]'`,
  'headerNames.apiKey': 'x-api-key',
};

function listOf(word: string): JsonValue {
  try {
    return JSON.parse(word) as JsonValue;
  } catch (error) {
    throw usageError(
      'apiKeyCommand is not a JSON list',
      `gateway-cli config set apiKeyCommand ${examples['apiKeyCommand']}`,
      error,
    );
  }
}

function keep(word: string): JsonValue {
  return word;
}
