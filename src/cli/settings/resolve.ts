import { formatDuration, noBudget } from './values.ts';
import { isCredential, Secret } from './redact.ts';
import {
  type AuthForm,
  chooseAuthUse,
  chooseFormat,
  findServiceByUrl,
  flexTimeoutMs,
  type FormatName,
  getQuirks,
  listUses,
  type Prices,
  type ServiceName,
  services,
  usageError,
  type Use,
  useNames,
  withoutFormat,
} from '../../library/index.ts';
import type {
  Header,
  PickedProfile,
  PlainSettings,
  Settings,
  SettingsInput,
  KeySource,
  Origin,
  PartialSettings,
  SourcedValue,
} from './types.ts';
import { parseHeaderNames } from './headers.ts';
import { isForVendor, type KeyPlace, offlineKey, pickKey } from './key.ts';
import { findMissingPart, findServiceByKey, vendorAddress, holdsToken, vendorHeaders } from './vendor-variables.ts';
import { missingError, missingPart, useError } from './missing.ts';
import { hasKey, isForAnotherService, ownsOrigin, pickProfile } from './profile.ts';
import {
  byDefault,
  describeTypedFlags,
  fromFlags,
  fromProfile,
  fromVariables,
  given,
  inProfile,
  mapValue,
  sourced,
} from './sources.ts';
import { type SettingDefinition, type SettingName, settingNames, settings } from './table.ts';

/**
 * The settings of one request: flag > environment > profile > default. Pure: reads no file, no key and no clock. Throws usage for
 * a missing or wrong setting. A missing key is not an error yet: its source has the reason, and `readKey` throws.
 */
export function resolveSettings(input: SettingsInput, partial = resolvePartialSettings(input)): Settings {
  const { model, baseUrl, offline, service, use } = partial;
  if (!listUses(service).includes(use)) throw useError(partial, input.config.config);
  const needsUrl = baseUrl === undefined && !offline && input.flags.replay !== true;
  if (model !== undefined && !needsUrl) return { ...partial, model };
  const part = needsUrl ? findMissingPart(input.env, service) : undefined;
  if (part !== undefined) throw missingPart(service, part);
  const missing = [...(needsUrl ? (['base URL'] as const) : []), ...(model ? [] : (['model'] as const))];
  throw missingError(input, missing, partial);
}

export function resolveEveryUse(input: Omit<SettingsInput, 'use'>): Record<Use, PartialSettings> {
  const resolveUse = (use: Use): PartialSettings => resolvePartialSettings({ ...input, use });
  return { text: resolveUse('text'), image: resolveUse('image'), edit: resolveUse('edit'), chat: resolveUse('chat') };
}

/** Like `resolveSettings`, but a missing base URL or model is absent. Throws usage for a wrong setting. */
export function resolvePartialSettings(input: SettingsInput): PartialSettings {
  const { flags, config, use } = input;
  const offline = isOffline(input);
  const place = choosePlace(input, offline);
  const { chosenProfile, serviceProfile, service, baseUrl } = place;
  const format = pickFormat(input, place);
  const originProfile = ownsOrigin(serviceProfile, baseUrl) ? serviceProfile : undefined;
  const kept = pickKeptModel(input, place, format);
  const { model, warnings } = pickModel(input, serviceProfile, { offline, service: service.value, kept });
  const plain = pickPlain(input, { any: chosenProfile, service: serviceProfile, origin: originProfile });
  const key = offline ? offlineKey : pickKey(input, place);
  const found: FoundSettings = {
    ...plain,
    budget: pickBudget(plain.budget, offline),
    fallback: plain.fallback && resolveAlias(plain.fallback, serviceProfile),
    profile: serviceProfile?.name,
    service,
    format,
    baseUrl,
    model,
    auth: pickAuth(input, serviceProfile, { service, format, key }),
  };
  const headerNames = pickHeaderNames(input, serviceProfile, service);
  const headers = pickHeaders(input, originProfile, !offline && isForVendor(place) ? service.value : undefined);
  const prices = pickPrices(input, chosenProfile);
  return {
    ...listValues(found),
    use,
    aliases: listAliases(serviceProfile),
    key,
    headerNames: listValues(headerNames),
    headers: Object.entries(listValues(headers)).map(([name, value]) => ({ name, value })),
    prices: listValues(prices),
    typedFlags: describeTypedFlags(flags),
    warnings: [...config.warnings, ...warnings, ...timeoutWarnings(use, plain.timeoutMs)],
    origins: {
      ...listOrigins(found),
      headerNames: listOrigins(headerNames),
      headers: listOrigins(headers),
      prices: listOrigins(prices),
    },
  };
}

/** Values with their origins, as they are found. */
type Sourced<T> = { [N in keyof T]: SourcedValue<NonNullable<T[N]>> | Extract<T[N], undefined> };
type SourcedOfUse = Pick<PartialSettings, 'profile' | 'service' | 'format' | 'baseUrl' | 'model' | 'auth'>;
type FoundSettings = Sourced<PlainSettings & SourcedOfUse>;

function listValues<T extends object>(found: Sourced<T>): T {
  return mapEntries(found, (source) => source?.value) as T;
}

function listOrigins<N extends string>(found: { readonly [name in N]: SourcedValue<unknown> | undefined }) {
  return mapEntries(found, (source) => source?.origin) as { [name in N]: Origin };
}

function mapEntries(found: object, read: (source: SourcedValue<unknown> | undefined) => unknown): object {
  const entries = Object.entries(found) as [string, SourcedValue<unknown> | undefined][];
  return Object.fromEntries(entries.map(([name, source]) => [name, read(source)]));
}

/**
 * Chooses profile, service and address. The service is the first of these: the named one, that of the address's host, the
 * profile's, the only one whose key is in a variable, a gateway. Throws usage.
 */
function choosePlace(input: SettingsInput, offline: boolean): KeyPlace & { chosenProfile: PickedProfile | undefined } {
  const named = offline ? undefined : given('service', input);
  const chosenProfile = pickProfile(input);
  if (offline)
    return { chosenProfile, serviceProfile: chosenProfile, service: byDefault('gateway'), baseUrl: undefined };
  // If the profile is for another service, its URL, key, headers, models and forms do not count; its other settings count for any
  // service.
  const serviceProfile = chosenProfile && isForAnotherService(chosenProfile, named) ? undefined : chosenProfile;
  const baseUrl = given('baseUrl', input) ?? inProfile('baseUrl', serviceProfile);
  const host = baseUrl && findServiceByUrl(baseUrl.value);
  const isMeant = named && host && services[host].isHostOf === named.value;
  if (named && host && !isMeant) refuseOtherHost(named, host, baseUrl);
  const service =
    (isMeant ? undefined : named) ??
    sourced(host, `the host of the base URL (${baseUrl?.origin.from})`, 'host') ??
    fromProfile(serviceProfile, (profile) => profile.service) ??
    (baseUrl ? undefined : findServiceByKey(input)) ??
    byDefault('gateway');
  return {
    chosenProfile,
    serviceProfile,
    service,
    baseUrl: baseUrl ?? findServiceUrl(input, service.value, serviceProfile),
  };
}

/** Throws usage if a vendor was named and the base URL is another vendor's; a gateway can have any host. */
function refuseOtherHost(named: SourcedValue<ServiceName>, host: ServiceName, baseUrl: SourcedValue<string>): void {
  if (host === named.value || named.value === 'gateway') return;
  throw usageError(
    `the base URL (${baseUrl.origin.from}) is the host of ${host}, and the service is ${named.value} (${named.origin.from})`,
    `leave one of them out; ${named.value} alone goes to ${services[named.value].baseUrl ?? services[named.value].template?.url}`,
  );
}

/**
 * The address of a service: in a variable of its own, otherwise its host. The variable belongs to the service's key in the
 * environment, so that a profile with a key of its own asks the service's host.
 */
function findServiceUrl(
  { env }: SettingsInput,
  service: ServiceName,
  serviceProfile: PickedProfile | undefined,
): SourcedValue<string> | undefined {
  // An address that differs for each account has no other source.
  const isAlone = services[service].template !== undefined;
  const byVariable = hasKey(serviceProfile) && !isAlone ? undefined : vendorAddress(env, service);
  return byVariable ?? sourced(services[service].baseUrl, `service ${service}`, 'service');
}

/** Per use: the local gateway's model, and the use whose model of a profile it takes if it has none of its own. */
export const useDefaults: { [use in Use]: { local: string; modelOf: Use } } = {
  text: { local: 'local-text', modelOf: 'text' },
  image: { local: 'local-image', modelOf: 'image' },
  edit: { local: 'local-edit', modelOf: 'image' },
  chat: { local: 'local-chat', modelOf: 'text' },
};

/** Picks every setting without a rule of its own. `profiles`: by the column `only`, undefined if its values do not count. */
function pickPlain(
  input: SettingsInput,
  profiles: Record<'any' | 'service' | 'origin', PickedProfile | undefined>,
): Sourced<PlainSettings> {
  const pick = (name: SettingName): SourcedValue<unknown> | undefined => {
    const { only, uses = [input.use], default: ownDefault }: SettingDefinition = settings[name];
    const found = given(name, input);
    if (found !== undefined || !uses.includes(input.use)) return found;
    return inProfile(name, profiles[only ?? 'any']) ?? (ownDefault === undefined ? undefined : byDefault(ownDefault));
  };
  const names = settingNames.filter((name) => !(settings[name] as SettingDefinition).rule);
  const picked = Object.fromEntries(names.map((name) => [name, pick(name)])) as unknown as Sourced<PlainSettings>;
  const { lane, timeoutMs } = picked;
  if (lane.value !== 'flex' || timeoutMs.origin.kind !== 'default') return picked;
  return { ...picked, timeoutMs: { ...timeoutMs, value: flexTimeoutMs } };
}

/** Ignores a budget that is set for every command if the local gateway answers: its replies cost nothing. */
function pickBudget(budget: FoundSettings['budget'], offline: boolean): FoundSettings['budget'] {
  return budget?.value === noBudget || (offline && budget?.origin.kind !== 'flag') ? undefined : budget;
}

/** The shortest time limit that the service recommends for images. */
const imageTimeoutMs = 120_000;

function timeoutWarnings(use: Use, { value, origin: { from } }: SourcedValue<number>): string[] {
  if ((use !== 'image' && use !== 'edit') || value >= imageTimeoutMs) return [];
  return [`${from}: images may take longer than ${formatDuration(value)}; at least 120s are recommended`];
}

/** Whether the local gateway answers. Throws usage beside `--base-url`; a base URL from elsewhere is just not used. */
function isOffline(input: SettingsInput): boolean {
  const offline = given('offline', input);
  if (!offline?.value) return false;
  if (input.flags.baseUrl === undefined) return true;
  const isFlag = offline.origin.kind === 'flag';
  throw usageError(
    `--base-url cannot be combined with ${offline.origin.from}`,
    isFlag ? 'leave one of them out' : 'unset GATEWAY_OFFLINE, or leave --base-url out',
  );
}

/** The model of a session, if it was at this service: the service's own choice stays its own. */
function pickKeptModel(
  { kept, use }: SettingsInput,
  { service: { value: service }, baseUrl }: Pick<KeyPlace, 'service' | 'baseUrl'>,
  format: SourcedValue<FormatName>,
): SourcedValue<string> | undefined {
  const here = getQuirks(service, format.value, baseUrl?.value).service;
  if (kept?.service === undefined || withoutFormat(kept.service) !== withoutFormat(here)) return undefined;
  return sourced(kept.model, kept.from, kept.model === services[service].models[use] ? 'service' : 'session');
}

/** Offline, a model that the local gateway does not have is replaced by its own, with a warning. */
function pickModel(
  input: SettingsInput,
  serviceProfile: PickedProfile | undefined,
  { offline, service, kept }: { offline: boolean; service: ServiceName; kept: SourcedValue<string> | undefined },
): { model: SourcedValue<string> | undefined; warnings: string[] } {
  const { modelOf, local } = useDefaults[input.use];
  const typed = given('model', input);
  const isFlag = typed?.origin.kind === 'flag';
  const from = isFlag ? input.flags.modelFrom : undefined;
  const ofProfile = fromProfile(serviceProfile, ({ models }) => models?.[input.use] ?? models?.[modelOf]);
  const isChosen = isFlag || (input.flags.profile !== undefined && ofProfile !== undefined);
  const named =
    (isChosen ? undefined : kept) ??
    (typed && from !== undefined ? { ...typed, origin: { ...typed.origin, from } } : typed) ??
    ofProfile;
  const model = named && resolveAlias(named, serviceProfile);
  if (!offline)
    return {
      model: model ?? sourced(services[service].models[input.use], `service ${service}`, 'service'),
      warnings: [],
    };
  if (model && /^(?:models\/)?(?:local|fault)-/.test(model.value)) return { model, warnings: [] };
  const warnings =
    model === undefined ? [] : [`${local} answers offline instead of ${model.value} (${model.origin.from})`];
  return { model: byDefault(local), warnings };
}

/** The named models of a profile: all names that are not uses. */
function listAliases(serviceProfile: PickedProfile | undefined): Readonly<Record<string, string>> {
  const models = Object.entries(serviceProfile?.profile.models ?? {});
  return Object.fromEntries(models.filter(([name]) => !useNames.some((use) => use === name)));
}

/** A model by the name that the profile has for it. */
function resolveAlias(named: SourcedValue<string>, serviceProfile: PickedProfile | undefined): SourcedValue<string> {
  const aliases = listAliases(serviceProfile);
  if (!Object.hasOwn(aliases, named.value)) return named;
  return {
    ...named,
    value: aliases[named.value] ?? '',
    origin: { ...named.origin, from: `${named.origin.from}, models.${named.value} of ${serviceProfile?.label}` },
  };
}

/** The format of a use: as given, otherwise the profile's, otherwise the service's. Throws usage. */
function pickFormat(input: SettingsInput, { serviceProfile, service, baseUrl }: KeyPlace): SourcedValue<FormatName> {
  const format = given('format', input) ?? inProfile('format', serviceProfile);
  if (format !== undefined) return format;
  const { name, formats } = services[service.value];
  const own = chooseFormat(name, input.use, baseUrl?.value) ?? Object.values(formats)[0] ?? 'content';
  if (name === 'gateway') return byDefault(own);
  return { value: own, origin: { kind: 'service', from: `service ${name}` } };
}

/** The form of authentication: as given, otherwise the profile's for this use, otherwise the service's. Throws usage. */
function pickAuth(
  input: SettingsInput,
  serviceProfile: PickedProfile | undefined,
  { service: { value: service }, format, key }: Pick<FoundSettings, 'service' | 'format'> & { key: KeySource },
): SourcedValue<AuthForm> {
  const row = chooseAuthUse(format.value, input.use);
  const form = given('auth', input) ?? fromProfile(serviceProfile, ({ auth }) => auth?.[row]);
  const { auth } = services[service];
  if (form !== undefined && (form.value !== 'auto' || auth === 'auto')) return form;
  if ('origin' in key && holdsToken(key.origin, service)) return { value: 'bearer', origin: key.origin };
  return auth === 'auto' ? byDefault(auth) : { value: auth, origin: { kind: 'service', from: `service ${service}` } };
}

/** A setting with a value for each name, such as the prices: for each, the value of the last place that has one. */
function mergePlaces<T>(
  places: readonly (SourcedValue<Readonly<Record<string, T>>> | undefined)[],
): Sourced<Record<string, T>> {
  const found = places.flatMap((place) =>
    Object.entries(place?.value ?? {}).map(([name, value]) => [name, { ...place, value }]),
  );
  return Object.fromEntries(found) as Sourced<Record<string, T>>;
}

/** The prices of models, by their names. */
function pickPrices({ flags, config }: SettingsInput, profile: PickedProfile | undefined): Sourced<Prices> {
  return mergePlaces([
    sourced(config.config.prices, `config ${config.path}`, 'config'),
    fromProfile(profile, ({ prices }) => prices),
    fromFlags('prices', flags),
  ]);
}

/** The real names of vendor-a's key header and vendor-b's version header. Throws usage. */
function pickHeaderNames(
  { flags, env, use }: SettingsInput,
  serviceProfile: PickedProfile | undefined,
  { value: service }: SourcedValue<ServiceName>,
): Sourced<PartialSettings['headerNames']> {
  const { apiKey, version } = mergePlaces<string>([
    sourced(service === 'gateway' ? undefined : services[service].headerNames, `service ${service}`, 'service'),
    fromProfile(serviceProfile, ({ headerNames }) => headerNames),
    mapValue(fromVariables('headerNames', { env, use }), parseHeaderNames),
    mapValue(fromFlags('headerNames', flags), parseHeaderNames),
  ]);
  return { apiKey: mapValue(apiKey, lowerCase), version: mapValue(version, lowerCase) };
}

function lowerCase(name: string): string {
  return name.toLowerCase();
}

/** The headers of a request: of the vendor, of the profile that owns the base URL's origin, and of the flags. */
function pickHeaders(
  { flags, env }: SettingsInput,
  owner: PickedProfile | undefined,
  vendor: ServiceName | undefined,
): Sourced<Record<string, Header['value']>> {
  const ofOwner = Object.entries(owner?.profile.headers ?? {}).map(([name, value]) => ({ name, value }));
  return mergePlaces<Header['value']>([
    ...(vendor === undefined ? [] : vendorHeaders(env, vendor)),
    fromProfile(owner, () => hideCredentials(ofOwner)),
    mapValue(fromFlags('headers', flags), hideCredentials),
  ]);
}

function hideCredentials(headers: readonly Header[]): Record<string, Header['value']> {
  const shown = headers.map(({ name, value }) => [
    name.toLowerCase(),
    typeof value === 'string' && isCredential(name, value) ? new Secret(value) : value,
  ]);
  return Object.fromEntries(shown) as Record<string, Header['value']>;
}
