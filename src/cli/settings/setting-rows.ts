import { formatDuration } from './values.ts';
import { type FormatName, formatNames, type Prices, type Use, useNames } from '../../library/index.ts';
import { mask } from './redact.ts';
import { type SettingDefinition, type SettingName, settingNames, settings } from './table.ts';
import type { Origin, PartialSettings, SourcedValue } from './types.ts';

/** One setting in the form in which it is shown; a key is shown by its source only. */
export interface SettingRow {
  key: string;
  /** The uses that have this value; absent if it is the same for every use. */
  uses?: readonly Use[];
  value: ShownValue;
  /** `flag --model`, `environment GATEWAY_MODEL`, `profile work (<path>)` or `default`. */
  from: string;
}

type ShownValue = string | number | boolean | Prices[string];

/** `baseUrl`, or `baseUrl of text, image` if other uses have another. */
export function rowName({ key, uses }: SettingRow): string {
  return uses === undefined ? key : `${key} of ${uses.join(', ')}`;
}

/** Every setting that has a value for a use, with its origin. */
export function settingRows(byUse: Readonly<Record<Use, PartialSettings>>): SettingRow[] {
  const all = Object.values(byUse);
  return settingNames.flatMap((name) => {
    const row: SettingDefinition = settings[name];
    const fields: Readonly<Record<string, Pick<SettingDefinition, 'uses' | 'formats'>>> = row.fields ?? { '': row };
    const rows = Object.entries(fields).flatMap(([field, { uses = useNames, formats = formatNames }]) => {
      // Forms of authentication and names of headers belong to the format of each use.
      const isOfFormat = (format: FormatName): boolean => row.fields === undefined || formats.includes(format);
      const partials = all.filter(({ use, format }) => uses.includes(use) && isOfFormat(format));
      return merged(partials, (partial) => showSetting(name, field, partial));
    });
    return name === 'model' ? [...rows, ...merged(all, listAliasRows)] : rows;
  });
}

/** The rows of a profile's own names for models. */
function listAliasRows({ aliases, profile }: PartialSettings): ShownSetting[] {
  const origin: Origin = { kind: 'profile', from: `profile ${profile}` };
  return Object.entries(aliases).map(([name, value]) => ({ key: `models.${name}`, value, origin }));
}

/** A value under its key in the list. */
type ShownSetting = SourcedValue<ShownValue> & { key: string };

function isChosen({ kind }: Origin): boolean {
  return kind !== 'default' && kind !== 'service';
}

/** The rows of several uses; equal ones become one. */
function merged(
  partials: readonly PartialSettings[],
  show: (partial: PartialSettings) => ShownSetting[],
): SettingRow[] {
  const rows: (SettingRow & { uses: Use[] })[] = [];
  for (const partial of partials) {
    for (const { key, value, origin } of show(partial)) {
      const { from } = origin;
      const same = rows.find((row) => row.key === key && row.value === value && row.from === from);
      if (same) same.uses.push(partial.use);
      else rows.push({ key, uses: [partial.use], value, from });
    }
  }
  return rows.map(({ uses, ...row }) => (uses.length === partials.length ? row : { ...row, uses }));
}

/** The values of a setting, or of a field of it, for one use. */
function showSetting(name: SettingName, field: string, partial: PartialSettings): ShownSetting[] {
  const { key = name, kind, shown, formats }: SettingDefinition = settings[name];
  const { key: keySource, origins } = partial;
  switch (name) {
    case 'apiKey':
      return keySource.kind === 'value' ? [{ ...keySource, key, value: mask }] : [];
    case 'apiKeyFile':
      return keySource.kind === 'file' ? [{ ...keySource, key, value: keySource.path }] : [];
    case 'apiKeyCommand':
      // Only the name of the program is shown: its arguments may hold a secret.
      return keySource.kind === 'command' ? [{ ...keySource, key, value: `${keySource.argv[0] ?? ''} …` }] : [];
    case 'headers':
      return partial.headers.map((header) => ({
        origin: origins.headers[header.name] as Origin,
        key: `${key}.${header.name}`,
        value: String(header.value),
      }));
    case 'prices':
      return Object.entries(partial.prices).map(([model, value]) => ({
        origin: origins.prices[model] as Origin,
        key: `${key}.${model}`,
        value,
      }));
  }
  const headerName = field as keyof PartialSettings['headerNames'];
  const value = name === 'headerNames' ? partial.headerNames[headerName] : partial[name];
  const origin = name === 'headerNames' ? origins.headerNames[headerName] : origins[name];
  if (value === undefined || origin === undefined || shown === 'never') return [];
  if ((shown === 'if on' && value === false) || (shown === 'if set' && !isChosen(origin))) return [];
  const from = formats && !isChosen(origin) ? `${origin.from} of the ${formats.join(' and ')} format` : origin.from;
  const shownKey = field === '' ? key : `${key}.${field}`;
  return [{ key: shownKey, value: shownValue(kind, value), origin: { ...origin, from } }];
}

function shownValue(kind: SettingDefinition['kind'], value: string | number | boolean): string | number | boolean {
  if (kind === 'duration') return formatDuration(Number(value));
  return kind === 'url' ? withoutSecrets(String(value)) : value;
}

/** A URL with a password or a query is refused when it is used; here it is shown without them. */
function withoutSecrets(text: string): string {
  const url = new URL(text);
  const user = url.username === '' && url.password === '' ? '' : `${mask}@`;
  const query = url.search === '' ? '' : `?${mask}`;
  return user === '' && query === '' ? text : `${url.protocol}//${user}${url.host}${url.pathname}${query}`;
}
