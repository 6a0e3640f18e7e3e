import { type GatewayError, usageError } from '../errors.ts';
import { vendorsOf } from '../services.ts';
import { namesIn, pickProfile } from './profile.ts';
import type { SettingsInput, Use } from './types.ts';
import { vendorWay, useDefaults } from './service.ts';
import { fromEnvironment, typedFlags } from './sources.ts';
import { variablesOf } from './table.ts';

/** What is missing, and the nearest way to it: the service whose key is there, the profiles that nobody chose. */
export function missingError(input: SettingsInput, missing: readonly string[]): GatewayError {
  const { use } = input;
  const ways = [
    missing.includes('base URL') &&
      (vendorWay(input) ??
        [...vendorsOf(use).map((name) => `--service ${name}`), '--base-url <url> (GATEWAY_BASE_URL)'].join(' or ')),
    missing.includes('model') && `--model <model> or ${variablesOf('model', use).at(-1)}`,
  ].filter((way) => way !== false);
  const hint = [
    ...(missing.includes('model') ? otherModel(input) : []),
    `set ${ways.join(', and ')}, or ${profileWay(input)}`,
    ...(missing.includes('base URL') ? [] : listWay(input)),
    `to try it without a gateway: ${useDefaults[use].example}`,
  ];
  const names = missing.map((name) => (name === 'model' && isOfImages(use) ? 'image model' : name));
  return usageError(`no ${names.join(' and no ')} is set`, hint.join('\n'));
}

function isOfImages(use: Use): boolean {
  return useDefaults[use].fallback === 'image';
}

/** A model of text alone is set: it does not make images. */
function otherModel({ env, use }: SettingsInput): string[] {
  const name = ['GATEWAY_MODEL', 'GATEWAY_CHAT_MODEL'].find((one) => fromEnvironment(env, one) !== undefined);
  return name !== undefined && isOfImages(use) ? [`${name} is for text; images have a model of their own`] : [];
}

/** The command that lists the models; recordings have no list. */
function listWay({ flags }: SettingsInput): string[] {
  return flags.replay === true ? [] : [`to see which there are: gateway-cli models${typedFlags(flags)}`];
}

function profileWay(input: SettingsInput): string {
  const { config } = input;
  if (!config.exists) return 'a profile (gateway-cli config init)';
  const { profiles } = config.config;
  if (pickProfile(input) || Object.keys(profiles).length === 0) return `a profile in ${config.path}`;
  return `choose a profile (--profile): ${namesIn(config.config)}`;
}
