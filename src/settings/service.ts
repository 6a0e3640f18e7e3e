import { usageError } from '../errors.ts';
import { type ServiceName, serviceOfUrl, services, vendorsOf } from '../services.ts';
import type { Config, PickedProfile, Profile } from './config-types.ts';
import type { SettingsInput, SettingsSurvey, Sourced, Use, AuthUse } from './types.ts';
import { byDefault, fromEnvironment, fromProfile, sourced } from './sources.ts';

/** What a profile is for: the service that it names, or whose host its base URL has. */
export function serviceOfProfile({ service, baseUrl }: Profile): ServiceName {
  return (baseUrl === undefined ? undefined : serviceOfUrl(baseUrl)) ?? service ?? 'gateway';
}

/** The base URL of a profile: its own, or that of its service. */
export function baseUrlOfProfile(profile: Profile): string | undefined {
  return profile.baseUrl ?? services[serviceOfProfile(profile)].baseUrl;
}

function hasUse(profile: Profile | undefined, use: Use): boolean {
  return profile !== undefined && services[serviceOfProfile(profile)].uses.includes(use);
}

/** Whether somebody named the profile, beside the config itself. */
function isAskedFor({ origin }: Sourced<string>): boolean {
  return origin.kind !== 'default' && origin.kind !== 'config';
}

/**
 * Whether a profile that nobody asked for by its name is for another service than the one that was named: neither its URL nor
 * its models fit. A profile without a URL and a service is for any.
 */
export function isForAnotherService(picked: PickedProfile, named: Sourced<ServiceName> | undefined): boolean {
  if (named === undefined || isAskedFor(picked.name)) return false;
  const { baseUrl, service } = picked.profile;
  return (baseUrl ?? service) !== undefined && serviceOfProfile(picked.profile) !== named.value;
}

/** The service that was named, the one whose host the base URL has, the profile's, else a gateway. Throws usage where they contradict each other. */
export function pickService(
  named: Sourced<ServiceName> | undefined,
  baseUrl: Sourced<string> | undefined,
  picked: PickedProfile | undefined,
): Sourced<ServiceName> {
  const host = baseUrl && serviceOfUrl(baseUrl.value);
  if (named !== undefined) return requireHost(named, host, baseUrl?.from);
  const ofHost = sourced(host, `the host of the base URL (${baseUrl?.from})`, 'host');
  return ofHost ?? fromProfile(picked, ({ service }) => service) ?? byDefault('gateway');
}

/** A gateway may have any host; the services of vendors have their own, or one that is nobody's. */
function requireHost(
  named: Sourced<ServiceName>,
  host: ServiceName | undefined,
  from: string | undefined,
): Sourced<ServiceName> {
  if (host === undefined || host === named.value || named.value === 'gateway') return named;
  throw usageError(
    `the base URL (${from}) is the host of ${host}, and the service is ${named.value} (${named.from})`,
    `leave one of them out; ${named.value} alone goes to ${services[named.value].baseUrl}`,
  );
}

/** The service with this use whose key the environment holds, as the flag that names it. */
export function vendorWay({ use, env }: Pick<SettingsInput, 'use' | 'env'>): string | undefined {
  for (const name of vendorsOf(use)) {
    const key = services[name].keyVariables.find((variable) => fromEnvironment(env, variable) !== undefined);
    if (key !== undefined) return `--service ${name}, whose key is in ${key}`;
  }
  return undefined;
}

const commands: { [use in Use]: string } = { text: 'text', image: 'image gen', edit: 'image edit', chat: 'chat' };

/** Throws usage where the service does not have what the command asks for; names one that does, and the commands that it has. */
export function requireUse({ service, baseUrl, profile, use }: SettingsSurvey, { profiles }: Config): void {
  const { value, from, origin } = service;
  const { title, uses } = services[value];
  if (uses.includes(use)) return;
  const ways = vendorsOf(use).map((name) => `--service ${name}`);
  const format = use === 'chat' ? 'messages' : 'content';
  const other = `use one that has it: ${[...ways, '--service gateway --base-url <url>'].join(', or ')}`;
  const fitting = Object.keys(profiles).find((name) => hasUse(profiles[name], use));
  // What a flag or a variable says would still win.
  const isOfProfile = origin.kind === 'profile' || (origin.kind === 'host' && baseUrl?.origin.kind === 'profile');
  const isInUse = isOfProfile && profile !== undefined && !isAskedFor(profile);
  throw usageError(
    `${title} (service ${value}, ${from}) does not have the ${format} format, which this command needs`,
    fitting !== undefined && isInUse
      ? `gateway-cli config use ${fitting} --for ${use}`
      : `${other}\nor a command that ${title} has: ${uses.map((one) => commands[one]).join(', ')}`,
  );
}

/** What a command of each use takes where nothing else is said. */
interface UseDefaults {
  /** Whose model of a profile it takes where it has none of its own. */
  fallback: Use;
  /** The local gateway's model. */
  local: string;
  /** The row of a profile's `auth`. */
  auth: AuthUse;
  /** A command that needs no gateway. */
  example: string;
}

/** The defaults of every use. */
export const useDefaults: { [use in Use]: UseDefaults } = {
  text: {
    fallback: 'text',
    local: 'local-text',
    auth: 'text',
    example: "gateway-cli text --offline 'Hello'",
  },
  chat: {
    fallback: 'text',
    local: 'local-chat',
    auth: 'messages',
    example: "gateway-cli chat --offline 'Hello'",
  },
  image: {
    fallback: 'image',
    local: 'local-image',
    auth: 'image',
    example: "gateway-cli image gen --offline 'a lighthouse'",
  },
  edit: {
    fallback: 'image',
    local: 'local-edit',
    auth: 'image',
    example: "gateway-cli image edit --offline -i photo.png 'make it gray'",
  },
};
