import { addressPost, createTarget, keyHeaders, type Target } from '../../client/target.ts';
import { openConnections } from '../../client/connection.ts';
import { GatewayError, usageError } from '../../errors.ts';
import type { Answerer, Call, ServedHeaderNames } from '../../gateway/types.ts';
import type { ModelsByUse } from '../../recordings/models.ts';
import { createUpstreamAnswerer } from '../../gateway/upstream.ts';
import { services, vendorHeaderNames } from '../../services.ts';
import { readConfig } from '../../settings/file.ts';
import { configPath } from '../../settings/folders.ts';
import { revealHeaders } from '../../settings/headers.ts';
import { unknownProfile } from '../../settings/profile.ts';
import { surveySettings } from '../../settings/resolve.ts';
import { Secret } from '../../settings/secret.ts';
import type { SettingsSurvey } from '../../settings/settings.ts';
import type { KeySource, Use } from '../../settings/types.ts';
import type { Exchanges } from '../../client/sender.ts';
import { type RecordingFlags, checkRecordingFlags, openRecording, openReplaying } from '../../cli/run/recordings.ts';
import type { Context } from '../../cli/context.ts';
import { keepModels, modelVariables, replayedModels } from './models.ts';
import { readConfiguredKey, credentialsOf, transportOptions } from '../../cli/run/connection.ts';

/** The names of the specification, for headers whose real names nobody gave. */
const placeholders = services.gateway.headerNames;

/** The flags that say who answers in the place of the offline models. */
export interface SourceFlags extends RecordingFlags {
  upstream?: string;
  proxy?: string;
  systemCa?: true;
  cacert?: string;
  clientCert?: string;
  clientKey?: string;
}

/** Who answers, and what the commands around should know of it. */
interface Source {
  answer: Answerer;
  /** As the upstream gateway calls them. */
  headerNames: ServedHeaderNames;
  /** Environment variables of the models that are served. */
  models: Record<string, string>;
  /** For people: `profile work, https://host`. */
  name: string;
  close(): Promise<void>;
}

/** What beside the flags a source needs. */
interface SourcePlace {
  context: Context;
  /** The key that callers show here: it never goes on, nor into a recording. */
  localKey: string;
  /** Names of headers that callers show to this gateway. */
  served: ServedHeaderNames;
}

/**
 * Opens `--upstream` or `--replay`; undefined: the offline models answer. Throws GatewayError usage or auth, before
 * anything listens.
 */
export async function openSource(flags: SourceFlags, place: SourcePlace): Promise<Source | undefined> {
  checkRecordingFlags(flags);
  if (flags.upstream !== undefined && flags.replay !== undefined) {
    throw usageError('--upstream and --replay exclude each other', 'a replay asks nobody: leave --upstream out');
  }
  if (flags.record !== undefined && flags.upstream === undefined) {
    throw usageError('serve --record keeps what an upstream gateway answers', 'name its profile: --upstream <profile>');
  }
  if (flags.replay !== undefined) return openReplaySource(flags.replay, flags, place);
  return flags.upstream === undefined ? undefined : openUpstream(flags.upstream, flags, place);
}

async function openReplaySource(replay: string, flags: SourceFlags, { context }: SourcePlace): Promise<Source> {
  const exchanges = await openReplaying(replay, flags, context);
  const base = new URL('http://127.0.0.1');
  const answer = createUpstreamAnswerer({
    exchange: exchanges.at(base),
    address: (_call, path) => ({ url: new URL(path, base), headers: {} }),
    usageStatus: 404,
    wholeBodies: true,
  });
  return {
    answer,
    headerNames: {},
    models: await replayedModels(replay, context),
    name: `replays ${replay}`,
    close: exchanges.close,
  };
}

/** Passes calls on to a profile's gateway. Throws GatewayError usage or auth. */
async function openUpstream(profile: string, flags: SourceFlags, place: SourcePlace): Promise<Source> {
  const { context, localKey } = place;
  const survey = await surveyProfile(profile, flags, context);
  const { text } = survey;
  const key = await readProfileKey(profile, text.key, context);
  const credentials = credentialsOf(text, key);
  context.ui.hide(credentials.map(({ secret }) => secret));
  const target = await targetOf(survey, key.reveal(), context);
  const transport = await openConnections(await transportOptions(text, flags, context));
  const local = { name: 'the local key', secret: new Secret(localKey) };
  const exchanges = await openRecording(transport, flags, { context, credentials: [...credentials, local] });
  const models = modelVariables(modelsOf(survey));
  if (flags.record !== undefined) await keepModels(flags.record, models, context);
  const headerNames = { apiKey: text.headerNames.apiKey?.value, version: text.headerNames.version?.value };
  return {
    answer: upstreamAnswerer(exchanges, {
      target,
      headerNames,
      served: place.served,
      timeoutMs: text.timeoutMs.value,
      wholeBodies: flags.record !== undefined,
    }),
    headerNames,
    models,
    name: `profile ${profile}, ${target.baseUrl.origin}`,
    close: exchanges.close,
  };
}

/** The key of the profile and no other. Throws GatewayError auth. */
async function readProfileKey(profile: string, source: KeySource, context: Context): Promise<Secret> {
  if (source.kind !== 'missing') return readConfiguredKey(source, context);
  const { GATEWAY_API_KEY: value, GATEWAY_API_KEY_FILE: file } = context.io.env;
  const passed = value ? 'GATEWAY_API_KEY' : file ? 'GATEWAY_API_KEY_FILE' : undefined;
  const why = passed === undefined ? '' : `; ${passed} does not count here`;
  throw new GatewayError('auth', `profile ${profile} has no key, and serve --upstream takes no other${why}`, {
    hint: `set it: gateway-cli config set apiKey - --profile ${profile}`,
    sent: 'no',
    retryable: false,
  });
}

type Survey = Record<Use, SettingsSurvey>;

function modelsOf({ text, chat, image, edit }: Survey): ModelsByUse {
  return { text: text.model?.value, chat: chat.model?.value, image: image.model?.value, edit: edit.model?.value };
}

/**
 * The settings of the named profile, and of the flags of the connection: the environment may already point here. Throws
 * GatewayError usage where it has no base URL.
 */
async function surveyProfile(profile: string, { proxy, systemCa }: SourceFlags, { io, ui }: Context): Promise<Survey> {
  const config = await readConfig(await configPath({ env: io.env, cwd: io.cwd }));
  if (!Object.hasOwn(config.config.profiles, profile))
    throw unknownProfile({ value: profile, from: 'flag --upstream' }, config);
  const survey = (use: Use) => surveySettings({ flags: { profile, proxy, systemCa }, env: {}, config, use });
  const [text, chat, image, edit] = [survey('text'), survey('chat'), survey('image'), survey('edit')];
  if (text.baseUrl === undefined) {
    throw usageError(`profile ${profile} has no baseUrl`, `gateway-cli config set baseUrl <url> --profile ${profile}`);
  }
  for (const warning of text.warnings) await ui.warn(warning);
  return { text, chat, image, edit };
}

async function targetOf({ text, image, chat }: Survey, key: string, { ui }: Context): Promise<Target> {
  const { headerNames, headers, allowHttp } = text;
  const { target, warnings } = createTarget({
    baseUrl: text.baseUrl?.value ?? '',
    key,
    auth: { text: text.auth.value, image: image.auth.value, messages: chat.auth.value },
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
  /** Upstream's own names. */
  headerNames: ServedHeaderNames;
  served: ServedHeaderNames;
  timeoutMs: number;
  /** Bodies are recorded. */
  wholeBodies: boolean;
}

function upstreamAnswerer(exchanges: Exchanges, parts: UpstreamParts): Answerer {
  const { target, headerNames, served, timeoutMs, wholeBodies } = parts;
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
  return createUpstreamAnswerer({
    exchange: exchanges.at(target.baseUrl),
    localHeaders: names.filter((name) => name !== undefined),
    timeoutMs,
    wholeBodies,
    address(call, path) {
      const use = useOf(call);
      const { url } = addressPost(target, { path, use, body: {} });
      const headers = { ...target.headers, ...keyHeaders(target, use) };
      // The version that the caller speaks, under the name that upstream knows.
      const spoken = versionNames.map((name) => call.headers[name]).find((value) => typeof value === 'string');
      const versionName = target.headerNames.version;
      if (typeof spoken === 'string' && versionName in headers) headers[versionName] = spoken;
      return { url, headers };
    },
  });
}

/** The key of a caller tells which form of the specification it means, where the path does not. */
function useOf({ format, operation, keyForm }: Call): keyof Target['auth'] {
  if (operation === 'messages' || (format === 'messages' && operation !== 'models')) return 'messages';
  if (keyForm === 'x-api-key' && (operation === 'models' || operation === 'other')) return 'messages';
  return keyForm === 'bearer' ? 'image' : 'text';
}
