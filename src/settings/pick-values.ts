import { usageError } from '../errors.ts';
import { parseDurationOf } from './duration.ts';
import type { PickedProfile } from './pick-profile.ts';
import type { SettingsFlags, SettingsInput } from './settings.ts';
import { fromEnvironment, fromFlag, fromSwitch, fromToggle, mapValue, sourced } from './sources.ts';
import type { Environment } from './sources.ts';
import type { Profile, Sourced, Use } from './types.ts';

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
