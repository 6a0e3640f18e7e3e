import {
  chooseHint,
  describeCut,
  describeReadError,
  type ErrorClass,
  findPastedEnd,
  GatewayError,
  listUses,
  minNode,
  parseBaseUrl,
  refuseOtherOperation,
  requireSafeUrl,
  services,
  shellWord,
  type Use,
  version,
} from '../../../library/index.ts';
import type { Context } from '../../context.ts';
import { type ConnectionFlags, readSettingsFlags } from '../../run/settings.ts';
import { readConfiguredKey } from '../../run/connection.ts';
import { missingError } from '../../settings/missing.ts';
import { resolveEveryUse, useDefaults } from '../../settings/resolve.ts';
import { listCredentials, type Secret } from '../../settings/redact.ts';
import type { LoadedConfig, PartialSettings, SettingsInput } from '../../settings/types.ts';
import { arch, platform } from 'node:process';

/** One line of the report of `doctor`. */
export interface Check {
  name: string;
  /** The profile that was examined, if uses have profiles of their own. */
  profile?: string | undefined;
  /** `warning`: it may work; `skipped`: unknown, or it does not apply. */
  state: 'ok' | 'warning' | 'failed' | 'skipped';
  /** The result of the check. */
  text: string;
  /** The command that fixes the state, if it is not ok. */
  fix?: string | undefined;
  /** The class of the error that a request would end with, if the check failed. */
  class?: ErrorClass | undefined;
}

/** The result of a check; a string means ok. */
export type Finding = string | Omit<Check, 'name' | 'profile'>;

/** What was read, or the check that failed by it. Rejects with the reason of the signal. */
export async function attempt<Value>(
  name: string,
  read: () => Value | Promise<Value>,
  signal: AbortSignal,
): Promise<{ value: Value } | { failed: Check }> {
  try {
    return { value: await read() };
  } catch (error) {
    signal.throwIfAborted();
    return { failed: failedCheck(name, error) };
  }
}

export function toCheck(name: string, finding: Finding): Check {
  return { name, ...(typeof finding === 'string' ? { state: 'ok' as const, text: finding } : finding) };
}

/** The check of what is found. Rejects with the reason of the signal. */
export async function examine(
  name: string,
  find: () => Finding | Promise<Finding>,
  signal: AbortSignal,
): Promise<Check> {
  const found = await attempt(name, find, signal);
  return 'failed' in found ? found.failed : toCheck(name, found.value);
}

export function failedCheck(name: string, error: unknown): Check {
  if (!(error instanceof GatewayError))
    return { name, state: 'failed', class: 'internal', text: describeReadError(error) };
  // In other commands, the hint of this reason is to run doctor.
  const fix = error.details.reason === 'auth-unknown' ? checkKey : chooseHint(error);
  return { name, state: 'failed', class: error.class, text: error.message, fix };
}

const checkKey = 'check the key, and whether the gateway wants it in another form or header';

/** Whether Node is new enough; `node` is its version. */
export function checkNode(node: string): Check {
  const text = `gateway-cli ${version}, Node ${node}, ${platform} ${arch}`;
  if (node.localeCompare(minNode, 'en', { numeric: true }) >= 0) return { name: 'node', state: 'ok', text };
  return { name: 'node', state: 'failed', class: 'usage', text, fix: `install Node ${minNode} or later` };
}

/** The settings of every use. */
export interface SettingsByUse {
  byUse: Readonly<Record<Use, PartialSettings>>;
  place: Omit<SettingsInput, 'use'>;
}

/** The settings of every use, as flags, environment and config file have them. Throws GatewayError usage for a wrong value. */
export async function readSettingsByUse(
  flags: ConnectionFlags,
  config: LoadedConfig,
  context: Context,
): Promise<SettingsByUse> {
  const place = { flags: await readSettingsFlags(flags, context), env: context.io.env, config };
  return { place, byUse: resolveEveryUse(place) };
}

export function describeConfig({ path, exists, config, warnings }: LoadedConfig): Finding {
  const [warning] = warnings;
  if (warning !== undefined) {
    const [text = '', fix] = warning.split('; type: ');
    return { state: 'warning', text, fix };
  }
  const names = Object.keys(config.profiles).join(', ') || 'none';
  return exists ? `${path}, profiles: ${names}` : `none at ${path}; that is fine`;
}

/** One gateway, and the uses that it serves. All of them have the same address and key. */
export interface Gateway {
  surveyed: SettingsByUse;
  uses: readonly Use[];
  flags: ConnectionFlags;
  context: Context;
}

export function getFirstSettings({ surveyed, uses }: Gateway): PartialSettings {
  return surveyed.byUse[uses[0] ?? 'text'];
}

/** The address without what was pasted behind it. Throws GatewayError usage. */
export function readGatewayUrl(gateway: Gateway): { url: URL; finding: Finding } {
  const { surveyed, context } = gateway;
  const { baseUrl, allowHttp, format, use, origins } = getFirstSettings(gateway);
  if (baseUrl === undefined) throw missingError({ ...surveyed.place, use }, ['base URL']);
  const from = origins.baseUrl?.from ?? '';
  const url = readAddress({ value: baseUrl, from }, allowHttp);
  refuseOtherOperation(url, format);
  const text = describeCut(url, format);
  const path = url.pathname.replace(/\/$/, '');
  const cut = findPastedEnd(path, format) ?? '';
  if (cut !== '') url.pathname = path.slice(0, -cut.length);
  context.ui.hide(listCredentials({ headers: [], baseUrl }).map(({ secret }) => secret));
  if (text === undefined) return { url, finding: `${url.href} (${from})` };
  return { url, finding: { state: 'warning', text, fix: `gateway-cli config set baseUrl ${shellWord(url.href)}` } };
}

/** The key of the gateway; undefined if none is needed. Throws GatewayError auth. */
export async function readGatewayKey(gateway: Gateway): Promise<Secret | undefined> {
  const { key: source, headers } = getFirstSettings(gateway);
  const { context } = gateway;
  const key = source.kind === 'none' ? undefined : await readConfiguredKey(source, context);
  context.ui.hide(listCredentials({ headers }, key).map(({ secret }) => secret));
  return key;
}

/** The key was read already: no command runs twice. */
export function withKey(settings: PartialSettings, secret: Secret | undefined): PartialSettings {
  if (secret === undefined || !('origin' in settings.key)) return settings;
  return { ...settings, key: { kind: 'value', secret, origin: settings.key.origin } };
}

/** Requests of doctor are not sent again. */
export const once = { policy: { retries: 0, maxWaitMs: 0, safeOnly: true } };

/** Reads a base URL as a request does. Throws GatewayError usage if it is not one, or if no key may be sent to it. */
export function readAddress({ value, from }: { value: string; from: string }, allowHttp: boolean): URL {
  try {
    const url = parseBaseUrl(value);
    requireSafeUrl(url, { allowHttp, hasKey: true });
    return url;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError(error.class, `${error.message} (${from})`, error.details);
  }
}

/** Whether a model is set for every use that the service offers. */
export function checkModels(gateway: Gateway): Check {
  const { byUse } = gateway.surveyed;
  const name = 'models';
  const served = listServedUses(gateway);
  const [first] = served;
  if (first === undefined) {
    const uses = gateway.uses.join(', ');
    const fix = `gateway-cli config use <profile> --for ${gateway.uses.join(',')}`;
    return { name, state: 'failed', class: 'usage', text: `the service does not have ${uses}`, fix };
  }
  const { service, typedFlags, origins } = byUse[first];
  const listed = services[service].isKeyless ? 'the newest of its list' : undefined;
  const known = served.map((use) => ({ use, model: byUse[use].model ?? listed }));
  const text = known.map(({ use, model }) => `${use} ${model ?? 'none'}`).join(', ');
  const lacking = known.flatMap(({ use, model }) => (model === undefined ? use : []));
  if (lacking.length === 0) return { name, state: 'ok', text };
  const needed = new Set(
    lacking.map((use) => {
      const { modelOf } = useDefaults[use];
      return lacking.includes(modelOf) ? modelOf : use;
    }),
  );
  const settings = [...needed].map((use) => `models.${use} <model>`);
  // A service that a flag names is set for good too.
  if (origins.service.kind === 'flag') settings.unshift(`service ${service}`);
  const commands = settings.map((setting) => configCommand(setting, gateway.context));
  const fix = `name one each time: -m <model>; to see them: gateway-cli models${typedFlags}\nor for good: ${commands.join('\n')}`;
  if (lacking.length < known.length) return { name, state: 'warning', text, fix };
  return { name, state: 'failed', class: 'usage', text, fix };
}

/** The uses of the gateway that its service has. */
export function listServedUses({ surveyed: { byUse }, uses }: Gateway): Use[] {
  return uses.filter((use) => listUses(byUse[use].service).includes(use));
}

/** The command that sets a value in the named profile. */
export function configCommand(setting: string, { root }: Pick<Context, 'root'>): string {
  const profile = root.profile === undefined ? '' : ` --profile ${shellWord(root.profile)}`;
  return `gateway-cli config set ${setting}${profile}`;
}
