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
import { resolveEveryUse } from '../../settings/resolve.ts';
import { listCredentials, type Secret } from '../../settings/redact.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { type SettingRow, settingRows, type SettingsPlace } from '../../settings/setting-rows.ts';
import type { LoadedConfig, PartialSettings } from '../../settings/types.ts';
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

/** The result of a check. A string means ok; undefined means that there is nothing to report. */
export type Finding = string | Omit<Check, 'name' | 'profile'> | undefined;

/** One step of the examination. */
export interface CheckStep<Subject> {
  name: string;
  /** Examines the subject and stores in it the facts that later rows need. An error that it throws is a failed check. */
  check: (subject: Subject) => Finding | Promise<Finding>;
  /** The command after a failure or a warning. Default: the hint of the error. */
  fix?: (subject: Subject) => string | undefined;
}

/** Runs the rows until one fails; returns whether all passed. Rejects with the reason of the signal. */
export async function* runRows<Subject>(
  rows: readonly CheckStep<Subject>[],
  subject: Subject,
  signal?: AbortSignal,
): AsyncGenerator<Check, boolean> {
  for (const { name, check, fix } of rows) {
    let found: Finding;
    try {
      found = await check(subject);
    } catch (error) {
      signal?.throwIfAborted();
      const failed = failedCheck(name, error);
      yield { ...failed, fix: fix?.(subject) ?? failed.fix };
      return false;
    }
    if (found === undefined) continue;
    const finding = typeof found === 'string' ? { state: 'ok' as const, text: found } : found;
    const isFaulty = finding.state === 'failed' || finding.state === 'warning';
    yield { name, ...finding, fix: finding.fix ?? (isFaulty ? fix?.(subject) : undefined) };
    if (finding.state === 'failed') return false;
  }
  return true;
}

export function failedCheck(name: string, error: unknown): Check {
  if (!(error instanceof GatewayError))
    return { name, state: 'failed', class: 'internal', text: describeReadError(error) };
  // In other commands, the hint of this reason is to run doctor.
  const fix = error.details.reason === 'auth-unknown' ? checkKey : chooseHint(error);
  return { name, state: 'failed', class: error.class, text: error.message, fix };
}

const checkKey = 'check the key, and whether the gateway wants it in another form or header';

/** The settings of every use. */
export interface SettingsByUse {
  place: SettingsPlace;
  byUse: Readonly<Record<Use, PartialSettings>>;
  rows: SettingRow[];
}

/** The subject of checks on this machine, before any gateway: the config file and the settings. */
export interface LocalSubject {
  flags: ConnectionFlags;
  context: Context;
  config?: LoadedConfig;
  surveyed?: SettingsByUse;
}

/** Whether Node is new enough; `node` is its version. */
export const nodeRow: CheckStep<{ node: string }> = {
  name: 'node',
  check({ node }) {
    const text = `gateway-cli ${version}, Node ${node}, ${platform} ${arch}`;
    const isOlder = node.localeCompare(minNode, 'en', { numeric: true }) < 0;
    return isOlder ? { state: 'failed', class: 'usage', text } : text;
  },
  fix: () => `install Node ${minNode} or later`,
};

/** The config file, and the settings of all uses. */
export const settingsRows: readonly CheckStep<LocalSubject>[] = [
  {
    name: 'config',
    async check(start) {
      start.config = await readConfig(await configPath(start.context.io));
      const { path, exists, config, warnings } = start.config;
      const [warning] = warnings;
      if (warning !== undefined) {
        const [text = '', fix] = warning.split('; type: ');
        return { state: 'warning', text, fix };
      }
      const names = Object.keys(config.profiles).join(', ') || 'none';
      return exists ? `${path}, profiles: ${names}` : `none at ${path}; that is fine`;
    },
  },
  {
    name: 'settings',
    async check(start) {
      start.surveyed = await readSettingsByUse(start, start.context);
      return undefined;
    },
  },
];

/** Every setting with its source. Throws GatewayError usage for a wrong value. */
export async function readSettingsByUse(
  { flags, config }: Omit<LocalSubject, 'context'>,
  context: Context,
): Promise<SettingsByUse> {
  const place = {
    flags: await readSettingsFlags(flags, context),
    env: context.io.env,
    config: config as LoadedConfig,
  };
  return { place, byUse: resolveEveryUse(place), rows: settingRows(place) };
}

/** One gateway, with the results of its checks so far. */
export interface GatewaySubject {
  surveyed: SettingsByUse;
  /** The uses that the gateway serves. */
  uses: readonly Use[];
  flags: ConnectionFlags;
  context: Context;
  url?: URL;
  key?: Secret;
}

/** The settings of the first use: all of a gateway's uses have the same address and key. */
export function getFirstSettings({ surveyed, uses }: GatewaySubject): PartialSettings {
  return surveyed.byUse[uses[0] ?? 'text'];
}

export const addressRow: CheckStep<GatewaySubject> = {
  name: 'base URL',
  check(examined) {
    const { baseUrl, allowHttp, format, use, origins } = getFirstSettings(examined);
    if (baseUrl === undefined) throw missingError({ ...examined.surveyed.place, use }, ['base URL']);
    const from = origins.baseUrl?.from ?? '';
    const url = readAddress({ value: baseUrl, from }, allowHttp);
    refuseOtherOperation(url, format);
    const { pathname } = url;
    const text = describeCut(url, format);
    const cut = findPastedEnd(pathname.replace(/\/$/, ''), format) ?? '';
    if (cut !== '') url.pathname = pathname.replace(/\/$/, '').slice(0, -cut.length);
    examined.url = url;
    examined.context.ui.hide(listCredentials({ headers: [], baseUrl }).map(({ secret }) => secret));
    return text === undefined ? `${url.href} (${from})` : { state: 'warning', text };
  },
  fix(examined) {
    return examined.url && `gateway-cli config set baseUrl ${shellWord(examined.url.href)}`;
  },
};

export const keyRow: CheckStep<GatewaySubject> = {
  name: 'key',
  async check(examined) {
    const { key: source, headers } = getFirstSettings(examined);
    if (source.kind !== 'none') examined.key = await readConfiguredKey(source, examined.context);
    examined.context.ui.hide(listCredentials({ headers }, examined.key).map(({ secret }) => secret));
    return source.kind === 'none' ? 'none is needed' : `there is one (${'origin' in source ? source.origin.from : ''})`;
  },
};

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

/** The use whose model a use without its own model takes. */
const defaultUse: Readonly<Record<Use, Use>> = { text: 'text', chat: 'text', image: 'image', edit: 'image' };

/** Whether a model is set for every use that the service offers. */
export const modelsRow: CheckStep<GatewaySubject> = {
  name: 'models',
  check(examined) {
    const known = servedUses(examined).map((use) => {
      const { model, service } = examined.surveyed.byUse[use];
      const listed = services[service].isKeyless ? 'the newest of its list' : undefined;
      return { use, model: model ?? listed };
    });
    const text = known.map(({ use, model }) => `${use} ${model ?? 'none'}`).join(', ');
    if (known.length === 0)
      return { state: 'failed', class: 'usage', text: `the service does not have ${examined.uses.join(', ')}` };
    if (known.every(({ model }) => model === undefined)) return { state: 'failed', class: 'usage', text };
    return known.some(({ model }) => model === undefined) ? { state: 'warning', text } : text;
  },
  fix(examined) {
    const { byUse } = examined.surveyed;
    const served = servedUses(examined);
    if (served.length === 0) return `gateway-cli config use <profile> --for ${examined.uses.join(',')}`;
    const lacking = served.filter((use) => byUse[use].model === undefined);
    const needed = new Set(lacking.map((use) => (lacking.includes(defaultUse[use]) ? defaultUse[use] : use)));
    const profile = profileFlag(examined.context);
    const { service, typedFlags, origins } = byUse[served[0] ?? 'text'];
    const settings = [...needed].map((use) => `models.${use} <model>`);
    // A service that a flag names is set for good too.
    if (origins.service.kind === 'flag') settings.unshift(`service ${service}`);
    const commands = settings.map((setting) => `gateway-cli config set ${setting}${profile}`);
    return `name one each time: -m <model>; to see them: gateway-cli models${typedFlags()}\nor for good: ${commands.join('\n')}`;
  },
};

function servedUses({ surveyed: { byUse }, uses }: GatewaySubject): Use[] {
  return uses.filter((use) => listUses(byUse[use].service).includes(use));
}

/** `--profile <name>` for commands that change the named profile. */
export function profileFlag({ root }: Pick<Context, 'root'>): string {
  return root.profile === undefined ? '' : ` --profile ${shellWord(root.profile)}`;
}
