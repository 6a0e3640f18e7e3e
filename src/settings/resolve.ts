import { usageError } from '../errors.ts';
import type { GatewayError } from '../errors.ts';
import { formatDuration } from './duration.ts';
import { ownsOrigin, pickKey } from './key-source.ts';
import { pickProfile } from './pick-profile.ts';
import { pickAuth, pickHeaderNames, pickHeaders } from './pick-headers.ts';
import { modelVariables, pickBaseUrl, pickMaxTokens, pickModel, pickOffline, pickTimeout } from './pick-values.ts';
import type { Settings, SettingsInput, SettingsSurvey } from './settings.ts';
import { fromSwitch, fromToggle, sourced } from './sources.ts';
import type { Sourced, Use } from './types.ts';

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
