import { usageError } from '../errors.ts';
import type { PickedProfile, Profile } from './config-types.ts';
import type { Origin, Sourced, SettingsFlags } from './types.ts';
import { shellWord } from '../shell-word.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A flag's value. An empty one (`-m "$UNSET"`) is a mistake: throws usage. */
export function fromFlag<T>(name: string, value: T | undefined): Sourced<T> | undefined {
  if (value === undefined) return undefined;
  if (value === '') throw usageError(`${name} is empty`, `give ${name} a value or leave it out`);
  return { value, from: `flag ${name}`, origin: { kind: 'flag', name } };
}

/** A switch that was given; `false` counts as not given. */
export function fromSwitch(name: string, value: boolean | undefined): Sourced<boolean> | undefined {
  return value === true ? fromFlag(name, value) : undefined;
}

/** A variable's value; an empty one counts as unset, as CI gives for a secret that is not there. */
export function fromEnvironment(env: Environment, name: string): Sourced<string> | undefined {
  const value = env[name];
  if (value === undefined || value === '') return undefined;
  return { value, from: `environment ${name}`, origin: { kind: 'variable', name } };
}

const offWords = new Set(['', '0', 'false', 'no', 'off']);

const onWords = new Set(['1', 'true', 'yes', 'on']);

/** A variable that switches something, in words of any case; an empty one is off. Throws usage. */
export function fromToggle(env: Environment, name: string): Sourced<boolean> | undefined {
  const given = fromEnvironment(env, name);
  return mapValue(given, (word, from) => {
    const key = word.trim().toLowerCase();
    if (onWords.has(key) || offWords.has(key)) return onWords.has(key);
    throw usageError(
      `${from}: ${JSON.stringify(word.slice(0, 40))} is neither on nor off`,
      `on: ${name}=1; off: ${name}=0`,
    );
  });
}

/** What a profile says, where it says something. */
export function fromProfile<T>(
  picked: PickedProfile | undefined,
  read: (profile: Profile) => T | undefined,
): Sourced<T> | undefined {
  return picked && sourced(read(picked.profile), picked.label, 'profile');
}

/** What counts where nobody says anything. */
export function byDefault<T>(value: T): Sourced<T> {
  return { value, from: 'default', origin: { kind: 'default' } };
}

/** A value with its origin, where there is one. */
export function sourced<T>(
  value: T | undefined,
  from: string,
  kind: Exclude<Origin['kind'], 'flag' | 'variable'>,
): Sourced<T> | undefined {
  return value === undefined ? undefined : { value, from, origin: { kind } };
}

/** The same origin with the value read further. */
export function mapValue<T, U>(
  source: Sourced<T> | undefined,
  read: (value: T, from: string) => U,
): Sourced<U> | undefined {
  return source && { ...source, value: read(source.value, source.from) };
}

/** Those that decide which gateway is asked, and how. A header is left out: it may hold a secret. */
const gatewayFlags = {
  profile: '--profile',
  service: '--service',
  baseUrl: '--base-url',
  apiKeyFile: '--api-key-file',
  auth: '--auth',
  headerNames: '--header-names',
  proxy: '--proxy',
  systemCa: '--system-ca',
  allowHttp: '--allow-http',
} as const;

/**
 * The flags that led to a gateway, each behind a blank, so that a command in a hint asks the same one. A URL that may hold a
 * password is not repeated.
 */
export function typedFlags(flags: SettingsFlags): string {
  const typed = { ...flags, profile: flags.jobProfile ?? flags.profile };
  return Object.entries(gatewayFlags)
    .map(([key, flag]) => {
      const value = typed[key as keyof typeof gatewayFlags];
      if (value === undefined || value === false) return '';
      if (value === true) return ` ${flag}`;
      return ` ${flag} ${/^https?:.*[@?]/i.test(value) ? '<url>' : shellWord(value)}`;
    })
    .join('');
}
