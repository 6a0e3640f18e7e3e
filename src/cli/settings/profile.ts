import {
  findOwn,
  findServiceByUrl,
  isOwnHost,
  type ServiceName,
  services,
  type Use,
  useNames,
} from '../../library/index.ts';
import { unknownProfile } from './profile-name.ts';
import { byDefault, given, sourced } from './sources.ts';
import type { Config, Origin, PickedProfile, Profile, SettingsInput, SourcedValue } from './types.ts';

/** The profile that a config's `profile` names for a use; edits take that of images if they have none of their own. */
export function nameFor(profile: Config['profile'], use: Use): string | undefined {
  if (typeof profile !== 'object') return profile;
  return profile[use] ?? (use === 'edit' ? profile.image : undefined);
}

/** A config's `profile` when some uses take another profile: a map, or a name if all uses have the same. */
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
 * The profile that `--profile`, GATEWAY_PROFILE or the config's own `profile` names for a use, otherwise the profile `default`.
 * Throws usage for a name that does not exist.
 */
export function pickProfile(input: SettingsInput): PickedProfile | undefined {
  const { path, config } = input.config;
  const name =
    sourced(input.flags.jobProfile, '"profile" of the job', 'job') ??
    given('profile', input) ??
    sourced(nameFor(config.profile, input.use), `config ${path}`, 'config') ??
    (config.profiles['default'] && byDefault('default'));
  if (name === undefined) return undefined;
  const profile = findOwn(config.profiles, name.value);
  if (profile === undefined) throw unknownProfile(name, input.config);
  return { name, profile, label: `profile ${name.value} (${path})` };
}

/** The service of a profile: the one of its base URL's host, otherwise the one that it names. */
export function getProfileService({ service, baseUrl }: Profile): ServiceName {
  return (baseUrl === undefined ? undefined : findServiceByUrl(baseUrl)) ?? service ?? 'gateway';
}

/** The base URL of a profile: its own, or that of its service. */
export function getProfileBaseUrl(profile: Profile): string | undefined {
  return profile.baseUrl ?? services[getProfileService(profile)].baseUrl;
}

/** Whether a flag, a variable or a job named the profile. */
export function isNamed({ kind }: Origin): boolean {
  return kind !== 'default' && kind !== 'config';
}

/**
 * Whether a profile that the user did not name is for another service than the one that the user did: neither its URL nor its
 * models fit. A profile with neither URL nor service is for any service.
 */
export function isForAnotherService(picked: PickedProfile, service: SourcedValue<ServiceName> | undefined): boolean {
  if (service === undefined || isNamed(picked.name.origin)) return false;
  const { profile } = picked;
  return (profile.baseUrl ?? profile.service) !== undefined && getProfileService(profile) !== service.value;
}

/** Whether a profile has a key of its own. */
export function hasKey(picked: PickedProfile | undefined): picked is PickedProfile {
  const { apiKey, apiKeyFile, apiKeyCommand } = picked?.profile ?? {};
  return (apiKey ?? apiKeyFile ?? apiKeyCommand) !== undefined;
}

/** Whether a profile's secrets may go to this base URL: same scheme, host and port. */
export function ownsOrigin(picked: PickedProfile | undefined, baseUrl: SourcedValue<string> | undefined): boolean {
  if (picked === undefined || baseUrl === undefined) return false;
  const own = getProfileBaseUrl(picked.profile);
  // The address that each account has for itself is not in the profile.
  if (own === undefined) return isOwnHost(getProfileService(picked.profile), baseUrl.value);
  return new URL(own).origin === new URL(baseUrl.value).origin;
}
