import { formatDuration } from './duration.ts';
import { services } from '../services.ts';
import { surveyUses } from './resolve.ts';
import { mask, Secret } from './secret.ts';
import type { SettingsFlags, SettingsSurvey, KeySource, Sourced, Use } from './types.ts';
import type { LoadedConfig } from './config-types.ts';

/** One setting as it may be shown: a key never is, only where it comes from. */
export interface SettingRow {
  key: string;
  /** Absent: it is the same for every use that looks at it. */
  uses?: readonly Use[];
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

const authUses = { text: 'text', image: 'image', messages: 'chat' } as const;

/**
 * Every setting that has a value, with its origin; of `used` ones, those are left out that nobody set and that the service
 * does not look at. Throws GatewayError usage for values that are wrong.
 */
export function settingRows(place: SurveyPlace, which: 'all' | 'used' = 'all'): SettingRow[] {
  const of = surveyUses(place);
  const { text, image, edit, chat } = of;
  const surveys = Object.values(of);
  const ofUse = (key: string, survey: SettingsSurvey, source: Setting): SettingRow[] =>
    which === 'used' && isIdle(survey, source) ? [] : row(key, source);
  return [
    merged(surveys, gatewayRows),
    surveys.flatMap(({ use, model }) => row(`models.${use}`, model)),
    Object.entries(authUses).flatMap(([name, use]) => ofUse(`auth.${name}`, of[use], of[use].auth)),
    merged([text, image, edit], (survey) => ofUse('headerNames.apiKey', survey, survey.headerNames.apiKey)),
    ofUse('headerNames.version', chat, chat.headerNames.version),
    merged(surveys, headerRows),
    ofUse('maxTokens', chat, chat.maxTokens),
    merged(surveys, priceRows),
    merged(surveys, ({ timeoutMs, allowHttp, proxy, systemCa, preview, markdown }) => [
      ...row('timeout', { ...timeoutMs, value: formatDuration(timeoutMs.value) }),
      ...row('allowHttp', allowHttp),
      ...row('proxy', proxy),
      ...row('systemCa', systemCa.value ? systemCa : undefined),
      ...row('preview', preview),
      ...row('markdown', markdown),
    ]),
  ].flat();
}

type Setting = Sourced<string | number | boolean> | undefined;

/** Nobody set it, and the service does not have the commands that look at it. */
function isIdle({ service, use }: SettingsSurvey, setting: Setting): boolean {
  const isSet = setting !== undefined && setting.origin.kind !== 'default' && setting.origin.kind !== 'service';
  return !isSet && !services[service.value].uses.includes(use);
}

/** The rows of several uses; those that all of them have alike stand once. */
function merged(surveys: readonly SettingsSurvey[], rowsOf: (survey: SettingsSurvey) => SettingRow[]): SettingRow[] {
  const rows: (SettingRow & { uses: Use[] })[] = [];
  for (const survey of surveys) {
    for (const { key, value, from } of rowsOf(survey)) {
      const same = rows.find((one) => one.key === key && one.value === value && one.from === from);
      if (same) same.uses.push(survey.use);
      else rows.push({ key, uses: [survey.use], value, from });
    }
  }
  return rows.map(({ uses, ...row }) => (uses.length === surveys.length ? row : { ...row, uses }));
}

/** Who is asked. */
function gatewayRows({ profile, offline, service, baseUrl, key }: SettingsSurvey): SettingRow[] {
  return [
    ...row('profile', profile),
    ...row('offline', offline.value ? offline : undefined),
    ...row('service', service),
    ...row('baseUrl', baseUrl && { ...baseUrl, value: shownUrl(baseUrl.value) }),
    ...keyRow(key),
  ];
}

function headerRows({ headers }: SettingsSurvey): SettingRow[] {
  return headers.flatMap(({ value: { name, value }, ...place }) =>
    row(`headers.${name}`, { ...place, value: value instanceof Secret ? String(value) : value }),
  );
}

function priceRows({ prices }: SettingsSurvey): SettingRow[] {
  return Object.entries(prices).flatMap(([model, { value, ...place }]) =>
    Object.entries(value).flatMap(([field, amount]) => row(`prices.${model}.${field}`, { ...place, value: amount })),
  );
}

/** `baseUrl`, or `baseUrl of text, image` where others have another. */
export function rowName({ key, uses }: SettingRow): string {
  return uses === undefined ? key : `${key} of ${uses.join(', ')}`;
}

function row(key: string, source: Setting): SettingRow[] {
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
