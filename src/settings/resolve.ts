import { type GatewayError, usageError } from '../errors.ts';
import { formatDuration, parseDurationOf } from './duration.ts';
import { invalidNameReason, pickHeaders } from './headers.ts';
import { ownsOrigin, pickKey } from './key.ts';
import { type PickedProfile, pickProfile } from './profile.ts';
import type { Settings, SettingsFlags, SettingsInput, SettingsSurvey } from './settings.ts';
import { type Environment, fromEnvironment, fromFlag, fromSwitch, fromToggle, mapValue, sourced } from './sources.ts';
import {
  type AuthForm,
  authForms,
  type AuthUse,
  type HeaderNames,
  type Profile,
  type Sourced,
  type Use,
} from './types.ts';

/** spec.md 8 recommends at least so long for images. */
const imageTimeoutMs = 120_000;

const off: Sourced<boolean> = { value: false, from: 'default' };

const offlineExamples: { [use in Use]: string } = {
  text: "gateway-cli text --offline 'Hello'",
  image: "gateway-cli image gen --offline 'a lighthouse'",
  edit: "gateway-cli image edit --offline -i photo.png 'make it gray'",
  chat: "gateway-cli chat --offline 'Hello'",
};

/**
 * flag > environment > profile > default (design.md 3). Pure: reads no file, no key and no clock.
 * Throws usage for what is missing or wrong. A missing key is no error yet: its source says why, and `readKey` throws.
 */
export function resolveSettings(input: SettingsInput): Settings {
  const survey = surveySettings(input);
  const { model, baseUrl, offline } = survey;
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
  const picked = pickProfile(flags.profile, env, config);
  const offline = pickOffline(flags, env);
  const baseUrl = offline.value ? undefined : pickBaseUrl(input, picked);
  const owned = ownsOrigin(picked, baseUrl) ? picked : undefined;
  const model = pickModel(input, picked, offline.value);
  const timeoutMs = pickTimeout(input, picked);
  return {
    use,
    profile: picked?.name,
    offline,
    baseUrl,
    model: model.model,
    key: pickKey({
      apiKeyFile: flags.apiKeyFile,
      env,
      offline: offline.value,
      picked,
      config,
      baseUrl,
    }),
    auth: pickAuth(input, picked),
    headerNames: pickHeaderNames(input, picked),
    headers: pickHeaders(flags.headers ?? [], owned),
    timeoutMs,
    allowHttp:
      fromSwitch('--allow-http', flags.allowHttp) ?? sourced(owned?.profile.allowHttp, owned?.label ?? '') ?? off,
    maxTokens: pickMaxTokens(input, picked),
    noStdin: fromSwitch('--no-stdin', flags.noStdin) ?? fromToggle(env, 'GATEWAY_NO_STDIN') ?? off,
    preview: fromSwitch('--preview', flags.preview) ?? sourced(picked?.profile.preview, picked?.label ?? '') ?? off,
    warnings: [...config.warnings, ...model.warnings, ...timeoutWarnings(use, timeoutMs)],
  };
}

function timeoutWarnings(use: Use, { value, from }: Sourced<number>): string[] {
  if ((use !== 'image' && use !== 'edit') || value >= imageTimeoutMs) return [];
  return [`${from}: images may take longer than ${formatDuration(value)}; at least 120s are recommended`];
}

function missingError(input: SettingsInput, missing: readonly string[]): GatewayError {
  const { use, config } = input;
  // The last one is that of most uses.
  const variable = modelVariables[use].at(-1);
  const ways = [
    missing.includes('base URL') && '--base-url <url> or GATEWAY_BASE_URL',
    missing.includes('model') && `--model <model> or ${variable}`,
  ].filter((way) => way !== false);
  const profile = config.exists ? `a profile in ${config.path}` : 'a profile (gateway-cli config init)';
  const hint = `set ${ways.join(', and ')}, or ${profile}\nto try it without a gateway: ${offlineExamples[use]}`;
  return usageError(`no ${missing.join(' and no ')} is set`, hint);
}

const defaultTimeoutMs = 600_000;
const defaultMaxTokens = 4096;

/** The local gateway's model of each use. */
const localModels: { [use in Use]: string } = {
  text: 'local-text',
  image: 'local-image',
  edit: 'local-edit',
  chat: 'local-chat',
};

/** Variables that name the model of each use; the first that is set counts. */
export const modelVariables: { [use in Use]: readonly [string, ...string[]] } = {
  text: ['GATEWAY_MODEL'],
  chat: ['GATEWAY_CHAT_MODEL', 'GATEWAY_MODEL'],
  image: ['GATEWAY_IMAGE_MODEL'],
  edit: ['GATEWAY_EDIT_MODEL', 'GATEWAY_IMAGE_MODEL'],
};

/** `--offline` or GATEWAY_OFFLINE. Beside `--base-url` it throws usage; a base URL from elsewhere is just not used. */
export function pickOffline(flags: SettingsFlags, env: Environment): Sourced<boolean> {
  const offline = fromSwitch('--offline', flags.offline) ??
    fromToggle(env, 'GATEWAY_OFFLINE') ?? { value: false, from: 'default' };
  if (!offline.value || flags.baseUrl === undefined) return offline;
  const hint =
    offline.from === 'flag --offline' ? 'leave one of them out' : 'unset GATEWAY_OFFLINE, or leave --base-url out';
  throw usageError(`--base-url cannot stand beside ${offline.from}`, hint);
}

/** Throws usage unless it is an http(s) URL. Its text is not quoted: it may hold a password. */
export function pickBaseUrl(
  { flags, env }: SettingsInput,
  picked: PickedProfile | undefined,
): Sourced<string> | undefined {
  const url =
    fromFlag('--base-url', flags.baseUrl) ??
    fromEnvironment(env, 'GATEWAY_BASE_URL') ??
    sourced(picked?.profile.baseUrl, picked?.label ?? '');
  return mapValue(url, (text, from) => {
    if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
    throw usageError(
      `${from}: not a URL that begins with https:// or http://`,
      'for example --base-url https://gateway.example',
    );
  });
}

/** As with the variables: a chat takes the model of texts, an edit that of images, where it has none of its own. */
function modelOf(models: Profile['models'], use: Use): string | undefined {
  return models?.[use] ?? models?.[use === 'chat' ? 'text' : use === 'edit' ? 'image' : use];
}

/** The model of this use. Offline, one that is not there is replaced by the local one, with a warning (design.md 3). */
export function pickModel(
  { flags, env, use }: SettingsInput,
  picked: PickedProfile | undefined,
  offline: boolean,
): { model: Sourced<string> | undefined; warnings: string[] } {
  const model =
    fromFlag('--model', flags.model) ??
    modelVariables[use].map((name) => fromEnvironment(env, name)).find((found) => found !== undefined) ??
    sourced(modelOf(picked?.profile.models, use), picked?.label ?? '');
  if (!offline) return { model, warnings: [] };
  const local = { value: localModels[use], from: 'default' };
  if (model === undefined) return { model: local, warnings: [] };
  if (/^(?:models\/)?(?:local|fault)-/.test(model.value)) return { model, warnings: [] };
  return { model: local, warnings: [`${local.value} answers offline instead of ${model.value} (${model.from})`] };
}

/** The deadline of the whole command in ms, 10 minutes by default. Throws usage. */
export function pickTimeout({ flags, env }: SettingsInput, picked: PickedProfile | undefined): Sourced<number> {
  const given =
    fromFlag('--timeout', flags.timeout) ??
    fromEnvironment(env, 'GATEWAY_TIMEOUT') ??
    sourced(picked?.profile.timeout?.toString(), picked?.label ?? '');
  return mapValue(given, (text, from) => parseDurationOf(from, text)) ?? { value: defaultTimeoutMs, from: 'default' };
}

/**
 * The most tokens to make. A profile's `maxTokens` and the default serve chat alone, whose wire requires one (spec.md 2.3);
 * elsewhere only a flag is sent.
 */
export function pickMaxTokens(
  { flags, use }: SettingsInput,
  picked: PickedProfile | undefined,
): Sourced<number> | undefined {
  const flag = fromFlag('--max-tokens', flags.maxTokens);
  if (flag !== undefined && !(Number.isSafeInteger(flag.value) && flag.value >= 1)) {
    throw usageError(`--max-tokens takes a whole number from 1, not '${flag.value}'`, 'for example: --max-tokens 1000');
  }
  if (flag !== undefined || use !== 'chat') return flag;
  return sourced(picked?.profile.maxTokens, picked?.label ?? '') ?? { value: defaultMaxTokens, from: 'default' };
}

const authUseOf: { [use in Use]: AuthUse } = { text: 'text', image: 'image', edit: 'image', chat: 'messages' };

/** The form of authentication: `--auth`, GATEWAY_AUTH, the profile's for this use, else auto. Throws usage. */
export function pickAuth({ flags, env, use }: SettingsInput, picked: PickedProfile | undefined): Sourced<AuthForm> {
  const given = fromFlag('--auth', flags.auth) ?? fromEnvironment(env, 'GATEWAY_AUTH');
  const form = mapValue(given, (text, from) => {
    const known = authForms.find((form) => form === text);
    if (known === undefined) throw usageError(`${from}: must be one of ${authForms.join(', ')}`);
    return known;
  });
  return (
    form ?? sourced(picked?.profile.auth?.[authUseOf[use]], picked?.label ?? '') ?? { value: 'auto', from: 'default' }
  );
}

/** The real names behind vendor-a and vendor-b, each from the strongest place that names it. Throws usage. */
export function pickHeaderNames(
  { flags, env }: SettingsInput,
  picked: PickedProfile | undefined,
): SettingsSurvey['headerNames'] {
  const places = [
    mapValue(fromFlag('--header-names', flags.headerNames), parseHeaderNames),
    mapValue(fromEnvironment(env, 'GATEWAY_HEADER_NAMES'), parseHeaderNames),
    sourced(picked?.profile.headerNames, picked?.label ?? ''),
  ].filter((place) => place !== undefined);
  const nameOf = (key: keyof HeaderNames): Sourced<string> | undefined => {
    const place = places.find(({ value }) => value[key] !== undefined);
    return sourced(place?.value[key]?.toLowerCase(), place?.from ?? '');
  };
  return { apiKey: nameOf('apiKey'), version: nameOf('version') };
}

/** Reads `<content-key>,<version>`; either side may be empty. */
function parseHeaderNames(text: string, from: string): HeaderNames {
  const [apiKey = '', version = '', ...more] = text.split(',').map((name) => name.trim());
  const given = [apiKey, version].filter((name) => name !== '');
  if (more.length > 0 || given.length === 0)
    throw usageError(
      `${from}: must be <content-key>,<version>`,
      'for example --header-names x-goog-api-key,anthropic-version',
    );
  for (const name of given) {
    const reason = invalidNameReason(name);
    if (reason !== undefined) throw usageError(`${from}: ${JSON.stringify(name.slice(0, 64))} ${reason}`);
  }
  return { ...(apiKey !== '' && { apiKey }), ...(version !== '' && { version }) };
}
