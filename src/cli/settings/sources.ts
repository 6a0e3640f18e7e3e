import { closest, shellWord, usageError, type Use } from '../../library/index.ts';
import { noBudget, parseBudget, parseDuration } from './values.ts';
import { type SettingDefinition, type SettingName, settingNames, settings } from './table.ts';
import type {
  FlagValue,
  Origin,
  PickedProfile,
  Profile,
  SettingsFlags,
  SettingsInput,
  SourcedValue,
  SourcedVariable,
  SettingValue,
} from './types.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a setting from its flag, otherwise from its variables. Throws usage for a value that the setting cannot have. */
export function given<N extends SettingName>(
  name: N,
  { flags, env, use }: Omit<SettingsInput, 'config'>,
): SourcedValue<SettingValue<N>> | undefined {
  const found: SourcedValue<unknown> | undefined = fromFlags(name, flags) ?? fromVariables(name, { env, use });
  return mapValue(found, (value, origin) => parseSettingValue(settings[name], value, origin) as SettingValue<N>);
}

/** The value of a setting from its flag, as it was typed. Throws usage for an empty value. */
export function fromFlags<N extends SettingName>(
  name: N,
  flags: SettingsFlags,
): SourcedValue<FlagValue<N>> | undefined {
  const flag = getLongFlag(name);
  const value = (flags as Readonly<Record<string, unknown>>)[toAttribute(flag)] as FlagValue<N> | undefined;
  const row: SettingDefinition = settings[name];
  if (row.kind !== 'switch') return fromFlag(flag, value);
  // The flag of a switch sets the opposite of its default: `--no-markdown` turns off what is on.
  return value === !flag.startsWith('--no-') ? fromFlag(flag, !row.default as FlagValue<N>) : undefined;
}

/** A flag's value. An empty one (`-m "$UNSET"`) is a mistake: throws usage. */
export function fromFlag<T>(name: string, value: T | undefined): SourcedValue<T> | undefined {
  if (value === undefined) return undefined;
  if (value === '') throw usageError(`${name} is empty`, `give ${name} a value or leave it out`);
  return { value, origin: { kind: 'flag', name, from: `flag ${name}` } };
}

/** The first variable of a setting that is set. */
export function fromVariables(
  name: SettingName,
  { env, use }: Pick<SettingsInput, 'env' | 'use'>,
): SourcedVariable | undefined {
  return findFirstVariable(env, listVariables(name, use));
}

/** The first of some variables that is set. */
export function findFirstVariable(env: Environment, names: readonly string[]): SourcedVariable | undefined {
  const name = names.find((one) => env[one]);
  return name === undefined ? undefined : fromEnvironment(env, name);
}

/** A variable's value; an empty one counts as unset: CI passes a secret that does not exist that way. */
export function fromEnvironment(env: Environment, name: string): SourcedVariable | undefined {
  const value = env[name];
  if (value === undefined || value === '') return undefined;
  return { value, origin: { kind: 'variable', name, from: `environment ${name}` } };
}

/** The value of a setting from a profile, if the setting is one value. */
export function inProfile<N extends SettingName>(
  name: N,
  picked: PickedProfile | undefined,
): SourcedValue<SettingValue<N>> | undefined {
  const row: SettingDefinition = settings[name];
  const found = fromProfile(picked, (profile) => profile[row.key as keyof Profile]);
  return mapValue(found, (value, origin) => parseSettingValue(row, value, origin) as SettingValue<N>);
}

/** The value that `read` finds in a profile, with its origin. */
export function fromProfile<T>(
  picked: PickedProfile | undefined,
  read: (profile: Profile) => T | undefined,
): SourcedValue<T> | undefined {
  return picked && sourced(read(picked.profile), picked.label, 'profile');
}

export function byDefault<T>(value: T): SourcedValue<T> {
  return { value, origin: { kind: 'default', from: 'default' } };
}

/** A value with its origin; undefined if there is no value. */
export function sourced<T>(
  value: T | undefined,
  from: string,
  kind: Exclude<Origin['kind'], 'flag' | 'variable'>,
): SourcedValue<T> | undefined {
  return value === undefined ? undefined : { value, origin: { kind, from } };
}

/** A changed value with the same origin. */
export function mapValue<T, U>(
  source: SourcedValue<T> | undefined,
  read: (value: T, origin: Origin) => U,
): SourcedValue<U> | undefined {
  return source && { ...source, value: read(source.value, source.origin) };
}

/** The long name of a setting's flag: `--max-tokens`. */
export function getLongFlag(name: SettingName): string {
  return /--[\w-]+/.exec((settings[name] as SettingDefinition).flag ?? '')?.[0] ?? '';
}

/** The name under which commander gives the value of a flag: `--no-markdown` is `markdown`. */
export function toAttribute(flag: string): string {
  return flag.replace(/^--(?:no-)?/, '').replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function listVariables(name: SettingName, use: Use): readonly string[] {
  const { variables = [] }: SettingDefinition = settings[name];
  return 'text' in variables ? variables[use] : (variables as readonly string[]);
}

/**
 * The flags that led to a gateway, each after a blank, so that a command in a hint asks the same gateway. A URL that may hold a
 * password is not repeated.
 */
export function describeTypedFlags(flags: SettingsFlags): string {
  const typed: Readonly<Record<string, unknown>> = { ...flags, profile: flags.jobProfile ?? flags.profile };
  const names = settingNames.filter((name) => (settings[name] as SettingDefinition).inHints);
  return names
    .map(getLongFlag)
    .map((flag) => {
      const value = typed[toAttribute(flag)];
      if (value === undefined || value === false) return '';
      if (value === true) return ` ${flag}`;
      return ` ${flag} ${/^https?:.*[@?]/i.test(String(value)) ? '<url>' : shellWord(String(value))}`;
    })
    .join('');
}

/** Parses the value of a flag, a variable or a profile. Throws usage that names its source. */
export function parseSettingValue(row: SettingDefinition, value: unknown, origin: Origin): unknown {
  const text = String(value);
  const { from } = origin;
  const name = 'name' in origin ? origin.name : from;
  switch (row.kind) {
    case 'budget':
      if (text.trim() !== noBudget) parseBudget(text, from);
      return text.trim();
    case 'choice':
      return parseSettingChoice(row, text, from);
    case 'count':
      if (Number.isSafeInteger(Number(value)) && Number(value) >= 1) return Number(value);
      throw usageError(`${name} takes a whole number from 1, not '${text}'`, `for example: ${name} 1000`);
    case 'duration':
      return parseDuration(text, from);
    case 'switch': {
      const word = text.trim().toLowerCase();
      if (onWords.has(word) || offWords.has(word)) return onWords.has(word);
      throw usageError(
        `${from}: ${JSON.stringify(text.slice(0, 40))} is neither on nor off`,
        `on: ${name}=1; off: ${name}=0`,
      );
    }
    case 'url':
      // The URL is not quoted: it may hold a password.
      if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
      throw usageError(
        `${from}: not a URL that begins with https:// or http://`,
        'for example --base-url https://gateway.example',
      );
    default:
      return value;
  }
}

const onWords = new Set(['1', 'true', 'yes', 'on']);
const offWords = new Set(['', '0', 'false', 'no', 'off']);

function parseSettingChoice({ values = [], noun }: SettingDefinition, text: string, from: string): string {
  if (values.includes(text)) return text;
  if (noun === undefined) throw usageError(`${from}: must be one of ${values.join(', ')}`);
  const near = closest(text, values);
  const list = `the ${noun}s are ${values.join(', ')}`;
  throw usageError(
    `${from}: ${JSON.stringify(text.slice(0, 64))} is not a ${noun}`,
    near === undefined ? list : `did you mean ${near}? ${list}`,
  );
}
