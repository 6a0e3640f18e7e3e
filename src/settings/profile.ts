import { usageError } from '../errors.ts';
import { shellWord } from '../shell-word.ts';
import { closest } from './closest.ts';
import { byDefault, given, sourced } from './sources.ts';
import { type SettingsInput, type Sourced, type Use, useNames } from './types.ts';
import type { Config, LoadedConfig, PickedProfile } from './config-types.ts';

/** The name that a config's `profile` has for a use; edits take that of images where they have none of their own. */
export function nameFor(profile: Config['profile'], use: Use): string | undefined {
  if (typeof profile !== 'object') return profile;
  return profile[use] ?? (use === 'edit' ? profile.image : undefined);
}

/** What a config's `profile` becomes where some uses take another one: a map, or a name where all have the same. */
export function withNameFor(
  before: Config['profile'],
  name: string,
  uses: readonly Use[],
): NonNullable<Config['profile']> {
  const others = typeof before === 'string' ? { text: before, image: before, chat: before } : before;
  const { edit, ...map } = { ...others, ...Object.fromEntries(uses.map((use) => [use, name])) };
  const own = edit === undefined || edit === map.image ? map : { ...map, edit };
  return useNames.every((use) => nameFor(own, use) === name) ? name : own;
}

/**
 * The profile that `--profile`, GATEWAY_PROFILE or the config's own `profile` names for a use, else the one called `default`.
 * Throws usage for a name that is not there, naming those that are.
 */
export function pickProfile(input: SettingsInput): PickedProfile | undefined {
  const { flags, config: loaded, use } = input;
  const { path, config } = loaded;
  const name =
    sourced(flags.jobProfile, '"profile" of the job', 'job') ??
    given('profile', input) ??
    sourced(nameFor(config.profile, use), `config ${path}`, 'config') ??
    (config.profiles['default'] && byDefault('default'));
  if (name === undefined) return undefined;
  const profile = Object.hasOwn(config.profiles, name.value) ? config.profiles[name.value] : undefined;
  if (profile === undefined) throw unknownProfile(name, loaded);
  return { name, profile, label: `profile ${name.value} (${path})` };
}

/** The error for a profile that is not there, with those that are; `from` says who named it. */
export function unknownProfile(
  { value, from, origin }: Sourced<string>,
  { path, config, exists }: LoadedConfig,
): Error {
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) return urlForProfile(new URL(value), from);
  const wanted = JSON.stringify(value.slice(0, 64));
  if (!exists) return usageError(`no profile ${wanted} (${from}): there is no ${path}`, 'gateway-cli config init');
  const near = closest(value, Object.keys(config.profiles));
  const flag = origin.kind === 'flag' ? origin.name : '--profile';
  const meant = origin.kind === 'job' ? `"profile":"${near}"` : `${flag} ${near}`;
  const hint = near === undefined ? `gateway-cli config list` : `did you mean ${meant}?`;
  return usageError(`no profile ${wanted} (${from}) in ${path}; ${namesIn(config)}`, hint);
}

/** How a URL becomes a profile. What may be secret in it is not repeated. */
function urlForProfile({ origin, pathname }: URL, from: string): Error {
  const baseUrl = shellWord(`${origin}${pathname === '/' ? '' : pathname}`);
  return usageError(
    `a profile is needed, not a URL (${from})`,
    `make one: gateway-cli config set baseUrl ${baseUrl} --profile work
give it its key: gateway-cli config set apiKey - --profile work
then name it: work`,
  );
}

/** What profiles a config has, for a message. */
export function namesIn(config: Config): string {
  const names = Object.keys(config.profiles);
  return names.length === 0 ? 'there are none yet' : `there are: ${names.join(', ')}`;
}

/** The names that a profile can have. Those that every object knows are left out. */
export const profileNameForm = /^(?!(?:constructor|prototype)$)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** The same in words. */
export const profileNameRule = 'use letters, digits, ".", "_" and "-", a letter or digit first';

/** Throws usage unless it may name a profile. */
export function requireProfileName(name: string): string {
  if (profileNameForm.test(name)) return name;
  throw usageError(`${JSON.stringify(name.slice(0, 64))} cannot name a profile`, profileNameRule);
}
