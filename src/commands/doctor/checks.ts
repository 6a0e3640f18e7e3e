import manifest from '../../../package.json' with { type: 'json' };
import { hintOf } from '../../advice.ts';
import type { Context } from '../../cli/context.ts';
import { type ConnectionFlags, readConfiguredKey, readSettingsFlags } from '../../cli/run/settings.ts';
import { type ErrorClass, GatewayError } from '../../errors.ts';
import { readReason } from '../../files/file-reason.ts';
import { usesOf } from '../../services.ts';
import { missingError } from '../../settings/missing.ts';
import { surveyUses } from '../../settings/resolve.ts';
import { credentialsOf, type Secret } from '../../settings/redact.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { type SettingRow, settingRows, type SurveyPlace } from '../../settings/survey.ts';
import type { LoadedConfig, SettingsSurvey, Use } from '../../settings/types.ts';
import { shellWord } from '../../shell-word.ts';
import { runtime } from '../../terminal/runtime.ts';
import { parseBaseUrl, requireSafeUrl } from '../../transport/request.ts';
import { version } from '../../version.ts';

/** What `doctor` reports of one row. */
export interface Check {
  name: string;
  /** The profile that was examined, if uses have profiles of their own. */
  profile?: string | undefined;
  /** `warning`: it may work; `skipped`: unknown, or it does not apply. */
  state: 'ok' | 'warning' | 'failed' | 'skipped';
  /** What was found. */
  text: string;
  /** What to type if the state is not ok. */
  fix?: string | undefined;
  /** If it failed: the class of the error that a request would end with. */
  class?: ErrorClass | undefined;
}

/** What a check found; a text alone means ok, undefined that there is nothing to report. */
export type Finding = string | Omit<Check, 'name' | 'profile'> | undefined;

/** One row of the examination. */
export interface Row<Subject> {
  name: string;
  /** Looks, and notes in the subject what later rows need. What it throws is a failure. */
  check: (subject: Subject) => Finding | Promise<Finding>;
  /** What to type after a failure or a warning. Default: the hint of the error. */
  mend?: (subject: Subject) => string | undefined;
}

/** Runs the rows until one fails; returns whether all passed. Rejects with the reason of the signal. */
export async function* runRows<Subject>(
  rows: readonly Row<Subject>[],
  subject: Subject,
  signal?: AbortSignal,
): AsyncGenerator<Check, boolean> {
  for (const { name, check, mend } of rows) {
    let found: Finding;
    try {
      found = await check(subject);
    } catch (error) {
      signal?.throwIfAborted();
      const failed = failedCheck(name, error);
      yield { ...failed, fix: mend?.(subject) ?? failed.fix };
      return false;
    }
    if (typeof found === 'string') yield { name, state: 'ok', text: found };
    else if (found) yield { name, ...found, fix: found.fix ?? (isFaulty(found.state) ? mend?.(subject) : undefined) };
    if (typeof found === 'object' && found.state === 'failed') return false;
  }
  return true;
}

function isFaulty(state: Check['state']): boolean {
  return state === 'failed' || state === 'warning';
}

/** The check of an error. */
export function failedCheck(name: string, error: unknown): Check {
  if (!(error instanceof GatewayError)) return { name, state: 'failed', class: 'internal', text: readReason(error) };
  // The hint of the command line is to run doctor.
  const fix = error.details.reason === 'auth-unknown' ? error.details.hint : hintOf(error);
  return { name, state: 'failed', class: error.class, text: error.message, fix };
}

/** The settings of every use. */
export interface Surveyed {
  place: SurveyPlace;
  of: Readonly<Record<Use, SettingsSurvey>>;
  rows: SettingRow[];
}

/** What is examined before any gateway. */
export interface Start {
  flags: ConnectionFlags;
  context: Context;
  config?: LoadedConfig;
  surveyed?: Surveyed;
}

const leastNode = manifest.engines.node.replace('>=', '');

/** Whether Node is new enough; `node` is its version. */
export const nodeRow: Row<{ node: string }> = {
  name: 'node',
  check({ node }) {
    const text = `gateway-cli ${version}, Node ${node}, ${runtime.machine}`;
    const isOlder = node.localeCompare(leastNode, 'en', { numeric: true }) < 0;
    return isOlder ? { state: 'failed', class: 'usage', text } : text;
  },
  mend: () => `install Node ${leastNode} or later`,
};

/** The config file, and the settings of all uses. */
export const settingsRows: readonly Row<Start>[] = [
  {
    name: 'config',
    async check(start) {
      const { env, cwd } = start.context.io;
      start.config = await readConfig(await configPath({ env, cwd }));
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
      start.surveyed = await survey(start, start.context);
      return undefined;
    },
  },
];

/** Every setting with its source. Throws GatewayError usage for a wrong value. */
export async function survey({ flags, config }: Omit<Start, 'context'>, context: Context): Promise<Surveyed> {
  const place = {
    flags: await readSettingsFlags(flags, context),
    env: context.io.env,
    config: config as LoadedConfig,
  };
  return { place, of: surveyUses(place), rows: settingRows(place) };
}

/** A gateway, as far as it was examined. */
export interface Examined {
  surveyed: Surveyed;
  /** The uses that the gateway serves. */
  uses: readonly Use[];
  flags: ConnectionFlags;
  context: Context;
  url?: URL;
  key?: Secret;
}

/** The settings of the first use: all of a gateway's uses have the same address and key. */
export function settingsOf({ surveyed, uses }: Examined): SettingsSurvey {
  return surveyed.of[uses[0] ?? 'text'];
}

export const addressRow: Row<Examined> = {
  name: 'base URL',
  check(examined) {
    const { baseUrl, allowHttp, use } = settingsOf(examined);
    if (baseUrl === undefined) throw missingError({ ...examined.surveyed.place, use }, ['base URL']);
    const { url, warnings } = readAddress(baseUrl, allowHttp.value);
    examined.url = url;
    const [warning] = warnings;
    return warning === undefined ? `${url.href} (${baseUrl.from})` : { state: 'warning', text: warning };
  },
  mend(examined) {
    return examined.url && `gateway-cli config set baseUrl ${shellWord(examined.url.href)}`;
  },
};

export const keyRow: Row<Examined> = {
  name: 'key',
  async check(examined) {
    const { key: source, headers } = settingsOf(examined);
    if (source.kind !== 'none') examined.key = await readConfiguredKey(source, examined.context);
    examined.context.ui.hide(credentialsOf({ headers }, examined.key).map(({ secret }) => secret));
    return source.kind === 'none' ? 'none is needed' : `there is one (${'from' in source ? source.from : ''})`;
  },
};

/** Reads a base URL as a request does. Throws GatewayError usage if it is not one, or if no key may be sent to it. */
export function readAddress(
  { value, from }: { value: string; from: string },
  allowHttp: boolean,
): ReturnType<typeof parseBaseUrl> {
  try {
    const address = parseBaseUrl(value);
    requireSafeUrl(address.url, { allowHttp, hasKey: true });
    return address;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError(error.class, `${error.message} (${from})`, error.details);
  }
}

/** A use has the model of another one where it has none of its own. */
const defaultUse: Readonly<Record<Use, Use>> = { text: 'text', chat: 'text', image: 'image', edit: 'image' };

/** Whether each use that the service has has a model. */
export const modelsRow: Row<Examined> = {
  name: 'models',
  check(examined) {
    const known = servedUses(examined).map((use) => ({ use, model: examined.surveyed.of[use].model?.value }));
    const text = known.map(({ use, model }) => `${use} ${model ?? 'none'}`).join(', ');
    if (known.length === 0)
      return { state: 'failed', class: 'usage', text: `the service does not have ${examined.uses.join(', ')}` };
    if (known.every(({ model }) => model === undefined)) return { state: 'failed', class: 'usage', text };
    return known.some(({ model }) => model === undefined) ? { state: 'warning', text } : text;
  },
  mend(examined) {
    const { of } = examined.surveyed;
    const served = servedUses(examined);
    if (served.length === 0) return `gateway-cli config use <profile> --for ${examined.uses.join(',')}`;
    const lacking = served.filter((use) => of[use].model === undefined);
    const needed = new Set(lacking.map((use) => (lacking.includes(defaultUse[use]) ? defaultUse[use] : use)));
    const profile = profileFlag(examined.context);
    const names = [...needed].map((use) => `gateway-cli config set models.${use} <model>${profile}`);
    return `name one each time: -m <model>; to see them: gateway-cli models${profile}\nor for good: ${names.join('\n')}`;
  },
};

function servedUses({ surveyed: { of }, uses }: Examined): Use[] {
  return uses.filter((use) => usesOf(of[use].service.value).includes(use));
}

/** `--profile <name>` for commands that change the named profile. */
export function profileFlag({ root }: Pick<Context, 'root'>): string {
  return root.profile === undefined ? '' : ` --profile ${shellWord(root.profile)}`;
}
