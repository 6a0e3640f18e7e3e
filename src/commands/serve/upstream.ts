import type { Exchanges } from '../../client/send.ts';
import { addressPost, createTarget, keyHeaders, type Target } from '../../transport/request.ts';
import { GatewayError, usageError } from '../../errors.ts';
import { byAuthUse } from '../../formats/format.ts';
import type { GatewayRequest, Handler, ServedHeaderNames } from '../../gateway/types.ts';
import type { ModelsByUse } from '../../recordings/models.ts';
import { createUpstreamHandler, type UpstreamOptions } from '../../gateway/upstream.ts';
import { services, vendorHeaderNames } from '../../services.ts';
import { configPath, readConfig, unknownProfile } from '../../settings/config-file.ts';
import { fromFlag } from '../../settings/sources.ts';
import { credentialsOf, revealHeaders, Secret } from '../../settings/redact.ts';
import { surveyUses } from '../../settings/resolve.ts';
import type { SettingsSurvey, Sourced, Use } from '../../settings/types.ts';
import type { Context } from '../../cli/context.ts';
import { openExchanges, openTransports } from '../../cli/run/connection.ts';
import { readConfiguredKey, readSettingsFlags } from '../../cli/run/settings.ts';
import { keepModels, modelVariables } from './models.ts';
import type { Source, ServeFlags, SourcePlace } from './source.ts';
import type { AuthUse } from '../../formats/types.ts';

/** The names of the specification, for headers without a configured name. */
const placeholders = services.gateway.headerNames;

/** Passes calls on to the gateway of a profile. Throws GatewayError usage or auth. */
export async function openUpstream(profile: string, flags: ServeFlags, place: SourcePlace): Promise<Source> {
  const { context, localKey, served } = place;
  const survey = await surveyProfile(profile, flags, context);
  const { text, chat } = survey;
  const key = text.key.kind === 'none' ? undefined : await readProfileKey(profile, text, context);
  const target = await targetOf(survey, key?.reveal(), context);
  const credentials = credentialsOf(text, key);
  context.ui.hide(credentials.map(({ secret }) => secret));
  const transport = await openTransports([text], flags, context);
  const local = { name: 'the local key', secret: new Secret(localKey) };
  const exchanges = await openExchanges(transport, flags, { context, credentials: [...credentials, local] });
  const models = modelVariables(modelsOf(survey));
  if (flags.record !== undefined) await keepModels(flags.record, models, context);
  const headerNames = { apiKey: text.headerNames.apiKey?.value, version: chat.headerNames.version?.value };
  const pays = text.budget && (await (await import('./payments.ts')).payForPassed(text, flags.tag, context));
  const parts = { target, headerNames, served, pay: pays?.pay, wholeBodies: flags.record !== undefined };
  return {
    handler: upstreamHandler(exchanges, text, parts),
    headerNames,
    models,
    name: `profile ${profile}, ${target.baseUrl.origin}`,
    isPaid: pays !== undefined,
    async close() {
      await exchanges.close();
      await pays?.written();
    },
  };
}

/** The key of the profile, or of the variable that belongs to its service, and no other. Throws GatewayError auth. */
async function readProfileKey(profile: string, survey: SettingsSurvey, context: Context): Promise<Secret> {
  const source = survey.key;
  if (source.kind !== 'missing') return readConfiguredKey(source, context);
  const { GATEWAY_API_KEY: value, GATEWAY_API_KEY_FILE: file } = context.io.env;
  const passed = value ? 'GATEWAY_API_KEY' : file ? 'GATEWAY_API_KEY_FILE' : undefined;
  const why = passed === undefined ? '' : `; ${passed} does not count here`;
  const [variable] = services[survey.service.value].keyVariables;
  const other = variable === undefined ? '' : ` than ${variable}`;
  throw new GatewayError('auth', `profile ${profile} has no key, and serve --upstream takes no other${other}${why}`, {
    hint: `set it: gateway-cli config set apiKey - --profile ${profile}`,
    sent: 'no',
    retryable: false,
  });
}

type Survey = Record<Use, SettingsSurvey>;

function modelsOf({ text, chat, image, edit }: Survey): ModelsByUse {
  return { text: text.model?.value, chat: chat.model?.value, image: image.model?.value, edit: edit.model?.value };
}

/** What counts of the environment: the budget, where home is, and keys that go to the host of their vendor alone. */
const countedVariables = [
  'GATEWAY_BUDGET',
  'HOME',
  'USERPROFILE',
  ...Object.values(services).flatMap(({ keyVariables }) => keyVariables),
];

/**
 * The settings of the named profile, and of the flags of the connection: the environment may already point here. Throws
 * GatewayError usage where it has no base URL.
 */
async function surveyProfile(profile: string, flags: ServeFlags, context: Context): Promise<Survey> {
  const { io, ui } = context;
  const { proxy, systemCa, budget, prices } = flags;
  const env = Object.fromEntries(countedVariables.map((name) => [name, io.env[name]]));
  const config = await readConfig(await configPath({ env: io.env, cwd: io.cwd }));
  if (!Object.hasOwn(config.config.profiles, profile))
    throw unknownProfile(fromFlag('--upstream', profile) as Sourced<string>, config);
  const read = await readSettingsFlags({ ...(prices !== undefined && { prices }) }, context);
  const survey = surveyUses({ flags: { profile, proxy, systemCa, budget, prices: read.prices }, env, config });
  const { text } = survey;
  if (text.baseUrl === undefined)
    throw usageError(`profile ${profile} has no baseUrl`, `gateway-cli config set baseUrl <url> --profile ${profile}`);
  for (const warning of text.warnings) await ui.warn(warning);
  return survey;
}

async function targetOf({ text, image, chat }: Survey, key: string | undefined, { ui }: Context): Promise<Target> {
  const { headerNames, headers, allowHttp } = text;
  const surveys = { ...byAuthUse(() => chat), text, image };
  const { target, warnings } = createTarget({
    baseUrl: text.baseUrl?.value ?? '',
    key,
    auth: byAuthUse((use) => surveys[use].auth.value),
    headerNames: {
      apiKey: headerNames.apiKey?.value ?? placeholders.apiKey,
      version: headerNames.version?.value ?? placeholders.version,
    },
    headers: revealHeaders(headers.map(({ value }) => value)),
    allowHttp: allowHttp.value,
  });
  for (const warning of warnings) await ui.warn(warning);
  // A URL that a key must not go to is refused now, not when the first caller comes.
  addressPost(target, { path: '/v1/messages', use: 'messages', body: {} });
  return target;
}

interface UpstreamParts {
  target: Target;
  /** The names that the formats have upstream. */
  headerNames: ServedHeaderNames;
  served: ServedHeaderNames;
  /** Bodies are recorded. */
  wholeBodies: boolean;
  pay: UpstreamOptions['pay'];
}

function upstreamHandler(exchanges: Exchanges, { timeoutMs }: SettingsSurvey, parts: UpstreamParts): Handler {
  const { target, headerNames, served, wholeBodies, pay } = parts;
  const names = [
    served.apiKey,
    served.version,
    headerNames.apiKey,
    headerNames.version,
    ...Object.keys(target.headers),
  ];
  const versionNames = [
    served.version,
    target.headerNames.version,
    placeholders.version,
    vendorHeaderNames.version,
  ].filter((name) => name !== undefined);
  return createUpstreamHandler({
    exchange: exchanges.at(target.baseUrl),
    localHeaders: names.filter((name) => name !== undefined),
    timeoutMs: timeoutMs.value,
    wholeBodies,
    pay,
    address(request) {
      const use = useOf(request);
      const { url } = addressPost(target, { path: request.path, use, body: {} });
      const headers = { ...target.headers, ...keyHeaders(target, use) };
      // The version that the caller speaks, under the name that upstream knows.
      const spoken = versionNames.map((name) => request.headers[name]).find((value) => typeof value === 'string');
      const versionName = target.headerNames.version;
      if (typeof spoken === 'string' && versionName in headers) headers[versionName] = spoken;
      return { url, headers, ownHeaders: target.headers };
    },
  });
}

/** The key of a caller says which form of the specification it means, where the path does not. */
function useOf({ format, route, keyForm }: GatewayRequest): AuthUse {
  if (format.name === 'completions') return 'completions';
  const isMessages = format.name === 'messages' && (!route || route.handle !== undefined || route.batch !== undefined);
  if (isMessages || (keyForm === 'x-api-key' && !route?.handle)) return 'messages';
  return keyForm === 'bearer' ? 'image' : 'text';
}
