import { usageError } from '../errors.ts';
import type { PickedProfile } from './profile.ts';
import type { Settings, SettingsInput } from './settings.ts';
import type { Profile, Sourced } from './types.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A flag's value. An empty one (`-m "$UNSET"`) is a mistake: throws usage. */
export function fromFlag<T>(name: string, value: T | undefined): Sourced<T> | undefined {
  if (value === undefined) return undefined;
  if (value === '') throw usageError(`${name} is empty`, `give ${name} a value or leave it out`);
  return { value, from: `flag ${name}` };
}

/** A switch that was given; `false` counts as not given. */
export function fromSwitch(name: string, value: boolean | undefined): Sourced<boolean> | undefined {
  return value === true ? { value, from: `flag ${name}` } : undefined;
}

/** A variable's value; an empty one counts as unset, as CI gives for a secret that is not there. */
export function fromEnvironment(env: Environment, name: string): Sourced<string> | undefined {
  const value = env[name];
  return value === undefined || value === '' ? undefined : { value, from: `environment ${name}` };
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
  return picked && sourced(read(picked.profile), picked.label);
}

/** A value with its origin, where there is one. */
export function sourced<T>(value: T | undefined, from: string): Sourced<T> | undefined {
  return value === undefined ? undefined : { value, from };
}

/** The same origin with the value read further. */
export function mapValue<T, U>(
  source: Sourced<T> | undefined,
  read: (value: T, from: string) => U,
): Sourced<U> | undefined {
  return source === undefined ? undefined : { value: read(source.value, source.from), from: source.from };
}

/** The prices of all places together; of a name that several have, the strongest counts. */
export function pickPrices(
  { flags, config }: Pick<SettingsInput, 'flags' | 'config'>,
  picked: PickedProfile | undefined,
): Settings['prices'] {
  const places = [
    sourced(config.config.prices, `config ${config.path}`),
    fromProfile(picked, ({ prices }) => prices),
    fromFlag('--prices', flags.prices),
  ];
  const entries = places.flatMap((place) =>
    Object.entries(place?.value ?? {}).map(([name, value]) => [name, { value, from: place?.from ?? '' }] as const),
  );
  return Object.fromEntries(entries);
}
