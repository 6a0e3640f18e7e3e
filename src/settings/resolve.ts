import { usageError } from '../errors.ts';
import { formatDuration } from './duration.ts';
import { invalidNameReason, pickHeaders } from './headers.ts';
import { type ServiceName, services, vendorHeaderNames } from '../services.ts';
import { ownsOrigin, pickKey } from './key.ts';
import { missingError } from './missing.ts';
import type { PickedProfile } from './config-types.ts';
import { pickProfile } from './profile.ts';
import { pickService, requireUse, isForAnotherService, useDefaults } from './service.ts';
import { flagOf, type Row, type SettingName, settingNames, settings, variablesOf } from './table.ts';
import type {
  AuthForm,
  HeaderNames,
  PlainSettings,
  Settings,
  SettingsInput,
  SettingsSurvey,
  Sourced,
  Use,
} from './types.ts';
import {
  byDefault,
  fromFirst,
  fromFlag,
  fromProfile,
  given,
  inProfile,
  mapValue,
  sourced,
  typedFlags,
} from './sources.ts';

/** The service recommends at least so long for images. */
const imageTimeoutMs = 120_000;

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
  const offline = isOffline(input);
  const named = offline ? undefined : given('service', input);
  const chosen = pickProfile(input);
  // Its URL, key, headers, models and forms belong to its service; the rest of it holds for any.
  const picked = chosen && isForAnotherService(chosen, named) ? undefined : chosen;
  const givenUrl = offline ? undefined : (given('baseUrl', input) ?? inProfile('baseUrl', picked));
  const service = pickService(named, givenUrl, offline ? undefined : picked);
  const baseUrl = givenUrl ?? (offline ? undefined : ownUrl(service));
  const owned = ownsOrigin(picked, baseUrl) ? picked : undefined;
  const model = pickModel(input, picked, offline);
  const plain = pickPlain(input, { any: chosen, service: picked, origin: owned });
  const place = { flags, env, offline, picked, config, service, isNamed: named !== undefined, baseUrl, use };
  return {
    ...plain,
    use,
    profile: picked?.name,
    service,
    baseUrl,
    model: model.model,
    key: pickKey(place),
    auth: pickAuth(input, picked, service),
    headerNames: pickHeaderNames(input, picked, service),
    headers: pickHeaders(flags.header ?? [], owned),
    typedFlags: typedFlags(flags),
    prices: pickPrices(input, chosen),
    warnings: [...config.warnings, ...model.warnings, ...timeoutWarnings(use, plain.timeoutMs)],
  };
}

/** The profile of each kind of setting: undefined where its values do not count. */
type Profiles = Record<'any' | 'service' | 'origin', PickedProfile | undefined>;

/** Every setting without a rule of its own. Throws usage. */
function pickPlain(input: SettingsInput, profiles: Profiles): PlainSettings {
  const names = settingNames.filter((name) => !(settings[name] as Row).rule);
  return Object.fromEntries(names.map((name) => [name, pick(name, input, profiles)])) as unknown as PlainSettings;
}

function pick(name: SettingName, input: SettingsInput, profiles: Profiles): Sourced<unknown> | undefined {
  const { only, uses = [input.use], default: byItself }: Row = settings[name];
  const found = given(name, input);
  if (found !== undefined || !uses.includes(input.use)) return found;
  return inProfile(name, profiles[only ?? 'any']) ?? (byItself === undefined ? undefined : byDefault(byItself));
}

function timeoutWarnings(use: Use, { value, from }: Sourced<number>): string[] {
  if ((use !== 'image' && use !== 'edit') || value >= imageTimeoutMs) return [];
  return [`${from}: images may take longer than ${formatDuration(value)}; at least 120s are recommended`];
}

/** Whether the local gateway answers. Beside `--base-url` it throws usage; a base URL from elsewhere is just not used. */
function isOffline(input: SettingsInput): boolean {
  const offline = given('offline', input);
  if (!offline?.value) return false;
  if (input.flags.baseUrl === undefined) return true;
  const hint =
    offline.origin.kind === 'flag' ? 'leave one of them out' : 'unset GATEWAY_OFFLINE, or leave --base-url out';
  throw usageError(`--base-url cannot be combined with ${offline.from}`, hint);
}

/** The base URL of a service that has one of its own. */
function ownUrl({ value }: Sourced<ServiceName>): Sourced<string> | undefined {
  return sourced(services[value].baseUrl, `service ${value}`, 'service');
}

/** The model of this use. Offline, a model that the local gateway does not have is replaced by its own, with a warning. */
function pickModel(
  input: SettingsInput,
  picked: PickedProfile | undefined,
  offline: boolean,
): { model: Sourced<string> | undefined; warnings: string[] } {
  const { flags, use } = input;
  const { fallback, local: localModel } = useDefaults[use];
  const typed = given('model', input);
  const named = typed?.origin.kind === 'flag' ? flags.modelFrom : undefined;
  const model =
    (typed && { ...typed, from: named ?? typed.from }) ??
    fromProfile(picked, ({ models }) => models?.[use] ?? models?.[fallback]);
  if (!offline) return { model, warnings: [] };
  const local = byDefault(localModel);
  if (model === undefined) return { model: local, warnings: [] };
  if (/^(?:models\/)?(?:local|fault)-/.test(model.value)) return { model, warnings: [] };
  return { model: local, warnings: [`${local.value} answers offline instead of ${model.value} (${model.from})`] };
}

/** The prices of all places together; of a name that several have, the strongest counts. */
function pickPrices({ flags, config }: SettingsInput, picked: PickedProfile | undefined): Settings['prices'] {
  const places = [
    sourced(config.config.prices, `config ${config.path}`, 'config'),
    fromProfile(picked, ({ prices }) => prices),
    fromFlag(flagOf('prices'), flags.prices),
  ];
  const given = places.filter((place) => place !== undefined);
  return Object.fromEntries(
    given.flatMap((place) => Object.entries(place.value).map(([name, value]) => [name, { ...place, value }] as const)),
  );
}

/** The form of authentication: `--auth`, GATEWAY_AUTH, the profile's for this use, else that of the service. Throws usage. */
function pickAuth(
  input: SettingsInput,
  picked: PickedProfile | undefined,
  service: Sourced<ServiceName>,
): Sourced<AuthForm> {
  const form = given('auth', input) ?? fromProfile(picked, ({ auth }) => auth?.[useDefaults[input.use].auth]);
  if (form !== undefined && form.value !== 'auto') return form;
  const { auth } = services[service.value];
  if (auth === 'auto') return form ?? byDefault(auth);
  return { value: auth, from: `service ${service.value}`, origin: { kind: 'service' } };
}

/** The real names behind vendor-a and vendor-b, each from the strongest place that names it. Throws usage. */
function pickHeaderNames(
  { flags, env, use }: SettingsInput,
  picked: PickedProfile | undefined,
  service: Sourced<ServiceName>,
): SettingsSurvey['headerNames'] {
  const places = [
    mapValue(fromFlag(flagOf('headerNames'), flags.headerNames), parseHeaderNames),
    mapValue(fromFirst(variablesOf('headerNames', use), env), parseHeaderNames),
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
