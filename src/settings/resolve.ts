import { defaultTimeoutMs } from '../clock.ts';
import { usageError } from '../errors.ts';
import { formatDuration, parseDurationOf } from './duration.ts';
import { invalidNameReason, pickHeaders } from './headers.ts';
import { type ServiceName, services, vendorHeaderNames } from '../services.ts';
import { ownsOrigin, pickKey } from './key.ts';
import { missingError } from './missing.ts';
import type { PickedProfile } from './config-types.ts';
import { pickProfile } from './profile.ts';
import { namedService, pickService, requireUse, isForAnotherService, useDefaults } from './service.ts';
import {
  type Settings,
  type SettingsInput,
  type SettingsSurvey,
  type AuthForm,
  authForms,
  type HeaderNames,
  type Sourced,
  type Use,
} from './types.ts';
import {
  byDefault,
  fromEnvironment,
  fromFlag,
  fromSwitch,
  fromToggle,
  fromProfile,
  mapValue,
  sourced,
  typedFlags,
} from './sources.ts';

/** The service recommends at least so long for images. */
const imageTimeoutMs = 120_000;

/** The messages format demands `max_tokens`. */
export const defaultMaxTokens = 4096;

const off = byDefault(false);

const on = byDefault(true);

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

/** The settings of every use, in the order of their list. */
export function surveyUses(input: Omit<SettingsInput, 'use'>): Record<Use, SettingsSurvey> {
  const survey = (use: Use): SettingsSurvey => surveySettings({ ...input, use });
  return { text: survey('text'), image: survey('image'), edit: survey('edit'), chat: survey('chat') };
}

/** Like `resolveSettings`, but a missing base URL or model is simply absent. Throws usage for what is wrong. */
export function surveySettings(input: SettingsInput): SettingsSurvey {
  const { flags, env, config, use } = input;
  const offline = pickOffline(input);
  const named = offline.value ? undefined : namedService(input);
  const chosen = pickProfile(input);
  // Its URL, key, headers, models and forms belong to its service; the rest of it holds for any.
  const picked = chosen && isForAnotherService(chosen, named) ? undefined : chosen;
  const givenUrl = offline.value ? undefined : pickBaseUrl(input, picked);
  const service = pickService(named, givenUrl, offline.value ? undefined : picked);
  const baseUrl = givenUrl ?? (offline.value ? undefined : ownUrl(service));
  const owned = ownsOrigin(picked, baseUrl) ? picked : undefined;
  const model = pickModel(input, picked, offline.value);
  const timeoutMs = pickTimeout(input, chosen);
  return {
    use,
    profile: picked?.name,
    offline,
    service,
    baseUrl,
    model: model.model,
    key: pickKey({
      apiKeyFile: flags.apiKeyFile,
      env,
      offline: offline.value,
      picked,
      config,
      service,
      isNamed: named !== undefined,
      baseUrl,
      use,
    }),
    auth: pickAuth(input, picked, service),
    headerNames: pickHeaderNames(input, picked, service),
    headers: pickHeaders(flags.headers ?? [], owned),
    timeoutMs,
    allowHttp: fromSwitch('--allow-http', flags.allowHttp) ?? fromProfile(owned, ({ allowHttp }) => allowHttp) ?? off,
    proxy: fromFlag('--proxy', flags.proxy) ?? fromProfile(chosen, ({ proxy }) => proxy),
    systemCa: fromSwitch('--system-ca', flags.systemCa) ?? fromProfile(chosen, ({ systemCa }) => systemCa) ?? off,
    maxTokens: pickMaxTokens(input, chosen),
    noStdin: fromSwitch('--no-stdin', flags.noStdin) ?? fromToggle(env, 'GATEWAY_NO_STDIN') ?? off,
    preview: fromSwitch('--preview', flags.preview) ?? fromProfile(chosen, ({ preview }) => preview) ?? off,
    markdown:
      mapValue(fromSwitch('--no-markdown', flags.noMarkdown), () => false) ??
      fromProfile(chosen, ({ markdown }) => markdown) ??
      on,
    typedFlags: typedFlags(flags),
    prices: pickPrices(input, chosen),
    warnings: [...config.warnings, ...model.warnings, ...timeoutWarnings(use, timeoutMs)],
  };
}

function timeoutWarnings(use: Use, { value, from }: Sourced<number>): string[] {
  if ((use !== 'image' && use !== 'edit') || value >= imageTimeoutMs) return [];
  return [`${from}: images may take longer than ${formatDuration(value)}; at least 120s are recommended`];
}

/** `--offline` or GATEWAY_OFFLINE. Beside `--base-url` it throws usage; a base URL from elsewhere is just not used. */
function pickOffline({ flags, env }: SettingsInput): Sourced<boolean> {
  const offline = fromSwitch('--offline', flags.offline) ?? fromToggle(env, 'GATEWAY_OFFLINE') ?? off;
  if (!offline.value || flags.baseUrl === undefined) return offline;
  const hint =
    offline.origin.kind === 'flag' ? 'leave one of them out' : 'unset GATEWAY_OFFLINE, or leave --base-url out';
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
  return sourced(services[value].baseUrl, `service ${value}`, 'service');
}

/** The model of this use. Offline, a model that the local gateway does not have is replaced by its own, with a warning. */
function pickModel(
  { flags, env, use }: SettingsInput,
  picked: PickedProfile | undefined,
  offline: boolean,
): { model: Sourced<string> | undefined; warnings: string[] } {
  const { variables, fallback, local: localModel } = useDefaults[use];
  const typed = fromFlag('--model', flags.model);
  const model =
    (typed && { ...typed, from: flags.modelFrom ?? typed.from }) ??
    variables.map((name) => fromEnvironment(env, name)).find((found) => found !== undefined) ??
    fromProfile(picked, ({ models }) => models?.[use] ?? models?.[fallback]);
  if (!offline) return { model, warnings: [] };
  const local = byDefault(localModel);
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
  return mapValue(given, (text, from) => parseDurationOf(from, text)) ?? byDefault(defaultTimeoutMs);
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
  return fromProfile(picked, ({ maxTokens }) => maxTokens) ?? byDefault(defaultMaxTokens);
}

/** The prices of all places together; of a name that several have, the strongest counts. */
function pickPrices({ flags, config }: SettingsInput, picked: PickedProfile | undefined): Settings['prices'] {
  const places = [
    sourced(config.config.prices, `config ${config.path}`, 'config'),
    fromProfile(picked, ({ prices }) => prices),
    fromFlag('--prices', flags.prices),
  ];
  const given = places.filter((place) => place !== undefined);
  return Object.fromEntries(
    given.flatMap((place) => Object.entries(place.value).map(([name, value]) => [name, { ...place, value }] as const)),
  );
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
  if (auth === 'auto') return form ?? byDefault(auth);
  return { value: auth, from: `service ${service.value}`, origin: { kind: 'service' } };
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
    sourced(
      service.value === 'gateway' ? undefined : services[service.value].headerNames,
      `service ${service.value}`,
      'service',
    ),
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
