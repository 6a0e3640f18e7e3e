import { shellWord } from '../shell-word.ts';
import type { SettingsFlags } from './settings.ts';

/** Those that decide which gateway is asked, and how. A header is left out: it may hold a secret. */
const gatewayFlags = {
  profile: '--profile',
  service: '--service',
  baseUrl: '--base-url',
  apiKeyFile: '--api-key-file',
  auth: '--auth',
  headerNames: '--header-names',
  proxy: '--proxy',
  systemCa: '--system-ca',
  allowHttp: '--allow-http',
} as const;

/**
 * The flags that led to a gateway, each behind a blank, so that a command in a hint asks the same one. A URL that may hold a
 * password is not repeated.
 */
export function typedFlags(flags: SettingsFlags): string {
  const typed = { ...flags, profile: flags.jobProfile ?? flags.profile };
  return Object.entries(gatewayFlags)
    .map(([key, flag]) => {
      const value = typed[key as keyof typeof gatewayFlags];
      if (value === undefined || value === false) return '';
      if (value === true) return ` ${flag}`;
      return ` ${flag} ${/^https?:.*[@?]/i.test(value) ? '<url>' : shellWord(value)}`;
    })
    .join('');
}
