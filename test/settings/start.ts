import { resolve as resolvePath } from 'node:path';
import { parseConfig } from '../../src/settings/parse.ts';
import { resolveSettings } from '../../src/settings/resolve.ts';
import type { LoadedConfig, Settings, SettingsFlags, SettingsInput, Use } from '../../src/settings/types.ts';

export const path = resolvePath('/etc/gateway/config.json');

/** A config file with these profiles, and its own `profile`. */
export function load(profiles: object, profile?: string | object): LoadedConfig {
  return { path, exists: true, config: parseConfig(JSON.stringify({ profile, profiles }), path), warnings: [] };
}

export const noConfig: LoadedConfig = { path, exists: false, config: parseConfig('', path), warnings: [] };

/** What the settings of a test are resolved from. */
export interface Start {
  flags?: SettingsFlags;
  env?: Record<string, string>;
  config?: LoadedConfig;
  use?: Use;
}

export function inputOf(start: Start): SettingsInput {
  return { flags: {}, env: {}, config: noConfig, use: 'text', ...start };
}

export function resolve(start: Start): Settings {
  return resolveSettings(inputOf(start));
}
