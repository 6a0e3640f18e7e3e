import {
  GatewayError,
  isLoopback,
  listUses,
  listVendors,
  type ServiceName,
  serviceNames,
  services,
  usageError,
  type Use,
} from '../../library/index.ts';
import { isNamed, pickProfile, getProfileService } from './profile.ts';
import { listProfileNames } from './profile-name.ts';
import { describeTypedFlags, fromEnvironment, listVariables } from './sources.ts';
import { keyNames, keysIn } from './vendor-variables.ts';
import type { Config, SettingsInput, PartialSettings } from './types.ts';

/** The command of each use, a command that needs no gateway, and the words for a service without the use. */
const commands: { [use in Use]: { name: string; offline: string; lacking: string } } = {
  text: { name: 'text', offline: "gateway-cli text --offline 'Hello'", lacking: 'cannot answer texts' },
  image: {
    name: 'image gen',
    offline: "gateway-cli image gen --offline 'a lighthouse'",
    lacking: 'cannot make images',
  },
  edit: {
    name: 'image edit',
    offline: "gateway-cli image edit --offline -i photo.png 'make it gray'",
    lacking: 'cannot edit images',
  },
  chat: { name: 'chat', offline: "gateway-cli chat --offline 'Hello'", lacking: 'cannot chat' },
};

/** The error for settings that are not set, with the nearest way to them: a service whose key is set, profiles not in use. */
export function missingError(
  input: SettingsInput,
  missing: readonly ('base URL' | 'model')[],
  settings?: Pick<PartialSettings, 'service' | 'baseUrl'>,
): GatewayError {
  const { use, env, flags } = input;
  const lacksUrl = missing.includes('base URL');
  const lacksModel = missing.includes('model');
  const keys = keysIn(env);
  if (lacksUrl && keys.length > 1) return severalKeys(keys, use);
  const empty = serviceNames.flatMap(keyNames).find((name) => env[name] === '');
  if (lacksUrl && keys.length === 0 && empty !== undefined) return emptyKey(empty);
  const isOfImages = use === 'image' || use === 'edit';
  const variable = listVariables('model', use).at(-1);
  const ofText = listVariables('model', 'chat').findLast((name) => fromEnvironment(env, name) !== undefined);
  const isOwnGateway = settings?.service === 'gateway' && !lacksUrl;
  const vendor = isOwnGateway && vendorWay(input);
  const hint = [
    isOwnGateway && settings.baseUrl && localWay(settings.baseUrl, use),
    vendor && `if a vendor's service answers there, name it: ${vendor}`,
    lacksModel && isOfImages && ofText && `${ofText} is for text; images have a model of their own`,
    ...(lacksUrl
      ? addressWays(input, lacksModel ? ` and --model <model> (${variable})` : undefined)
      : [`set --model <model> or ${variable}, or ${profileWay(input)}`]),
    // Recordings have no list.
    !lacksUrl && !flags.replay && `to see which there are: gateway-cli models${describeTypedFlags(flags)}`,
    `to try it without a gateway: ${commands[use].offline}`,
  ];
  const names = missing.map((name) => (name === 'model' && isOfImages ? 'image model' : name));
  return usageError(`no ${names.join(' and no ')} is set`, hint.filter(Boolean).join('\n'));
}

/** The error for a service whose address differs for each account, if a part of the address is not set. */
export function missingPart(service: ServiceName, [variable = '']: readonly string[]): GatewayError {
  const { title, template, addressVariables } = services[service];
  const whole = ['--base-url <url>', ...addressVariables].join(' or ');
  return usageError(
    `${title} has an address for each account, and ${variable} is not set: ${template?.url}`,
    `set ${variable}, or give the whole address: ${whole}`,
  );
}

/** The ways to a base URL, with the words for a model if that is missing: a service that has a key has default models. */
function addressWays(input: SettingsInput, model = ''): string[] {
  const own = `or your gateway: --base-url <url> (GATEWAY_BASE_URL)${model}`;
  const vendor = vendorWay(input);
  if (vendor !== undefined) return [`name the service: ${vendor}`, `${own}, or ${profileWay(input)}`];
  const known = listVendors(input.use).map((name) => services[name]);
  const variables = known.flatMap(({ keyVariables: [first] }) => first ?? []);
  const keyed = `set the key of a service: ${variables.slice(0, -1).join(', ')} or ${variables.at(-1)}`;
  if (hasUnusedProfiles(input)) return [profileWay(input), `or ${keyed}`, own];
  const keyless = known.filter(({ isKeyless }) => isKeyless);
  const free = keyless.map(({ name, title }) => `or use ${title}, which needs none: --service ${name}`);
  return [keyed, ...free, `${own}, or ${profileWay(input)}`];
}

/** CI passes an empty variable for a secret that it does not give, as to a fork: the key is missing then. */
function emptyKey(variable: string): GatewayError {
  const hint = `set ${variable}; CI gives no secrets to a fork, and leaves the variable empty\nor name a gateway: --base-url <url> (GATEWAY_BASE_URL)`;
  return new GatewayError('auth', `no API key is set: ${variable} is empty`, { hint, sent: 'no', retryable: false });
}

/** The commands that name one of several services whose keys are set. */
function severalKeys(keys: ReturnType<typeof keysIn>, use: Use): GatewayError {
  const having = keys.filter(({ name }) => listUses(name).includes(use));
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
  const key = keysIn(env).find(({ name }) => listUses(name).includes(use));
  return key && `--service ${key.name}, whose key is in ${key.variable}`;
}

/** The service of most servers that run on the machine of their user. */
export function localWay(baseUrl: string, use: Use): string | undefined {
  const isText = use === 'text' || use === 'chat';
  if (!isText || !isLoopback(new URL(baseUrl))) return undefined;
  return "if a server with OpenAI's format answers there, such as llama.cpp, vLLM or LM Studio: --service openai";
}

function profileWay(input: SettingsInput): string {
  const { exists, path, config } = input.config;
  if (!exists) return 'a profile (gateway-cli config init)';
  return hasUnusedProfiles(input)
    ? `choose a profile (--profile): ${listProfileNames(config)}`
    : `a profile in ${path}`;
}

/** Whether there are profiles, and none is in use. */
function hasUnusedProfiles(input: SettingsInput): boolean {
  return pickProfile(input) === undefined && Object.keys(input.config.config.profiles).length > 0;
}

/** The error for a use that the service lacks, with other services that have it, and the commands of this one. */
export function useError({ service, origins, use }: PartialSettings, { profiles }: Config): GatewayError {
  const { title } = services[service];
  const { service: origin, baseUrl, profile } = origins;
  const message = `${title} (service ${service}, ${origin.from}) ${commands[use].lacking}`;
  const fitting = Object.entries(profiles).find(([, other]) => listUses(getProfileService(other)).includes(use));
  // A flag or a variable would still win over another profile.
  const isOfProfile = origin.kind === 'profile' || (origin.kind === 'host' && baseUrl?.kind === 'profile');
  if (fitting !== undefined && isOfProfile && profile !== undefined && !isNamed(profile))
    return usageError(message, `gateway-cli config use ${fitting[0]} --for ${use}`);
  const ways = [...listVendors(use).map((name) => `--service ${name}`), '--service gateway --base-url <url>'];
  const others = listUses(service)
    .map((one) => commands[one].name)
    .join(', ');
  return usageError(message, `use one that has it: ${ways.join(', or ')}\nor a command that ${title} has: ${others}`);
}
