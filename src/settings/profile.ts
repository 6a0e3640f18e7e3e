import { usageError } from '../errors.ts';
import { type ServiceName, serviceNames, serviceOfUrl, services } from '../services.ts';
import { shellWord } from '../shell-word.ts';
import { closest } from '../closest.ts';
import { byDefault, type Environment, fromEnvironment, fromProfile, given, sourced } from './sources.ts';
import {
  type Config,
  type LoadedConfig,
  type PickedProfile,
  type Profile,
  type SettingsInput,
  type Sourced,
  type Use,
  useNames,
} from './types.ts';

/** The profile that a config's `profile` names for a use; edits take that of images if they have none of their own. */
export function nameFor(profile: Config['profile'], use: Use): string | undefined {
  if (typeof profile !== 'object') return profile;
  return profile[use] ?? (use === 'edit' ? profile.image : undefined);
}

/** A config's `profile` when some uses take another one: a map, or a name if all uses have the same. */
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
  const profile = Object.hasOwn(config.profiles, name.value) ? config.profiles[name.value] : undefined;
  if (profile === undefined) throw unknownProfile(name, input.config);
  return { name, profile, label: `profile ${name.value} (${path})` };
}

/** What a profile is for: the service that it names, or whose host its base URL has. */
export function serviceOfProfile({ service, baseUrl }: Profile): ServiceName {
  return (baseUrl === undefined ? undefined : serviceOfUrl(baseUrl)) ?? service ?? 'gateway';
}

/** The base URL of a profile: its own, or that of its service. */
export function baseUrlOfProfile(profile: Profile): string | undefined {
  return profile.baseUrl ?? services[serviceOfProfile(profile)].baseUrl;
}

/** Whether a flag, a variable or a job named the profile. */
export function isNamed({ origin }: Sourced<string>): boolean {
  return origin.kind !== 'default' && origin.kind !== 'config';
}

/**
 * Whether a profile that was not named is for another service than the one that was: neither its URL nor its models fit. A
 * profile without a URL and a service is for any.
 */
export function isForAnotherService(picked: PickedProfile, service: Sourced<ServiceName> | undefined): boolean {
  if (service === undefined || isNamed(picked.name)) return false;
  const { profile } = picked;
  return (profile.baseUrl ?? profile.service) !== undefined && serviceOfProfile(profile) !== service.value;
}

/**
 * The service that was named, else the one whose host the base URL has, else the profile's, else a gateway. Throws usage if a
 * vendor was named and the base URL is another vendor's; a gateway can have any host.
 */
export function pickService(
  named: Sourced<ServiceName> | undefined,
  baseUrl: Sourced<string> | undefined,
  picked: PickedProfile | undefined,
): Sourced<ServiceName> {
  const host = baseUrl && serviceOfUrl(baseUrl.value);
  if (named === undefined) {
    const ofHost = sourced(host, `the host of the base URL (${baseUrl?.from})`, 'host');
    return ofHost ?? fromProfile(picked, ({ service }) => service) ?? byDefault('gateway');
  }
  if (host === undefined || host === named.value || named.value === 'gateway') return named;
  throw usageError(
    `the base URL (${baseUrl?.from}) is the host of ${host}, and the service is ${named.value} (${named.from})`,
    `leave one of them out; ${named.value} alone goes to ${services[named.value].baseUrl}`,
  );
}

/** The services whose key a variable holds. */
export function keysIn(env: Environment): { name: ServiceName; variable: string }[] {
  return serviceNames.flatMap((name) => {
    const variable = services[name].keyVariables.find((one) => fromEnvironment(env, one) !== undefined);
    return variable === undefined ? [] : [{ name, variable }];
  });
}

/** The service that is used if nothing names one: the only one whose key a variable holds. */
export function serviceOfKey({ env }: Pick<SettingsInput, 'env'>): Sourced<ServiceName> | undefined {
  const [found, ...more] = keysIn(env);
  if (found === undefined || more.length > 0) return undefined;
  const { name, variable } = found;
  return { value: name, from: `environment ${variable}`, origin: { kind: 'variable', name: variable } };
}

/** The names that a profile can have. Those that every object knows are left out. */
export const profileNameForm = /^(?!(?:constructor|prototype)$)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** The same in words. */
export const profileNameRule = 'use letters, digits, ".", "_" and "-", a letter or digit first';

/** Throws usage for a name that a profile cannot have. */
export function requireProfileName(name: string): string {
  if (profileNameForm.test(name)) return name;
  throw usageError(`${JSON.stringify(name.slice(0, 64))} cannot name a profile`, profileNameRule);
}

/** The profiles of a config, for a message. */
export function namesIn(config: Config): string {
  const names = Object.keys(config.profiles);
  return names.length === 0 ? 'there are none yet' : `there are: ${names.join(', ')}`;
}

/** The error for a profile that does not exist, with those that do; `from` says what named it. */
export function unknownProfile({ value, from, origin }: Sourced<string>, loaded: LoadedConfig): Error {
  const { path, config, exists } = loaded;
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) return urlAsProfile(new URL(value), from);
  const wanted = JSON.stringify(value.slice(0, 64));
  if (!exists) return usageError(`no profile ${wanted} (${from}): there is no ${path}`, 'gateway-cli config init');
  const near = closest(value, Object.keys(config.profiles));
  const flag = origin.kind === 'flag' ? origin.name : '--profile';
  const meant = origin.kind === 'job' ? `"profile":"${near}"` : `${flag} ${near}`;
  const hint = near === undefined ? `gateway-cli config list` : `did you mean ${meant}?`;
  return usageError(`no profile ${wanted} (${from}) in ${path}; ${namesIn(config)}`, hint);
}

/** How a URL becomes a profile. The parts that may be secret are not repeated. */
function urlAsProfile({ origin, pathname }: URL, from: string): Error {
  const baseUrl = shellWord(`${origin}${pathname === '/' ? '' : pathname}`);
  return usageError(
    `a profile is needed, not a URL (${from})`,
    `make one: gateway-cli config set baseUrl ${baseUrl} --profile work
give it its key: gateway-cli config set apiKey - --profile work
then name it: work`,
  );
}
