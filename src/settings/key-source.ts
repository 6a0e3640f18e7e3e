import { dirname, join, resolve } from 'node:path';
import type { PickedProfile } from './pick-profile.ts';
import { fromEnvironment, fromFlag } from './sources.ts';
import type { Environment } from './sources.ts';
import { Secret } from './secret.ts';
import type { KeySource, LoadedConfig, Sourced } from './types.ts';

/** What decides where the key comes from. */
export interface KeyPlace {
  apiKeyFile: string | undefined;
  env: Environment;
  offline: boolean;
  picked: PickedProfile | undefined;
  /** The config file that holds the profile. */
  config: Pick<LoadedConfig, 'path' | 'distrust'>;
  baseUrl: Sourced<string> | undefined;
}

const ownKey = 'set GATEWAY_API_KEY, or give --api-key-file <path> (- reads stdin)';

/**
 * `--api-key-file`, GATEWAY_API_KEY, GATEWAY_API_KEY_FILE, then the profile's key; that one only for the profile's own
 * origin (design.md 3). Where there is none, the source says why.
 */
export function pickKey(place: KeyPlace): KeySource {
  if (place.offline) return { kind: 'missing', reason: 'no key is read offline', hint: 'leave --offline out' };
  const flag = fromFlag('--api-key-file', place.apiKeyFile);
  if (flag !== undefined) return { kind: 'file', path: flag.value, from: flag.from };
  const value = fromEnvironment(place.env, 'GATEWAY_API_KEY');
  if (value !== undefined) return { kind: 'value', secret: new Secret(value.value), from: value.from };
  const file = fromEnvironment(place.env, 'GATEWAY_API_KEY_FILE');
  if (file !== undefined) return { kind: 'file', path: file.value, from: file.from };
  return (
    profileKey(place) ?? {
      kind: 'missing',
      reason: 'no API key is set',
      hint: `${ownKey}, or type: gateway-cli config set apiKey -`,
    }
  );
}

/** Whether a profile's secrets may go to this base URL: same scheme, host and port. */
export function ownsOrigin(picked: PickedProfile | undefined, baseUrl: Sourced<string> | undefined): boolean {
  const own = picked?.profile.baseUrl;
  return own !== undefined && baseUrl !== undefined && originOf(own) === originOf(baseUrl.value);
}

function profileKey({ picked, baseUrl, env, config }: KeyPlace): KeySource | undefined {
  if (picked === undefined) return undefined;
  const { apiKey, apiKeyFile, apiKeyCommand } = picked.profile;
  if ((apiKey ?? apiKeyFile ?? apiKeyCommand) === undefined) return undefined;
  if (!ownsOrigin(picked, baseUrl)) return withheld(picked, baseUrl);
  const from = picked.label;
  if (apiKey !== undefined) return { kind: 'value', secret: new Secret(apiKey), from };
  if (apiKeyCommand === undefined)
    return { kind: 'file', path: inConfigFolder(apiKeyFile ?? '', config.path, env), from };
  return { kind: 'command', argv: apiKeyCommand, from, distrust: config.distrust };
}

function withheld(picked: PickedProfile, baseUrl: Sourced<string> | undefined): KeySource {
  const name = picked.name.value;
  const own = picked.profile.baseUrl;
  if (own === undefined) {
    const reason = `profile ${name} has a key but no baseUrl, so its key goes nowhere`;
    return { kind: 'missing', reason, hint: `gateway-cli config set baseUrl <url> --profile ${name}` };
  }
  const other =
    baseUrl === undefined ? 'there is no base URL' : `the base URL is at ${originOf(baseUrl.value)} (${baseUrl.from})`;
  return {
    kind: 'missing',
    reason: `the key of profile ${name} is for ${originOf(own)} only, and ${other}`,
    hint: `${ownKey}, or choose the profile of that gateway with --profile`,
  };
}

/** Paths of a profile start at the config file's folder, never at the current one. */
function inConfigFolder(path: string, configPath: string, env: Environment): string {
  const home = env['HOME'] ?? env['USERPROFILE'];
  if (home !== undefined && /^~[/\\]/.test(path)) return join(home, path.slice(2));
  return resolve(dirname(configPath), path);
}

/** Both URLs were checked to be http(s) before, so an origin is never `null`. */
function originOf(url: string): string {
  return new URL(url).origin;
}
