import {
  type AuthUse,
  byAuthUse,
  type GatewayClient,
  type GatewayClientOptions,
  GatewayError,
  getAuthUseFormat,
  hasOwnHost,
  type ModelsByUse,
  openGatewayClient,
  readEndpoint,
  serviceNames,
  services,
  usageError,
  type Use,
  vendorHeaderNames,
} from '../../../library/index.ts';
import {
  createTranslator,
  createUpstreamHandler,
  type GatewayRequest,
  type Handler,
  type ServedHeaderNames,
} from '../../../gateway/index.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { unknownProfile } from '../../settings/profile-name.ts';
import { fromFlag } from '../../settings/sources.ts';
import { type Credential, listCredentials, revealHeaders, Secret } from '../../settings/redact.ts';
import { addressNames, keyNames } from '../../settings/vendor-variables.ts';
import { resolveEveryUse } from '../../settings/resolve.ts';
import type { PartialSettings, SourcedValue } from '../../settings/types.ts';
import type { Context } from '../../context.ts';
import { openOwnConnections, openRecordings } from '../../run/access.ts';
import { readSettingsFlags } from '../../run/settings.ts';
import { getGatewayOrigin, readConfiguredKey } from '../../run/connection.ts';
import { keepVariables, modelVariables } from './served-command.ts';
import { type Pays, payForPassed } from './payments.ts';
import type { AnswerSource, ServeFlags, SourcePlace } from './source.ts';
import { findServiceFormats } from './service-formats.ts';

/** The names of the specification, for headers without a configured name. */
const placeholders = services.gateway.headerNames;

/** A profile that calls are passed on to. */
interface Upstream {
  settings: UpstreamSettings;
  options: GatewayClientOptions;
  credentials: Credential[];
}

/** Passes calls on to the gateway of a profile. Throws GatewayError usage or auth. */
export async function openUpstream(profile: string, flags: ServeFlags, place: SourcePlace): Promise<AnswerSource> {
  const { context, localKey, served } = place;
  const upstream = await prepareUpstream(profile, await resolveProfile(profile, flags, context), context);
  const { settings, credentials } = upstream;
  context.ui.hide(credentials.map(({ secret }) => secret));
  const connection = await openOwnConnections([settings.text], flags, context);
  const local = { name: 'the local key', secret: new Secret(localKey) };
  const recordings = await openRecordings(flags, { context, credentials: [...credentials, local] });
  const variables = { ...modelVariables(getModelsByUse(settings)), ...serviceVariables(settings) };
  if (flags.record !== undefined) await keepVariables(flags.record, variables, context);
  const { apiKey } = settings.text.headerNames;
  const headerNames = { apiKey, version: settings.chat.headerNames.version };
  const pays = await payForPassed(settings.text, flags.tag, context);
  const parts = { headerNames, served, pays };
  const handlers = byAuthUse((use) => {
    const client = openGatewayClient({ ...upstream.options, connection, wrappers: recordings.wrappers });
    return upstreamHandler(use, upstream, { ...parts, client });
  });
  const { service, format, baseUrl, origins } = settings.text;
  const ownFormat = origins.format.kind === 'profile' ? format : undefined;
  const formats = await findServiceFormats({ service, ownFormat, format, baseUrl });
  const pass: Handler = (request) => handlers[chooseKeyUse(request)](request);
  return {
    handler: formats === undefined ? pass : createTranslator(pass, formats),
    headerNames,
    variables,
    name: `${settings.text.profile ? 'profile' : 'service'} ${profile}, ${getGatewayOrigin(settings.text)}`,
    isPaid: pays !== undefined,
    async close() {
      await recordings.close();
      await connection.close();
      await pays?.written();
    },
  };
}

function serviceVariables({ text: { service, format, origins } }: UpstreamSettings): Record<string, string> {
  return {
    ...(service !== 'gateway' && { GATEWAY_SERVICE: service }),
    ...(origins.format.kind === 'profile' && { GATEWAY_FORMAT: format }),
  };
}

async function prepareUpstream(profile: string, settings: UpstreamSettings, context: Context): Promise<Upstream> {
  const key = settings.text.key.kind === 'none' ? undefined : await readProfileKey(profile, settings.text, context);
  const options = await toClientSettings(settings, key?.reveal(), context);
  return { settings, options, credentials: listCredentials(settings.text, key) };
}

/** The key of the profile, or of the variable that belongs to its service, and no other. Throws GatewayError auth. */
async function readProfileKey(profile: string, settings: PartialSettings, context: Context): Promise<Secret> {
  const source = settings.key;
  if (source.kind !== 'missing') return readConfiguredKey(source, context);
  const { GATEWAY_API_KEY: value, GATEWAY_API_KEY_FILE: file } = context.io.env;
  const passed = value ? 'GATEWAY_API_KEY' : file ? 'GATEWAY_API_KEY_FILE' : undefined;
  const why = passed === undefined ? '' : `; ${passed} does not count here`;
  const [variable] = services[settings.service].keyVariables;
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
  return { text: text.model, chat: chat.model, image: image.model, edit: edit.model };
}

/**
 * Variables of the environment that count: the budget, the home folder, and of each service the key and the address that belongs
 * to it.
 */
const countedVariables = [
  'GATEWAY_BUDGET',
  'HOME',
  'USERPROFILE',
  ...serviceNames.flatMap(keyNames),
  ...serviceNames.flatMap(addressNames),
];

/**
 * The settings of the named profile, or of a service of that name if there is no such profile, and of the flags of the
 * connection: the environment may already point here. Throws GatewayError usage if it has no base URL.
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
): Promise<GatewayClientOptions> {
  const { headerNames, headers, allowHttp } = text;
  const settings = { ...byAuthUse(() => chat), text, image };
  const options: GatewayClientOptions = {
    baseUrl: text.baseUrl ?? '',
    apiKey,
    auth: byAuthUse((use) => settings[use].auth),
    headerNames,
    headers: revealHeaders(headers),
    allowHttp,
  };
  for (const warning of readEndpoint(options).warnings) await ui.warn(warning);
  // A URL that a key must not go to is refused now, not when the first caller comes.
  openGatewayClient(options).address({ path: '/v1/messages', format: 'messages', use: 'messages', body: {} });
  return options;
}

interface UpstreamParts {
  client: GatewayClient;
  /** The names that the formats have upstream. */
  headerNames: ServedHeaderNames;
  served: ServedHeaderNames;
  pays: Pays | undefined;
}

function upstreamHandler(
  use: AuthUse,
  { options, settings }: Upstream,
  { client, headerNames, served, pays }: UpstreamParts,
): Handler {
  const ownVersion = client.endpoint.headerNames.version;
  const names = [
    served.apiKey,
    served.version,
    headerNames.apiKey,
    headerNames.version,
    ...Object.keys(options.headers ?? {}),
  ];
  const versionNames = [served.version, ownVersion, placeholders.version, vendorHeaderNames.version].flatMap(
    (name) => name?.toLowerCase() ?? [],
  );
  return createUpstreamHandler({
    fetch: client.fetch,
    localHeaders: names.flatMap((name) => name?.toLowerCase() ?? []),
    timeoutMs: settings.text.timeoutMs,
    pay: pays?.pay,
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
  const isMessages = format.name === 'messages' && (!route || route.handle !== undefined || route.kept !== undefined);
  if (isMessages || (keyForm === 'x-api-key' && !route?.handle)) return 'messages';
  return keyForm === 'bearer' ? 'image' : 'text';
}
