import { type GatewayError, usageError } from '../errors.ts';
import { services, usesOf, vendorsOf } from '../services.ts';
import { isNamed, keysIn, namesIn, pickProfile, serviceOfProfile } from './config-file.ts';
import { fromEnvironment, typedFlags, variablesOf } from './sources.ts';
import type { Config, SettingsInput, SettingsSurvey, Use } from './types.ts';

/** The command of each use, and one that needs no gateway. */
const commands: { [use in Use]: { name: string; offline: string } } = {
  text: { name: 'text', offline: "gateway-cli text --offline 'Hello'" },
  image: { name: 'image gen', offline: "gateway-cli image gen --offline 'a lighthouse'" },
  edit: { name: 'image edit', offline: "gateway-cli image edit --offline -i photo.png 'make it gray'" },
  chat: { name: 'chat', offline: "gateway-cli chat --offline 'Hello'" },
};

/** The error for settings that are not set, with the nearest way to them: a service whose key is set, profiles not in use. */
export function missingError(input: SettingsInput, missing: readonly ('base URL' | 'model')[]): GatewayError {
  const { use, env, flags } = input;
  const lacksUrl = missing.includes('base URL');
  const lacksModel = missing.includes('model');
  const keys = keysIn(env);
  if (lacksUrl && keys.length > 1) return severalKeys(keys, use);
  const isOfImages = use === 'image' || use === 'edit';
  const urlWay =
    vendorWay(input) ??
    [...vendorsOf(use).map((name) => `--service ${name}`), '--base-url <url> (GATEWAY_BASE_URL)'].join(' or ');
  const modelWay = `--model <model> or ${variablesOf('model', use).at(-1)}`;
  const ofText = variablesOf('model', 'chat').findLast((name) => fromEnvironment(env, name) !== undefined);
  const hint = [
    lacksModel && isOfImages && ofText && `${ofText} is for text; images have a model of their own`,
    `set ${[lacksUrl && urlWay, lacksModel && modelWay].filter(Boolean).join(', and ')}, or ${profileWay(input)}`,
    // Recordings have no list.
    !lacksUrl && !flags.replay && `to see which there are: gateway-cli models${typedFlags(flags)}`,
    `to try it without a gateway: ${commands[use].offline}`,
  ];
  const names = missing.map((name) => (name === 'model' && isOfImages ? 'image model' : name));
  return usageError(`no ${names.join(' and no ')} is set`, hint.filter(Boolean).join('\n'));
}

/** The commands that name one of several services whose keys are set. */
function severalKeys(keys: ReturnType<typeof keysIn>, use: Use): GatewayError {
  const having = keys.filter(({ name }) => vendorsOf(use).includes(name));
  const ways = (having.length > 0 ? having : keys).map(
    ({ name }) => `gateway-cli ${commands[use].name} --service ${name}`,
  );
  return usageError(
    `the keys of several services are set: ${keys.map(({ variable }) => variable).join(', ')}`,
    `name the service:\n${ways.join('\n')}\nor for good: GATEWAY_SERVICE=${keys[0]?.name}`,
  );
}

/** The service with this use whose key a variable holds, as the flag that names it. */
export function vendorWay({ use, env }: Pick<SettingsInput, 'use' | 'env'>): string | undefined {
  const key = keysIn(env).find(({ name }) => vendorsOf(use).includes(name));
  return key && `--service ${key.name}, whose key is in ${key.variable}`;
}

function profileWay(input: SettingsInput): string {
  const { exists, path, config } = input.config;
  if (!exists) return 'a profile (gateway-cli config init)';
  if (pickProfile(input) || Object.keys(config.profiles).length === 0) return `a profile in ${path}`;
  return `choose a profile (--profile): ${namesIn(config)}`;
}

/** The error for a use that the service does not have, with services that have it, and the commands that this one has. */
export function useError({ service, baseUrl, profile, use }: SettingsSurvey, { profiles }: Config): GatewayError {
  const { value, from, origin } = service;
  const { title } = services[value];
  const message = `${title} (service ${value}, ${from}) has nothing for gateway-cli ${commands[use].name}`;
  const fitting = Object.entries(profiles).find(([, other]) => usesOf(serviceOfProfile(other)).includes(use));
  // What a flag or a variable says would still win.
  const isOfProfile = origin.kind === 'profile' || (origin.kind === 'host' && baseUrl?.origin.kind === 'profile');
  if (fitting !== undefined && isOfProfile && profile !== undefined && !isNamed(profile))
    return usageError(message, `gateway-cli config use ${fitting[0]} --for ${use}`);
  const ways = [...vendorsOf(use).map((name) => `--service ${name}`), '--service gateway --base-url <url>'];
  const others = usesOf(value)
    .map((one) => commands[one].name)
    .join(', ');
  return usageError(message, `use one that has it: ${ways.join(', or ')}\nor a command that ${title} has: ${others}`);
}
