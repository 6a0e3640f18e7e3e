import { formatDuration } from '../../settings/duration.ts';
import { surveySettings } from '../../settings/resolve.ts';
import { mask, Secret } from '../../settings/secret.ts';
import type { SettingsFlags, SettingsSurvey } from '../../settings/settings.ts';
import type { KeySource, LoadedConfig, Sourced, Use } from '../../settings/types.ts';

/** One setting as it may be shown: a key never is, only where it comes from. */
export interface SettingRow {
  key: string;
  value: string | number | boolean;
  /** `flag --model`, `environment GATEWAY_MODEL`, `profile work (<path>)` or `default`. */
  from: string;
}

/** Where the settings are looked for. */
export interface SurveyPlace {
  flags: SettingsFlags;
  env: Readonly<Record<string, string | undefined>>;
  config: LoadedConfig;
}

const uses: readonly Use[] = ['text', 'image', 'edit', 'chat'];
const authUses = { text: 'text', image: 'image', messages: 'chat' } as const;

/** Every setting that has a value, with its origin. Throws GatewayError usage for values that are wrong. */
export function settingRows(place: SurveyPlace): SettingRow[] {
  const of = new Map(uses.map((use) => [use, surveySettings({ ...place, use })]));
  const survey = of.get('chat') as SettingsSurvey;
  const authOf = (use: Use): Sourced<string> | undefined => of.get(use)?.auth;
  return [
    row('profile', survey.profile),
    row('offline', survey.offline.value ? survey.offline : undefined),
    row('service', survey.service),
    row('baseUrl', survey.baseUrl && { ...survey.baseUrl, value: shownUrl(survey.baseUrl.value) }),
    keyRow(survey.key),
    ...uses.map((use) => row(`models.${use}`, of.get(use)?.model)),
    ...Object.entries(authUses).map(([name, use]) => row(`auth.${name}`, authOf(use))),
    row('headerNames.apiKey', survey.headerNames.apiKey),
    row('headerNames.version', survey.headerNames.version),
    ...survey.headers.map(({ value: { name, value }, from }) =>
      row(`headers.${name}`, { value: value instanceof Secret ? String(value) : value, from }),
    ),
    row('maxTokens', survey.maxTokens),
    row('timeout', { value: formatDuration(survey.timeoutMs.value), from: survey.timeoutMs.from }),
    row('allowHttp', survey.allowHttp),
    row('proxy', survey.proxy),
    row('systemCa', survey.systemCa.value ? survey.systemCa : undefined),
    row('preview', survey.preview),
    row('markdown', survey.markdown),
  ].flat();
}

function row(key: string, source: Sourced<string | number | boolean> | undefined): SettingRow[] {
  return source === undefined ? [] : [{ key, value: source.value, from: source.from }];
}

/** A URL that holds a password or a query is refused when it is used; here it is shown without them. */
function shownUrl(text: string): string {
  const url = new URL(text);
  const user = url.username === '' && url.password === '' ? '' : `${mask}@`;
  const query = url.search === '' ? '' : `?${mask}`;
  return user === '' && query === '' ? text : `${url.protocol}//${user}${url.host}${url.pathname}${query}`;
}

/** The source by its kind; of a command only the program's name, for its words may hold a secret. */
function keyRow(source: KeySource): SettingRow[] {
  switch (source.kind) {
    case 'missing':
      return [];
    case 'value':
      return [{ key: 'apiKey', value: mask, from: source.from }];
    case 'file':
      return [{ key: 'apiKeyFile', value: source.path, from: source.from }];
    case 'command':
      return [{ key: 'apiKeyCommand', value: `${source.argv[0] ?? ''} …`, from: source.from }];
  }
}
