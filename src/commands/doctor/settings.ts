import manifest from '../../../package.json' with { type: 'json' };
import type { Check } from './types.ts';
import { GatewayError } from '../../errors.ts';
import { readReason } from '../../files/file-reason.ts';
import { readConfig, configPath } from '../../settings/sources.ts';
import { services } from '../../services.ts';
import { readHeaderFlags } from '../../settings/headers.ts';
import { surveyUses } from '../../settings/resolve.ts';
import { type SettingsFlags, type SettingsSurvey, type Use, useNames } from '../../settings/types.ts';
import type { LoadedConfig } from '../../settings/config-types.ts';
import { parseBaseUrl, requireSafeUrl } from '../../transport/request.ts';
import { shellWord } from '../../shell-word.ts';
import { runtime } from '../../terminal/runtime.ts';
import { version } from '../../version.ts';
import { type SettingRow, settingRows } from '../../settings/survey.ts';
import type { Context } from '../../cli/context.ts';
import { hintOf } from '../../advice.ts';
import { readUserFile } from '../../cli/input/input-files.ts';
import type { ConnectionFlags } from '../../cli/run/settings.ts';

/** The settings as far as they could be read. */
export interface Surveyed {
  of: Readonly<Record<Use, SettingsSurvey>>;
  rows: SettingRow[];
  /** Those that count for the service. */
  used: SettingRow[];
}

/** Which Node runs, and whether it is new enough. */
export function checkRuntime(node: string = runtime.node): Check {
  const least = manifest.engines.node.replace('>=', '');
  const text = `gateway-cli ${version}, Node ${node}, ${runtime.machine}`;
  if (!isOlder(node, least)) return { name: 'node', state: 'ok', text };
  return { name: 'node', state: 'failed', class: 'usage', text, fix: `install Node ${least} or later` };
}

function isOlder(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => text.split('.').map(Number));
  const at = [0, 1, 2].find((index) => a?.[index] !== b?.[index]);
  return at !== undefined && (a?.[at] ?? 0) < (b?.[at] ?? 0);
}

/** The config file: whether it is there, can be read, and is nobody else's business. */
export async function checkConfigFile({ io }: Context): Promise<{ check: Check; config: LoadedConfig | undefined }> {
  try {
    const config = await readConfig(await configPath({ env: io.env, cwd: io.cwd }));
    const [warning] = config.warnings;
    if (warning !== undefined) {
      const [text = '', fix] = warning.split('; type: ');
      return { config, check: { name: 'config', state: 'warning', text, fix } };
    }
    const names = Object.keys(config.config.profiles).join(', ') || 'none';
    const text = config.exists ? `${config.path}, profiles: ${names}` : `none at ${config.path}; that is fine`;
    return { config, check: { name: 'config', state: 'ok', text } };
  } catch (error) {
    return { config: undefined, check: failedCheck('config', error) };
  }
}

/** Every setting, from wherever it comes. Throws GatewayError usage where one is wrong. */
export async function survey(flags: ConnectionFlags, config: LoadedConfig, { io, root }: Context): Promise<Surveyed> {
  const readText = async (path: string) => new TextDecoder().decode(await readUserFile('--header', path, io.cwd));
  const headers = await readHeaderFlags(flags.header ?? [], readText);
  const typed: SettingsFlags = { ...flags, headers, profile: root.profile, replay: false, prices: undefined };
  const place = { flags: typed, env: io.env, config };
  return { of: surveyUses(place), rows: settingRows(place), used: settingRows(place, 'used') };
}

/** Reads a base URL as a request would; undefined where it is none, or where no key would be sent to it. */
export function checkAddress(
  { value, from }: { value: string; from: string },
  allowHttp: boolean,
): { url: URL | undefined; check: Check } {
  const name = 'base URL';
  try {
    const { url, warnings } = parseBaseUrl(value);
    requireSafeUrl(url, { allowHttp, hasKey: true });
    const [warning] = warnings;
    const fix = `gateway-cli config set baseUrl ${shellWord(url.href)}`;
    if (warning !== undefined) return { url, check: { name, state: 'warning', text: warning, fix } };
    return { url, check: { name, state: 'ok', text: `${url.href} (${from})` } };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const check = failedCheck(name, error);
    return { url: undefined, check: { ...check, text: `${check.text} (${from})` } };
  }
}

/** Some uses, and the profile that serves them; nobody named one where it is absent. */
export interface Served {
  profile?: string | undefined;
  uses: readonly Use[];
}

/** The profiles in use, each with what it serves. */
export function servedBy({ of }: Surveyed): Served[] {
  const nameOf = (use: Use): string | undefined => of[use].profile?.value;
  const names = [...new Set(useNames.map(nameOf))];
  return names.map((profile) => ({ profile, uses: useNames.filter((use) => nameOf(use) === profile) }));
}

/** `--profile <name>` for the commands that mend a profile, where one was named. */
export function profileFlag({ root }: Pick<Context, 'root'>): string {
  return root.profile === undefined ? '' : ` --profile ${shellWord(root.profile)}`;
}

/** Whether each use that the service has has a model. */
export function checkModels({ of }: Surveyed, uses: readonly Use[], context: Pick<Context, 'root'>): Check {
  const known = uses
    .filter((use) => services[of[use].service.value].uses.includes(use))
    .map((use) => ({ use, model: of[use].model }));
  if (known.length === 0) {
    const fix = `gateway-cli config use <profile> --for ${uses.join(',')}`;
    return {
      name: 'models',
      state: 'failed',
      class: 'usage',
      text: `the service does not have ${uses.join(', ')}`,
      fix,
    };
  }
  const missing = known.find(({ model }) => model === undefined);
  const text = known.map(({ use, model }) => `${use} ${model?.value ?? 'none'}`).join(', ');
  if (missing === undefined) return { name: 'models', state: 'ok', text };
  const { use } = missing;
  const example = services[of[use].service.value].models[use] ?? '<model>';
  const fix = `gateway-cli config set models.${use} ${example}${profileFlag(context)}`;
  if (known.every(({ model }) => model === undefined))
    return { name: 'models', state: 'failed', class: 'usage', text, fix };
  return { name: 'models', state: 'warning', text, fix };
}

/** What an error says, as a check. */
export function failedCheck(name: string, error: unknown): Check {
  if (!(error instanceof GatewayError)) return { name, state: 'failed', class: 'internal', text: readReason(error) };
  // The hint for others is this very examination.
  const fix = error.details.reason === 'auth-unknown' ? error.details.hint : hintOf(error);
  return { name, state: 'failed', class: error.class, text: error.message, fix };
}
