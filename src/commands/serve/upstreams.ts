import { type Client, type ClientOptions, createClient } from '../../client/index.ts';
import { GatewayError, usageError } from '../../errors.ts';
import { byAuthUse, formatNames, getAuthUseFormat } from '../../formats/format.ts';
import type { GatewayRequest, Handler, ServedHeaderNames } from '../../gateway/types.ts';
import type { ModelsByUse } from '../../recordings/models.ts';
import { createUpstreamHandler } from '../../gateway/upstream.ts';
import { hasOwnHost, serviceNames, services, useNames, vendorHeaderNames } from '../../vendors/services.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { unknownProfile } from '../../settings/profile-name.ts';
import { fromFlag } from '../../settings/sources.ts';
import { type Credential, listCredentials, revealHeaders, Secret } from '../../settings/redact.ts';
import { addressNames, keyNames } from '../../settings/vendor-variables.ts';
import { resolveEveryUse } from '../../settings/resolve.ts';
import type { PartialSettings, SourcedValue, Use } from '../../settings/types.ts';
import type { Context } from '../../cli/context.ts';
import { openOwnConnections, openRecordings } from '../../cli/run/client.ts';
import { readSettingsFlags } from '../../cli/run/settings.ts';
import { getGatewayOrigin, readConfiguredKey } from '../../cli/run/connection.ts';
import { keepVariables, modelVariables } from './served-command.ts';
import { type Pays, payForPassed } from './payments.ts';
import type { AnswerSource, ServeFlags, SourcePlace } from './source.ts';
import type { AuthUse, FormatName } from '../../formats/types.ts';

/** The names of the specification, for headers without a configured name. */
const placeholders = services.gateway.headerNames;

interface ResolvedProfile {
  profile: string;
  settings: UpstreamSettings;
}

/** A profile that calls are passed on to. */
interface Upstream extends ResolvedProfile {
  options: ClientOptions;
  credentials: Credential[];
}

/** Passes calls on to the gateways of profiles. Throws GatewayError usage or auth. */
export async function openUpstreams(
  names: readonly string[],
  flags: ServeFlags,
  place: SourcePlace,
): Promise<AnswerSource> {
  const { context, localKey, served } = place;
  const profiles: ResolvedProfile[] = [];
  for (const profile of names) profiles.push({ profile, settings: await resolveProfile(profile, flags, context) });
  // Profiles that do not fit together are refused before a key is read.
  byFormat(profiles);
  const upstreams: Upstream[] = [];
  for (const profile of profiles) upstreams.push(await prepareUpstream(profile, context));
  const chosen = byFormat(upstreams);
  const credentials = upstreams.flatMap((upstream) => upstream.credentials);
  context.ui.hide(credentials.map(({ secret }) => secret));
  const connection = await openOwnConnections(
    upstreams.map(({ settings }) => settings.text),
    flags,
    context,
  );
  const local = { name: 'the local key', secret: new Secret(localKey) };
  const recordings = await openRecordings(flags, { context, credentials: [...credentials, local] });
  const speaker = chooseSpeaker(upstreams);
  const settings = speaker?.settings ?? { ...chosen.content.settings, chat: chosen.messages.settings.chat };
  const variables = { ...modelVariables(getModelsByUse(settings)), ...serviceVariables(speaker) };
  if (flags.record !== undefined) await keepVariables(flags.record, variables, context);
  const headerNames = {
    apiKey: chosen.content.settings.text.headerNames.apiKey?.value,
    version: chosen.messages.settings.chat.headerNames.version?.value,
  };
  const pays = await openPays(upstreams, flags, context);
  const parts = { headerNames, served, pays, wholeBodies: flags.record !== undefined };
  const handlers = byAuthUse((use) => {
    const upstream = chosen[getAuthUseFormat(use)];
    const client = createClient({ ...upstream.options, connection, use: recordings.use });
    return upstreamHandler(use, upstream, { ...parts, client });
  });
  return {
    handler: (request) => handlers[chooseKeyUse(request)](request),
    headerNames,
    variables,
    name: upstreams
      .map(
        ({ profile, settings }) =>
          `${settings.text.profile ? 'profile' : 'service'} ${profile}, ${getGatewayOrigin(settings.text)}`,
      )
      .join('; '),
    isPaid: pays !== undefined,
    async close() {
      await recordings.close();
      await connection.close();
      await pays?.written();
    },
  };
}

/**
 * The profile as whose service a command speaks; undefined where several are one gateway, which has the formats of text and chat.
 * Where they lack one of these, a command could not use it: the first profile then answers all.
 */
function chooseSpeaker(upstreams: readonly Upstream[]): Upstream | undefined {
  const isSpoken = (format: FormatName): boolean => upstreams.some(({ settings }) => speaks(settings, format));
  const isOneGateway = upstreams.length > 1 && isSpoken('content') && isSpoken('messages');
  return isOneGateway ? undefined : upstreams[0];
}

function speaks(settings: UpstreamSettings, format: FormatName): boolean {
  return useNames.some((use) => settings[use].format.value === format);
}

function serviceVariables(speaker: Upstream | undefined): Record<string, string> {
  if (speaker === undefined) return {};
  const { service, format } = speaker.settings.text;
  return {
    ...(service.value !== 'gateway' && { GATEWAY_SERVICE: service.value }),
    ...(format.origin.kind === 'profile' && { GATEWAY_FORMAT: format.value }),
  };
}

/** What pays for the requests; undefined if no profile has a budget. */
async function openPays(
  upstreams: readonly Upstream[],
  { tag }: ServeFlags,
  context: Context,
): Promise<Pays | undefined> {
  const paid = upstreams.map(({ settings }) => settings.text).filter(({ budget }) => budget !== undefined);
  return paid.length === 0 ? undefined : payForPassed(paid, tag, context);
}

async function prepareUpstream({ profile, settings }: ResolvedProfile, context: Context): Promise<Upstream> {
  const key = settings.text.key.kind === 'none' ? undefined : await readProfileKey(profile, settings.text, context);
  const options = await toClientSettings(settings, key?.reveal(), context);
  return { profile, settings, options, credentials: listCredentials(settings.text, key) };
}

/**
 * Gives each format to the profile whose service speaks it, to a gateway only where no other service does. A format that none
 * speaks goes to a gateway, else to the first. Throws GatewayError usage if a profile is left without a format.
 */
function byFormat<T extends ResolvedProfile>(profiles: readonly T[]): Record<FormatName, T> {
  const [first] = profiles;
  if (first === undefined || profiles.length > formatNames.length)
    throw usageError('--upstream takes one profile, or one for each format', 'for example: --upstream gemini,claude');
  const isGateway = ({ settings }: T): boolean => settings.text.service.value === 'gateway';
  const speaking = (format: FormatName): T[] =>
    profiles
      .filter(({ settings }) => speaks(settings, format))
      .toSorted((one, other) => Number(isGateway(one)) - Number(isGateway(other)));
  const idle = profiles.find((profile) => formatNames.every((format) => speaking(format)[0] !== profile));
  if (idle !== undefined) {
    const format = formatNames.find((name) => speaking(name).includes(idle)) ?? 'content';
    throw usageError(
      `profiles ${speaking(format)[0]?.profile} and ${idle.profile} both serve the ${format} format`,
      'name one for each format, such as one of service gemini and one of service anthropic',
    );
  }
  const rest = profiles.find(isGateway) ?? first;
  const chosen = formatNames.map((format) => [format, speaking(format)[0] ?? rest]);
  return Object.fromEntries(chosen) as Record<FormatName, T>;
}

/** The key of the profile, or of the variable that belongs to its service, and no other. Throws GatewayError auth. */
async function readProfileKey(profile: string, settings: PartialSettings, context: Context): Promise<Secret> {
  const source = settings.key;
  if (source.kind !== 'missing') return readConfiguredKey(source, context);
  const { GATEWAY_API_KEY: value, GATEWAY_API_KEY_FILE: file } = context.io.env;
  const passed = value ? 'GATEWAY_API_KEY' : file ? 'GATEWAY_API_KEY_FILE' : undefined;
  const why = passed === undefined ? '' : `; ${passed} does not count here`;
  const [variable] = services[settings.service.value].keyVariables;
  const other = variable === undefined ? '' : ` than ${variable}`;
  const own = `set it: gateway-cli config set apiKey - --profile ${profile}`;
  const who = settings.profile === undefined ? `service ${profile}` : `profile ${profile}`;
  throw new GatewayError('auth', `${who} has no key, and serve --upstream takes no other${other}${why}`, {
    hint: settings.profile === undefined && source.kind === 'missing' ? source.hint : own,
    sent: 'no',
    retryable: false,
  });
}

type UpstreamSettings = Record<Use, PartialSettings>;

function getModelsByUse({ text, chat, image, edit }: UpstreamSettings): ModelsByUse {
  return { text: text.model?.value, chat: chat.model?.value, image: image.model?.value, edit: edit.model?.value };
}

/** What counts of the environment: the budget, where home is, and of each service the key and the address that belongs to it. */
const countedVariables = [
  'GATEWAY_BUDGET',
  'HOME',
  'USERPROFILE',
  ...serviceNames.flatMap(keyNames),
  ...serviceNames.flatMap(addressNames),
];

/**
 * The settings of the named profile, or of a service of that name if there is no such profile, and of the flags of the connection:
 * the environment may already point here. Throws GatewayError usage where it has no base URL.
 */
async function resolveProfile(profile: string, flags: ServeFlags, context: Context): Promise<UpstreamSettings> {
  const { io, ui } = context;
  const { proxy, systemCa, budget, prices } = flags;
  const env = Object.fromEntries(countedVariables.map((name) => [name, io.env[name]]));
  const config = await readConfig(await configPath(io));
  const isProfile = Object.hasOwn(config.config.profiles, profile);
  const service = serviceNames.find((name) => name === profile && hasOwnHost(name));
  if (!isProfile && service === undefined)
    throw unknownProfile(fromFlag('--upstream', profile) as SourcedValue<string>, config);
  const read = await readSettingsFlags({ ...(prices !== undefined && { prices }) }, context);
  const named = isProfile ? { profile } : { service };
  const { prices: configured } = config.config;
  const bare = { profiles: {}, ...(configured && { prices: configured }) };
  const place = isProfile ? config : { ...config, config: bare };
  const settings = resolveEveryUse({
    flags: { ...named, proxy, systemCa, budget, prices: read.prices },
    env,
    config: place,
  });
  const { text } = settings;
  if (text.baseUrl === undefined)
    throw usageError(`profile ${profile} has no baseUrl`, `gateway-cli config set baseUrl <url> --profile ${profile}`);
  for (const warning of text.warnings) await ui.warn(warning);
  return settings;
}

async function toClientSettings(
  { text, image, chat }: UpstreamSettings,
  apiKey: string | undefined,
  { ui }: Context,
): Promise<ClientOptions> {
  const { headerNames, headers, allowHttp } = text;
  const settings = { ...byAuthUse(() => chat), text, image };
  const options: ClientOptions = {
    baseUrl: text.baseUrl?.value ?? '',
    apiKey,
    auth: byAuthUse((use) => settings[use].auth.value),
    headerNames: {
      apiKey: headerNames.apiKey?.value ?? placeholders.apiKey,
      version: headerNames.version?.value ?? placeholders.version,
    },
    headers: revealHeaders(headers.map(({ value }) => value)),
    allowHttp: allowHttp.value,
  };
  const client = createClient(options);
  for (const warning of client.warnings) await ui.warn(warning);
  // A URL that a key must not go to is refused now, not when the first caller comes.
  client.address({ path: '/v1/messages', format: 'messages', use: 'messages', body: {} });
  return options;
}

interface UpstreamParts {
  client: Client;
  /** The names that the formats have upstream. */
  headerNames: ServedHeaderNames;
  served: ServedHeaderNames;
  /** Bodies are recorded. */
  wholeBodies: boolean;
  pays: Pays | undefined;
}

function upstreamHandler(
  use: AuthUse,
  { options, settings }: Upstream,
  { client, headerNames, served, wholeBodies, pays }: UpstreamParts,
): Handler {
  const ownVersion = options.headerNames?.version ?? placeholders.version;
  const names = [
    served.apiKey,
    served.version,
    headerNames.apiKey,
    headerNames.version,
    ...Object.keys(options.headers ?? {}),
  ];
  const versionNames = [served.version, ownVersion, placeholders.version, vendorHeaderNames.version].filter(
    (name) => name !== undefined,
  );
  return createUpstreamHandler({
    fetch: client.fetch,
    localHeaders: names.filter((name) => name !== undefined),
    timeoutMs: settings.text.timeoutMs.value,
    wholeBodies,
    pay: pays?.of(settings.text),
    address(request) {
      const asked = client.address({ path: request.path, format: getAuthUseFormat(use), use, body: {} });
      const { url, base, ownHeaders = {}, keyHeader } = asked;
      const isOurs = (name: string) => name in ownHeaders || name === keyHeader?.name || name === ownVersion;
      const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => isOurs(name)));
      // The version that the caller speaks, under the name that upstream knows.
      const spoken = versionNames.map((name) => request.headers[name]).find((value) => typeof value === 'string');
      if (typeof spoken === 'string' && ownVersion in headers) headers[ownVersion] = spoken;
      return { url, base, headers, ownHeaders, keyHeader };
    },
  });
}

/** The key of a caller says which form of the specification it means, if the path does not. */
function chooseKeyUse({ format, route, keyForm }: GatewayRequest): AuthUse {
  if (format.name === 'completions') return 'completions';
  const isMessages = format.name === 'messages' && (!route || route.handle !== undefined || route.batch !== undefined);
  if (isMessages || (keyForm === 'x-api-key' && !route?.handle)) return 'messages';
  return keyForm === 'bearer' ? 'image' : 'text';
}
