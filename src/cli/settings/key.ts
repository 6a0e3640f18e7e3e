import { execFile } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import {
  describeReadError,
  describeRunError,
  GatewayError,
  hasOwnHost,
  isLoopback,
  isOwnHost,
  type ServiceName,
  services,
} from '../../library/index.ts';
import { formatDuration } from './values.ts';
import { localWay, vendorWay } from './missing.ts';
import { getProfileBaseUrl, hasKey, ownsOrigin } from './profile.ts';
import { Secret, createRedactor } from './redact.ts';
import { type Environment, getLongFlag, fromFlags, fromVariables, listVariables } from './sources.ts';
import { addressNames, vendorKey } from './vendor-variables.ts';
import type { KeySource, Origin, PickedProfile, SettingsInput, SourcedValue } from './types.ts';

/** Effects of reading a key, such as reading a file; the caller gives them. */
export interface KeyEffects {
  readFile(path: string): Promise<string>;
  /** Reads standard input to its end. */
  readStdin(): Promise<string>;
  /** Kills a key command. */
  signal?: AbortSignal | undefined;
}

/**
 * Reads the key from its source, without whitespace at its ends. Throws GatewayError auth if there is none, it cannot be read, or a
 * header cannot carry it; the message names the position, never the key.
 */
export async function readKey(source: KeySource, effects: KeyEffects): Promise<Secret> {
  switch (source.kind) {
    case 'none':
      throw new GatewayError('internal', 'no key is needed');
    case 'missing':
      throw new GatewayError('auth', source.reason, { hint: source.hint, sent: 'no' });
    case 'value':
      return checkKey(source.secret.reveal(), source.origin.from);
    case 'file':
      return checkKey(await readKeyFile(source.path, source.origin.from, effects), source.origin.from);
    case 'command':
      if (source.distrust !== undefined)
        throw keyError(`apiKeyCommand is not run: ${source.distrust.reason}`, source.distrust.hint);
      return checkKey(await runKeyCommand(source.argv, source.origin.from, effects), source.origin.from);
  }
}

async function readKeyFile(path: string, from: string, effects: KeyEffects): Promise<string> {
  if (path === '-') return effects.readStdin();
  try {
    return await effects.readFile(path);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw keyError(
      `the key file cannot be read (${from}): ${describeReadError(error)}`,
      'check its path and rights',
      error,
    );
  }
}

const commandTimeoutMs = 30_000;

/**
 * Runs a key command without a shell and returns its output: no stdin (it would read the prompt), output up to 64 KiB. Throws
 * GatewayError auth if it cannot be started, fails or takes too long; then it is killed.
 */
export async function runKeyCommand(
  argv: readonly string[],
  from: string,
  { timeoutMs = commandTimeoutMs, signal }: { timeoutMs?: number; signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const [program = '', ...words] = argv;
  // After the timeout Node also closes the pipes, which a grandchild can keep open forever.
  const limits = { maxBuffer: 64 * 1024, timeout: timeoutMs, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(program, words, { ...limits, windowsHide: true, signal }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      if (signal?.aborted) return reject(signal.reason as Error);
      const hint = `try it by hand: ${program} …`;
      const failed = `the key command did not run (${from})`;
      if (error.killed) return reject(keyError(`${failed}: no key after ${formatDuration(timeoutMs)}`, hint));
      const { code } = error as { code?: unknown };
      // Without an exit code or signal, it was not started or printed too much.
      const end = typeof code === 'number' ? `exit code ${code}` : error.signal && `ended by ${error.signal}`;
      if (!end) return reject(keyError(`${failed}: ${describeRunError(error)}`, hint, error));
      const redact = createRedactor([stdout, ...stdout.split(/\s/), ...words].map((secret) => new Secret(secret)));
      const [line = ''] = redact(stderr)
        .trimStart()
        .split(/[\r\n]/, 1);
      reject(keyError(`the key command failed (${from}): ${end}${line && `: ${line.slice(0, 200)}`}`, hint));
    });
    child.stdin?.end();
  });
}

/** The key without whitespace at its ends. Throws GatewayError auth if a header cannot carry it; the message never shows it. */
export function checkKey(text: string, from: string): Secret {
  const key = text.trim();
  if (key === '') throw keyError(`the key is empty (${from})`, 'set GATEWAY_API_KEY, or give --api-key-file <path>');
  if (/^(["']).*\1$/.test(key))
    throw keyError(`the key begins and ends with quotes (${from})`, 'remove the quotes: they are not part of the key');
  const position = key.search(/[^\x21-\x7e]/);
  if (position === -1) return new Secret(key);
  const hint = 'a key is one word of plain characters; look for a second line, quotes or a pasted blank';
  throw keyError(`the key has an invalid character at position ${position + 1} (${from})`, hint);
}

function keyError(message: string, hint: string, cause?: unknown): GatewayError {
  return new GatewayError('auth', message, { hint, cause, sent: 'no', retryable: false });
}

/** The facts that decide the source of the key, beside flags and variables. */
export interface KeyPlace {
  /** The chosen profile, if it is of the service that is asked. */
  serviceProfile: PickedProfile | undefined;
  service: SourcedValue<ServiceName>;
  baseUrl: SourcedValue<string> | undefined;
}

/**
 * Picks the source of the key in this order: `--api-key-file`, GATEWAY_API_KEY, GATEWAY_API_KEY_FILE, the profile's key, a
 * variable of the service's own tools. The last two go only to their own origin. If the service is named, its variable comes
 * before GATEWAY_API_KEY, which can be for another service. If there is no key, the source says why.
 */
export function pickKey(input: SettingsInput, place: KeyPlace): KeySource {
  const flag = fromFlags('apiKeyFile', input.flags);
  if (flag !== undefined) return inFile(flag);
  const vendor = ownVariable(input, place);
  const isNamed = 'name' in place.service.origin;
  if (!isNamed || vendor === undefined || vendor.kind === 'missing') {
    const value = fromVariables('apiKey', input);
    if (value !== undefined) return asValue(value);
    const file = fromVariables('apiKeyFile', input);
    if (file !== undefined) return inFile(file);
  }
  const own = profileKey(input, place);
  const found = [own, vendor].find((source) => source !== undefined && source.kind !== 'missing');
  return found ?? own ?? vendor ?? noKey(input, place);
}

/** The local gateway has a key of its own. */
export const offlineKey = missingKey('no key is read offline', 'leave --offline out');

/** The flag or variable of a key that is not bound to an origin, so that it can go to any. */
export function keyForAnyOrigin(key: KeySource): string | undefined {
  if (key.kind !== 'value' && key.kind !== 'file') return undefined;
  const { origin } = key;
  return 'name' in origin && sourcesForAnyOrigin.has(origin.name) ? origin.name : undefined;
}

const sourcesForAnyOrigin = new Set([
  getLongFlag('apiKeyFile'),
  ...(['apiKey', 'apiKeyFile'] as const).flatMap((name) => listVariables(name, 'text')),
]);

function asValue({ value, origin }: SourcedValue<string>): KeySource {
  return { kind: 'value', secret: new Secret(value), origin };
}

function inFile({ value, origin }: SourcedValue<string>): KeySource {
  return { kind: 'file', path: value, origin };
}

/**
 * The key in a variable of the service's own tools. It goes only to the service's own host, to the address in the service's own
 * variable, which the user set beside it, or to this machine.
 */
function ownVariable({ env }: SettingsInput, { service, baseUrl: asked }: KeyPlace): KeySource | undefined {
  const { baseUrl, template } = services[service.value];
  const ownUrl = baseUrl ?? template?.url;
  const found = vendorKey(env, service.value);
  if (found === undefined || ownUrl === undefined || asked === undefined) return undefined;
  if (isForVendor({ service, baseUrl: asked }) || isLoopback(new URL(asked.value)))
    return found.origin.name.endsWith('_FILE') ? inFile(found) : asValue(found);
  return missingKey(keptFrom(`the key in ${found.origin.name}`, ownUrl, asked), ownKey);
}

/** Whether requests go to the service's own host, or to the address that the user set in the service's own variable. */
export function isForVendor({ service, baseUrl }: Pick<KeyPlace, 'service' | 'baseUrl'>): boolean {
  if (baseUrl === undefined) return false;
  const { origin, value } = baseUrl;
  const isPair = origin.kind === 'variable' && addressNames(service.value).includes(origin.name);
  return isPair || isOwnHost(service.value, value);
}

function profileKey({ env, config }: SettingsInput, { serviceProfile, baseUrl }: KeyPlace): KeySource | undefined {
  if (!hasKey(serviceProfile)) return undefined;
  const { apiKey, apiKeyFile, apiKeyCommand } = serviceProfile.profile;
  if (!ownsOrigin(serviceProfile, baseUrl)) return withheld(serviceProfile, baseUrl);
  const origin: Origin = { kind: 'profile', from: serviceProfile.label };
  if (apiKey !== undefined) return asValue({ value: apiKey, origin });
  if (apiKeyFile !== undefined) return inFile({ value: inConfigFolder(apiKeyFile, config.path, env), origin });
  const argv = typeof apiKeyCommand === 'string' ? apiKeyCommand.trim().split(/[ \t]+/) : (apiKeyCommand ?? []);
  return { kind: 'command', argv, origin, distrust: config.distrust };
}

/** Paths in a profile are relative to the folder of the config file, not to the current folder. */
function inConfigFolder(path: string, configPath: string, env: Environment): string {
  const home = env['HOME'] ?? env['USERPROFILE'];
  if (home !== undefined && /^~[/\\]/.test(path)) return join(home, path.slice(2));
  return resolve(dirname(configPath), path);
}

/** The URLs were checked to be http(s) before, so an origin is never `null`. */
function getOrigin(url: string): string {
  return new URL(url).origin;
}

function missingKey(reason: string, hint: string): KeySource {
  return { kind: 'missing', reason, hint };
}

const ownKey = 'set GATEWAY_API_KEY, or give --api-key-file <path> (- reads stdin)';

function noKey(input: SettingsInput, { service, baseUrl }: KeyPlace): KeySource {
  const isLocal = baseUrl !== undefined && isLoopback(new URL(baseUrl.value));
  // A local server with a vendor's format seldom needs a key.
  if (services[service.value].isKeyless || (service.value === 'openai' && isLocal)) return { kind: 'none' };
  const { keyVariables, keyPage } = services[service.value];
  const [variable] = keyVariables;
  // The vendor's key would not go there.
  if (hasOwnHost(service.value) && baseUrl !== undefined && !isLocal && !isOwnHost(service.value, baseUrl.value))
    return missingKey(`no API key for ${getOrigin(baseUrl.value)} is set (${baseUrl.origin.from})`, ownKey);
  if (variable !== undefined)
    return missingKey(`no API key of ${service.value} is set`, `set ${variable}; you make a key at ${keyPage}`);
  const hint = `${ownKey}, or type: gateway-cli config set apiKey -`;
  if (!isLocal) return missingKey('no API key is set', hint);
  const vendor = vendorWay(input);
  if (vendor !== undefined)
    return missingKey('no API key is set', `if a vendor's service answers there, name it: ${vendor}\nelse ${hint}`);
  const local = localWay(baseUrl.value, input.use);
  return missingKey('no API key is set', local === undefined ? hint : `${hint}\n${local}`);
}

/** A missing key, with the reason that the profile's key does not go to this base URL. */
function withheld(picked: PickedProfile, baseUrl: SourcedValue<string> | undefined): KeySource {
  const name = picked.name.value;
  const own = getProfileBaseUrl(picked.profile);
  if (own === undefined || baseUrl === undefined) {
    const reason = `profile ${name} has a key but no baseUrl, so its key goes nowhere`;
    return missingKey(reason, `gateway-cli config set baseUrl <url> --profile ${name}`);
  }
  const hint = `${ownKey}, or choose the profile of that gateway with --profile`;
  return missingKey(keptFrom(`the key of profile ${name}`, getOrigin(own), baseUrl), hint);
}

function keptFrom(key: string, home: string, baseUrl: SourcedValue<string>): string {
  return `${key} is for ${home} only, and the base URL is at ${getOrigin(baseUrl.value)} (${baseUrl.origin.from})`;
}
