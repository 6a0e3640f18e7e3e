import { resolve as resolvePath } from 'node:path';
import { parseConfig } from '../../../src/cli/settings/parse.ts';
import { resolveSettings } from '../../../src/cli/settings/resolve.ts';
import type {
  LoadedConfig,
  Origin,
  Origins,
  Settings,
  SettingsFlags,
  SettingsInput,
} from '../../../src/cli/settings/types.ts';
import type { Use } from '../../../src/library/vendors/services.ts';

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

/** Each setting with where it is from. */
export function withSources({ origins, ...settings }: Settings): Record<string, unknown> {
  const pair = (value: unknown, origin: unknown): unknown => {
    if (value === undefined || origin === undefined) return value;
    if (typeof value !== 'object') return { value, from: (origin as Origin).from };
    const parts = Object.entries(value as object);
    return Object.fromEntries(
      parts.map(([name, part]) => [name, pair(part, (origin as Record<string, unknown>)[name])]),
    );
  };
  const { headers, ...all } = settings;
  const paired = Object.entries(all).map(([name, value]) => [name, pair(value, origins[name as keyof Origins])]);
  return { ...Object.fromEntries(paired), headers };
}
