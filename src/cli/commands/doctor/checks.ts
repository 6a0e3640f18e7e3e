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

/** The result of a check that learned of its subject what later rows need. */
interface LearnedFinding<Subject> {
  finding: Finding;
  learned: Partial<Subject>;
}

/** One step of the examination. */
export interface CheckStep<Subject> {
  name: string;
  /** Examines the subject. An error that it throws is a failed check. */
  check: (subject: Subject) => Finding | LearnedFinding<Subject> | Promise<Finding | LearnedFinding<Subject>>;
  /** The command after a failure or a warning. Default: the hint of the error. */
  fix?: (subject: Subject) => string | undefined;
}

/** Runs rows until one fails. Returns the subject with what they learned of it, as `runRow` does. */
export async function* runRows<Subject extends object>(
  rows: readonly CheckStep<Subject>[],
  given: Subject,
  signal?: AbortSignal,
): AsyncGenerator<Check, Subject | undefined> {
  let subject: Subject | undefined = given;
  for (const row of rows) {
    subject = yield* runRow(row, subject, signal);
    if (subject === undefined) return undefined;
  }
  return subject;
}

/** Runs a row. Returns the subject with what it learned of it; undefined if it failed. Rejects with the reason of the signal. */
export async function* runRow<Subject extends object>(
  { name, check, fix }: CheckStep<Subject>,
  subject: Subject,
  signal?: AbortSignal,
): AsyncGenerator<Check, Subject | undefined> {
  let found: Finding | LearnedFinding<Subject>;
  try {
    found = await check(subject);
  } catch (error) {
    signal?.throwIfAborted();
    const failed = failedCheck(name, error);
    yield { ...failed, fix: fix?.(subject) ?? failed.fix };
    return undefined;
  }
  const { finding, learned } =
    typeof found === 'object' && 'learned' in found ? found : { finding: found, learned: {} };
  const known = { ...subject, ...learned };
  if (finding === undefined) return known;
  const report = typeof finding === 'string' ? { state: 'ok' as const, text: finding } : finding;
  const isFaulty = report.state === 'failed' || report.state === 'warning';
  yield { name, ...report, fix: report.fix ?? (isFaulty ? fix?.(known) : undefined) };
  return report.state === 'failed' ? undefined : known;
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

/** The subject of checks on this machine, before any gateway, and what they learned: the config file and the settings. */
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
    async check({ context }) {
      const config = await readConfig(await configPath(context.io));
      return { finding: describeConfig(config), learned: { config } };
    },
  },
  {
    name: 'settings',
    async check(start) {
      return { finding: undefined, learned: { surveyed: await readSettingsByUse(start, start.context) } };
    },
  },
];

function describeConfig({ path, exists, config, warnings }: LoadedConfig): Finding {
  const [warning] = warnings;
  if (warning !== undefined) {
    const [text = '', fix] = warning.split('; type: ');
    return { state: 'warning', text, fix };
  }
  const names = Object.keys(config.profiles).join(', ') || 'none';
  return exists ? `${path}, profiles: ${names}` : `none at ${path}; that is fine`;
}

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

/** One gateway, and what checks learned of it. */
export interface GatewaySubject {
  surveyed: SettingsByUse;
  /** The uses that the gateway serves. */
  uses: readonly Use[];
  flags: ConnectionFlags;
  context: Context;
  url?: URL;
  key?: Secret | undefined;
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
    examined.context.ui.hide(listCredentials({ headers: [], baseUrl }).map(({ secret }) => secret));
    return { finding: text === undefined ? `${url.href} (${from})` : { state: 'warning', text }, learned: { url } };
  },
  fix: ({ url }) => url && `gateway-cli config set baseUrl ${shellWord(url.href)}`,
};

export const apiKeyRow: CheckStep<GatewaySubject> = {
  name: 'key',
  async check(examined) {
    const { key: source, headers } = getFirstSettings(examined);
    const { context } = examined;
    const key = source.kind === 'none' ? undefined : await readConfiguredKey(source, context);
    context.ui.hide(listCredentials({ headers }, key).map(({ secret }) => secret));
    if (source.kind === 'none') return 'none is needed';
    return { finding: `there is one (${'origin' in source ? source.origin.from : ''})`, learned: { key } };
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
