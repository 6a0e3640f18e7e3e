import { defaultTimeoutMs } from '../clock.ts';
import { type GatewayError, usageError } from '../errors.ts';
import { formatDuration, parseDurationOf } from './duration.ts';
import { invalidNameReason, pickHeaders } from './headers.ts';
import { type ServiceName, services, vendorHeaderNames, vendorsOf } from '../services.ts';
import { ownsOrigin, pickKey } from './key.ts';
import { namesIn, type PickedProfile, pickProfile } from './profile.ts';
import { namedService, pickService, requireUse, standsBack } from './service.ts';
import type { Settings, SettingsInput, SettingsSurvey } from './settings.ts';
import {
  fromEnvironment,
  fromFlag,
  fromSwitch,
  fromToggle,
  fromProfile,
  mapValue,
  pickPrices,
  sourced,
} from './sources.ts';
import { type AuthForm, authForms, type AuthUse, type HeaderNames, type Sourced, type Use } from './types.ts';

/** The service recommends at least so long for images. */
const imageTimeoutMs = 120_000;

/** The messages format demands `max_tokens`. */
export const defaultMaxTokens = 4096;

const off: Sourced<boolean> = { value: false, from: 'default' };
const on: Sourced<boolean> = { value: true, from: 'default' };

/** What a command of each use takes where nothing else is said. */
interface UseDefaults {
  /** Variables that name its model; the first that is set counts, the last is that of most uses. */
  variables: readonly string[];
  /** Whose model of a profile it takes where it has none of its own. */
  fallback: Use;
  /** The local gateway's model. */
  local: string;
  /** The row of a profile's `auth`. */
  auth: AuthUse;
  /** A command that needs no gateway. */
  example: string;
}

export const useDefaults: { [use in Use]: UseDefaults } = {
  text: {
    variables: ['GATEWAY_MODEL'],
    fallback: 'text',
    local: 'local-text',
    auth: 'text',
    example: "gateway-cli text --offline 'Hello'",
  },
  chat: {
    variables: ['GATEWAY_CHAT_MODEL', 'GATEWAY_MODEL'],
    fallback: 'text',
    local: 'local-chat',
    auth: 'messages',
    example: "gateway-cli chat --offline 'Hello'",
  },
  image: {
    variables: ['GATEWAY_IMAGE_MODEL'],
    fallback: 'image',
    local: 'local-image',
    auth: 'image',
    example: "gateway-cli image gen --offline 'a lighthouse'",
  },
  edit: {
    variables: ['GATEWAY_EDIT_MODEL', 'GATEWAY_IMAGE_MODEL'],
    fallback: 'image',
    local: 'local-edit',
    auth: 'image',
    example: "gateway-cli image edit --offline -i photo.png 'make it gray'",
  },
};

/**
 * flag > environment > profile > default. Pure: reads no file, no key and no clock.
 * Throws usage for what is missing or wrong. A missing key is no error yet: its source says why, and `readKey` throws.
 */
export function resolveSettings(input: SettingsInput): Settings {
  const survey = surveySettings(input);
  const { model, baseUrl, offline } = survey;
  requireUse(survey, input.config.config);
  const noGateway = offline.value || input.flags.replay === true;
  const missing = [baseUrl === undefined && !noGateway && 'base URL', model === undefined && 'model'].filter(
    (name) => name !== false,
  );
  if (model === undefined || missing.length > 0) throw missingError(input, missing);
  return { ...survey, model };
}

/** Like `resolveSettings`, but a missing base URL or model is simply absent. Throws usage for what is wrong. */
export function surveySettings(input: SettingsInput): SettingsSurvey {
  const { flags, env, config, use } = input;
  const offline = pickOffline(input);
  const named = offline.value ? undefined : namedService(input);
  const chosen = pickProfile(input);
  const picked = chosen && standsBack(chosen, named) ? undefined : chosen;
  const givenUrl = offline.value ? undefined : pickBaseUrl(input, picked);
  const service = pickService(named, givenUrl, offline.value ? undefined : picked);
  const baseUrl = givenUrl ?? (offline.value ? undefined : ownUrl(service));
  const owned = ownsOrigin(picked, baseUrl) ? picked : undefined;
  const model = pickModel(input, picked, offline.value);
  const timeoutMs = pickTimeout(input, picked);
  return {
    use,
    profile: picked?.name,
    offline,
    service,
    baseUrl,
    model: model.model,
    key: pickKey({ apiKeyFile: flags.apiKeyFile, env, offline: offline.value, picked, config, service, baseUrl }),
    auth: pickAuth(input, picked, service),
    headerNames: pickHeaderNames(input, picked, service),
    headers: pickHeaders(flags.headers ?? [], owned),
    timeoutMs,
    allowHttp: fromSwitch('--allow-http', flags.allowHttp) ?? fromProfile(owned, ({ allowHttp }) => allowHttp) ?? off,
    proxy: fromFlag('--proxy', flags.proxy) ?? fromProfile(picked, ({ proxy }) => proxy),
    systemCa: fromSwitch('--system-ca', flags.systemCa) ?? fromProfile(picked, ({ systemCa }) => systemCa) ?? off,
    maxTokens: pickMaxTokens(input, picked),
    noStdin: fromSwitch('--no-stdin', flags.noStdin) ?? fromToggle(env, 'GATEWAY_NO_STDIN') ?? off,
    preview: fromSwitch('--preview', flags.preview) ?? fromProfile(picked, ({ preview }) => preview) ?? off,
    markdown:
      mapValue(fromSwitch('--no-markdown', flags.noMarkdown), () => false) ??
      fromProfile(picked, ({ markdown }) => markdown) ??
      on,
    prices: pickPrices(input, picked),
    warnings: [...config.warnings, ...model.warnings, ...timeoutWarnings(use, timeoutMs)],
  };
}

function timeoutWarnings(use: Use, { value, from }: Sourced<number>): string[] {
  if ((use !== 'image' && use !== 'edit') || value >= imageTimeoutMs) return [];
  return [`${from}: images may take longer than ${formatDuration(value)}; at least 120s are recommended`];
}

/** What is missing, and the nearest way to it: the service whose key is there, the profiles that nobody chose. */
export function missingError(input: SettingsInput, missing: readonly string[]): GatewayError {
  const { use } = input;
  const ways = [
    missing.includes('base URL') && (vendorWay(input) ?? '--base-url <url> or GATEWAY_BASE_URL'),
    missing.includes('model') && `--model <model> or ${useDefaults[use].variables.at(-1)}`,
  ].filter((way) => way !== false);
  const hint = [
    `set ${ways.join(', and ')}, or ${profileWay(input)}`,
    ...(missing.includes('base URL') ? [] : listWay(input)),
    `to try it without a gateway: ${useDefaults[use].example}`,
  ];
  return usageError(`no ${missing.join(' and no ')} is set`, hint.join('\n'));
}

/** The command that lists the models: with the service, where only a flag names it. */
function listWay({ flags: { service, baseUrl, profile, replay } }: SettingsInput): string[] {
  // Other flags would have to be typed again with values that may be long, and recordings have no list.
  if (baseUrl !== undefined || profile !== undefined || replay === true) return [];
  return [`to see which there are: gateway-cli models${service === undefined ? '' : ` --service ${service}`}`];
}

/** The service with this use whose key the environment holds, as the flag that names it. */
export function vendorWay({ use, env }: Pick<SettingsInput, 'use' | 'env'>): string | undefined {
  for (const name of vendorsOf(use)) {
    const key = services[name].keyVariables.find((variable) => fromEnvironment(env, variable) !== undefined);
    if (key !== undefined) return `--service ${name}, whose key is in ${key}`;
  }
  return undefined;
}

function profileWay(input: SettingsInput): string {
  const { config } = input;
  if (!config.exists) return 'a profile (gateway-cli config init)';
  const { profiles } = config.config;
  if (pickProfile(input) || Object.keys(profiles).length === 0) return `a profile in ${config.path}`;
  return `choose a profile (--profile): ${namesIn(config.config)}`;
}

/** `--offline` or GATEWAY_OFFLINE. Beside `--base-url` it throws usage; a base URL from elsewhere is just not used. */
function pickOffline({ flags, env }: SettingsInput): Sourced<boolean> {
  const offline = fromSwitch('--offline', flags.offline) ?? fromToggle(env, 'GATEWAY_OFFLINE') ?? off;
  if (!offline.value || flags.baseUrl === undefined) return offline;
  const hint =
    offline.from === 'flag --offline' ? 'leave one of them out' : 'unset GATEWAY_OFFLINE, or leave --base-url out';
  throw usageError(`--base-url cannot be combined with ${offline.from}`, hint);
}

/** Throws usage unless it is an http(s) URL. Its text is not quoted: it may hold a password. */
function pickBaseUrl({ flags, env }: SettingsInput, picked: PickedProfile | undefined): Sourced<string> | undefined {
  const url =
    fromFlag('--base-url', flags.baseUrl) ??
    fromEnvironment(env, 'GATEWAY_BASE_URL') ??
    fromProfile(picked, ({ baseUrl }) => baseUrl);
  return mapValue(url, (text, from) => {
    if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
    throw usageError(
      `${from}: not a URL that begins with https:// or http://`,
      'for example --base-url https://gateway.example',
    );
  });
}

/** The base URL of a service that has one of its own. */
function ownUrl({ value }: Sourced<ServiceName>): Sourced<string> | undefined {
  return sourced(services[value].baseUrl, `service ${value}`);
}

/** The model of this use. Offline, a model that the local gateway does not have is replaced by its own, with a warning. */
function pickModel(
  { flags, env, use }: SettingsInput,
  picked: PickedProfile | undefined,
  offline: boolean,
): { model: Sourced<string> | undefined; warnings: string[] } {
  const { variables, fallback, local: localModel } = useDefaults[use];
  const model =
    fromFlag('--model', flags.model) ??
    variables.map((name) => fromEnvironment(env, name)).find((found) => found !== undefined) ??
    fromProfile(picked, ({ models }) => models?.[use] ?? models?.[fallback]);
  if (!offline) return { model, warnings: [] };
  const local = { value: localModel, from: 'default' };
  if (model === undefined) return { model: local, warnings: [] };
  if (/^(?:models\/)?(?:local|fault)-/.test(model.value)) return { model, warnings: [] };
  return { model: local, warnings: [`${local.value} answers offline instead of ${model.value} (${model.from})`] };
}

/** The deadline of the whole command in ms. Throws usage. */
function pickTimeout({ flags, env }: SettingsInput, picked: PickedProfile | undefined): Sourced<number> {
  const given =
    fromFlag('--timeout', flags.timeout) ??
    fromEnvironment(env, 'GATEWAY_TIMEOUT') ??
    fromProfile(picked, ({ timeout }) => timeout?.toString());
  return mapValue(given, (text, from) => parseDurationOf(from, text)) ?? { value: defaultTimeoutMs, from: 'default' };
}

/**
 * The most tokens to make. A profile's `maxTokens` and the default serve chat alone, whose format requires a limit; elsewhere
 * only a flag is sent.
 */
function pickMaxTokens({ flags, use }: SettingsInput, picked: PickedProfile | undefined): Sourced<number> | undefined {
  const flag = fromFlag('--max-tokens', flags.maxTokens);
  if (flag !== undefined && !(Number.isSafeInteger(flag.value) && flag.value >= 1)) {
    throw usageError(`--max-tokens takes a whole number from 1, not '${flag.value}'`, 'for example: --max-tokens 1000');
  }
  if (flag !== undefined || use !== 'chat') return flag;
  return fromProfile(picked, ({ maxTokens }) => maxTokens) ?? { value: defaultMaxTokens, from: 'default' };
}

/** The form of authentication: `--auth`, GATEWAY_AUTH, the profile's for this use, else that of the service. Throws usage. */
function pickAuth(
  { flags, env, use }: SettingsInput,
  picked: PickedProfile | undefined,
  service: Sourced<ServiceName>,
): Sourced<AuthForm> {
  const given = mapValue(fromFlag('--auth', flags.auth) ?? fromEnvironment(env, 'GATEWAY_AUTH'), (text, from) => {
    const known = authForms.find((form) => form === text);
    if (known === undefined) throw usageError(`${from}: must be one of ${authForms.join(', ')}`);
    return known;
  });
  const form = given ?? fromProfile(picked, ({ auth }) => auth?.[useDefaults[use].auth]);
  if (form !== undefined && form.value !== 'auto') return form;
  const { auth } = services[service.value];
  return auth === 'auto'
    ? (form ?? { value: auth, from: 'default' })
    : { value: auth, from: `service ${service.value}` };
}

/** The real names behind vendor-a and vendor-b, each from the strongest place that names it. Throws usage. */
function pickHeaderNames(
  { flags, env }: SettingsInput,
  picked: PickedProfile | undefined,
  service: Sourced<ServiceName>,
): SettingsSurvey['headerNames'] {
  const places = [
    mapValue(fromFlag('--header-names', flags.headerNames), parseHeaderNames),
    mapValue(fromEnvironment(env, 'GATEWAY_HEADER_NAMES'), parseHeaderNames),
    fromProfile(picked, ({ headerNames }) => headerNames),
    service.value === 'gateway'
      ? undefined
      : { value: services[service.value].headerNames, from: `service ${service.value}` },
  ];
  const nameOf = (key: keyof HeaderNames): Sourced<string> | undefined => {
    const place = places.find((named) => named?.value[key] !== undefined);
    return mapValue(place, (names) => (names[key] ?? '').toLowerCase());
  };
  return { apiKey: nameOf('apiKey'), version: nameOf('version') };
}

/** Reads `<content-key>,<version>`, of which either side may be empty, or `vendors`. */
function parseHeaderNames(text: string, from: string): HeaderNames {
  if (text.trim() === 'vendors') return vendorHeaderNames;
  const [apiKey = '', version = '', ...more] = text.split(',').map((name) => name.trim());
  const given = [apiKey, version].filter((name) => name !== '');
  const hint = 'for example --header-names x-goog-api-key,anthropic-version, which is what vendors means';
  if (more.length > 0 || given.length === 0)
    throw usageError(`${from}: must be vendors, or <content-key>,<version>`, hint);
  for (const name of given) {
    const reason = invalidNameReason(name);
    if (reason !== undefined) throw usageError(`${from}: ${JSON.stringify(name.slice(0, 64))} ${reason}`, hint);
  }
  return { ...(apiKey !== '' && { apiKey }), ...(version !== '' && { version }) };
}
