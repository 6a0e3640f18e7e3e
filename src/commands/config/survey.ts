import { formatDuration } from '../../settings/duration.ts';
import { surveySettings } from '../../settings/resolve.ts';
import { mask, Secret } from '../../settings/secret.ts';
import type { SettingsFlags, SettingsSurvey } from '../../settings/settings.ts';
import { type KeySource, type LoadedConfig, type Sourced, type Use, useNames } from '../../settings/types.ts';

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

/** Every setting that has a value, with its origin. Throws GatewayError usage for values that are wrong. */
export function settingRows(place: SurveyPlace): SettingRow[] {
  const surveys = useNames.map((use) => surveySettings({ ...place, use }));
  const [text, image, edit, chat] = surveys as [SettingsSurvey, SettingsSurvey, SettingsSurvey, SettingsSurvey];
  const of = { text, image, edit, chat };
  return [
    merged(surveys, gatewayRows),
    useNames.flatMap((use) => row(`models.${use}`, of[use].model)),
    Object.entries(authUses).flatMap(([name, use]) => row(`auth.${name}`, of[use].auth)),
    merged([text, image, edit], ({ headerNames }) => row('headerNames.apiKey', headerNames.apiKey)),
    row('headerNames.version', chat.headerNames.version),
    merged(surveys, headerRows),
    row('maxTokens', chat.maxTokens),
    merged(surveys, priceRows),
    merged(surveys, ({ timeoutMs, allowHttp, proxy, systemCa, preview, markdown }) => [
      ...row('timeout', { value: formatDuration(timeoutMs.value), from: timeoutMs.from }),
      ...row('allowHttp', allowHttp),
      ...row('proxy', proxy),
      ...row('systemCa', systemCa.value ? systemCa : undefined),
      ...row('preview', preview),
      ...row('markdown', markdown),
    ]),
  ].flat();
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
  return headers.flatMap(({ value: { name, value }, from }) =>
    row(`headers.${name}`, { value: value instanceof Secret ? String(value) : value, from }),
  );
}

function priceRows({ prices }: SettingsSurvey): SettingRow[] {
  return Object.entries(prices).flatMap(([model, { value, from }]) =>
    Object.entries(value).flatMap(([field, amount]) => row(`prices.${model}.${field}`, { value: amount, from })),
  );
}

/** `baseUrl`, or `baseUrl of text, image` where others have another. */
export function rowName({ key, uses }: SettingRow): string {
  return uses === undefined ? key : `${key} of ${uses.join(', ')}`;
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
