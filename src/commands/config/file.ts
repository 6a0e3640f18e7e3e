import { usageError } from '../../errors.ts';
import { configPath } from '../../settings/folders.ts';
import { readConfig, writeConfig } from '../../settings/file.ts';
import type { Config, LoadedConfig } from '../../settings/types.ts';
import type { Context } from '../../cli/context.ts';
import { checkAddress } from '../doctor/settings.ts';

/** The config file and the profile that a `config` command edits. */
export interface Opened {
  loaded: LoadedConfig;
  /** `--profile`, GATEWAY_PROFILE, the file's own, else `default`. It need not be there yet. */
  profile: string;
}

/** Reads the config file. Throws GatewayError usage where it is wrong. */
export async function openConfig({ io, root, ui }: Context): Promise<Opened> {
  const loaded = await readConfig(await configPath({ env: io.env, cwd: io.cwd }));
  for (const warning of loaded.warnings) await ui.warn(warning);
  const named = root.profile ?? io.env['GATEWAY_PROFILE'];
  return { loaded, profile: named === undefined || named === '' ? (loaded.config.profile ?? 'default') : named };
}

/**
 * Writes the config file; a file that was open to others is theirs no more. Throws GatewayError usage where a command that
 * others may have put there would be run from then on.
 */
export async function saveConfig({ loaded }: Opened, config: Config): Promise<void> {
  const { distrust } = loaded;
  const kept = Object.entries(config.profiles).find(([name, { apiKeyCommand }]) => {
    const before = loaded.config.profiles[name]?.apiKeyCommand;
    return apiKeyCommand !== undefined && JSON.stringify(before) === JSON.stringify(apiKeyCommand);
  });
  if (distrust !== undefined && kept !== undefined) {
    const hint = `${distrust.hint}; or take it out: gateway-cli config unset apiKeyCommand --profile ${kept[0]}`;
    throw usageError(`apiKeyCommand of profile ${kept[0]} would be run from now on, and ${distrust.reason}`, hint);
  }
  await writeConfig(loaded.path, config);
}

/** The JSON document of every `config` command. */
export function configDocument({ loaded, profile }: Opened, more: object): object {
  return { schema: 'gateway-cli/config@1', ok: true, path: loaded.path, profile, ...more };
}

/** Warns at once of a base URL that the first request would refuse: plain http to another machine, a query, a password. */
export async function warnOfAddress(config: Config, profile: string, { ui }: Context): Promise<void> {
  const { baseUrl, allowHttp = false } = config.profiles[profile] ?? {};
  if (baseUrl === undefined) return;
  const { check } = checkAddress({ value: baseUrl, from: 'baseUrl' }, allowHttp);
  if (check.state === 'failed') await ui.warn(`no request will go there: ${check.text}; ${check.fix}`);
}
