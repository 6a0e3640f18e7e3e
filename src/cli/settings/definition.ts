import * as v from 'valibot';
import { type Amounts, closest, getErrorMessage, isObject, longestTimerMs, type Price } from '../../library/index.ts';
import { budgetForm, durationForm, parseDuration } from './values.ts';
import { invalidNameReason, invalidValueReason, refusedHeaderNames } from './headers.ts';
import type { ConfigValue, Profile } from './types.ts';
import { profileNameForm, profileNameRule } from './profile-name.ts';
import { type Kind, type SettingDefinition, settings } from './table.ts';

/*
 * The definition of the config file: the keys of `table.ts`, each kind of value with its schema. `parseConfig` checks files by
 * it, and the build makes config.schema.json of it. A rule that JSON Schema can express is a regular expression or a bound; a
 * `check` is used only for other rules. Messages never quote a value, which may be a key.
 */

/** The message for a value of another type. */
const not = (wanted: string) => (issue: { input: unknown }) => {
  const { input } = issue;
  const type = Array.isArray(input) ? 'a list' : typeof input === 'object' ? 'an object' : `a ${typeof input}`;
  return `must be ${wanted}, not ${input === null ? 'null' : type}`;
};

/** valibot takes a list for an object, and does not check these names. */
const reservedNames = ['__proto__', 'constructor', 'prototype'];
const plainObject = v.pipe(
  v.custom<object>(isObject, not('an object')),
  v.check(
    (object) => reservedNames.every((name) => !Object.hasOwn(object, name)),
    `cannot hold the names ${reservedNames.join(', ')}`,
  ),
);

/** An object with these keys and no others. */
function closedObject<T extends v.ObjectEntries>(entries: T) {
  const known = Object.keys(entries);
  return v.pipe(
    plainObject,
    v.strictObject(entries, ({ input }) => {
      const near = closest(String(input), known);
      return near === undefined ? `is unknown; known are ${known.join(', ')}` : `is unknown; did you mean ${near}?`;
    }),
  );
}

/** An object with these keys, and with values of a kind under other names that are not like them. */
function openObject<T extends v.ObjectEntries>(entries: T, rest: v.GenericSchema) {
  const known = Object.keys(entries);
  return v.pipe(
    plainObject,
    v.objectWithRest(entries, rest),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const input = dataset.value;
      for (const key of Object.keys(input).filter((name) => !known.includes(name))) {
        const near = closest(key, known);
        const path = [{ type: 'object', origin: 'value', input, key, value: undefined }] as const;
        if (near !== undefined) addIssue({ message: `is unknown; did you mean ${near}?`, path: [...path] });
      }
    }),
  );
}

/** An optional key. `about` goes into the JSON Schema. */
function optional<T extends v.GenericSchema>(
  schema: T,
  about: { description?: string; examples?: readonly unknown[] } = {},
) {
  return v.exactOptional(v.pipe(schema, v.metadata(about as { description?: string; examples?: unknown[] })));
}

const string = v.string(not('a string'));
const text = v.pipe(string, v.regex(/\S/, 'must not be empty'));

const urlReason = 'must be a URL that begins with https:// or http://';
const url = v.pipe(
  string,
  v.regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\//, urlReason),
  v.check((value) => URL.canParse(value), urlReason),
);

const proxy = v.pipe(
  string,
  v.regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^@]*$/, ({ input }) =>
    input.includes('@') ? 'cannot hold a user name or a password: put that URL into HTTPS_PROXY' : urlReason,
  ),
  v.check((value) => URL.canParse(value), urlReason),
);

/** Characters that only a shell would interpret are refused. */
const command = v.union(
  [
    v.pipe(
      string,
      v.regex(/^(?=.*\S)[^"'`$|&;<>(){}*?\n\r]*$/, ({ input }) =>
        input.trim() === '' ? 'must not be empty' : 'is run without a shell: write a list, ["program", "argument"]',
      ),
    ),
    v.tupleWithRest([text], v.string('must be a string')),
  ],
  'must be a list of strings, ["program", "argument"]',
);

const anyCase = (name: string) => name.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
const refused = [...reservedNames, ...[...refusedHeaderNames].map(anyCase)].join('|');
const headerName = v.pipe(
  string,
  v.regex(
    new RegExp(`^(?!(?:${refused})$)[!#$%&'*+.^_\`|~A-Za-z0-9-]{1,200}$`),
    ({ input }) => invalidNameReason(input) ?? 'is not a header name',
  ),
);

const headerValue = v.pipe(
  string,
  v.regex(/^[\t ]*[!-~][\t -~]*$/, ({ input }) => invalidValueReason(input) ?? 'must not be empty'),
);

const countReason = 'must be a whole number from 1 on';
const count = v.pipe(v.number(countReason), v.safeInteger(countReason), v.minValue(1, countReason));

/** The reason that a value is not a duration; empty if it is one. */
function durationReason({ input }: { input: number | string }): string {
  try {
    parseDuration(String(input), 'it');
    return '';
  } catch (error) {
    return getErrorMessage(error).replace('it ', '');
  }
}

const duration = v.pipe(
  v.union(
    [
      v.pipe(v.number(), v.gtValue(0, durationReason), v.maxValue(longestTimerMs / 1000, durationReason)),
      v.pipe(v.string(), v.regex(durationForm, durationReason)),
    ],
    'must be seconds, or a duration such as "90s"',
  ),
  v.check((input) => durationReason({ input }) === '', durationReason),
);

const amountOr = (reason: string) =>
  v.union(
    [
      v.pipe(v.string(reason), v.regex(/^\d{1,12}(?:\.\d{1,12})?$/, reason)),
      v.pipe(
        v.number(reason),
        v.minValue(0, reason),
        v.maxValue(999_999_999_999, reason),
        v.check((value) => value === 0 || value >= 1e-12, reason),
      ),
    ],
    reason,
  );
const amount = amountOr('must be an amount from 0, such as "0.30"');
const currency = v.pipe(string, v.regex(/^[A-Z]{3}$/, 'must be a code of three capital letters, such as USD'));

const amountEntries = {
  input: optional(amount, { description: 'Input, for a million tokens.', examples: ['0.30'] }),
  output: optional(amount, { description: 'Output, for a million tokens.', examples: ['2.50'] }),
  cached: optional(amount, { description: 'Input that was read from a cache, for a million tokens (as input).' }),
  cacheWrite: optional(amount, { description: 'Input that was written to a cache, for a million tokens (as input).' }),
  cacheWriteLong: optional(amount, {
    description: 'Input that was written to a cache for an hour or longer, for a million tokens.',
  }),
  thinking: optional(amount, { description: 'Thinking, for a million tokens (as output).' }),
  imageInput: optional(amount, { description: 'Pictures in the request, for a million tokens.' }),
  audioInput: optional(amount, { description: 'Sound in the request, for a million tokens.' }),
  cachedImage: optional(amount, { description: 'Pictures that were read from a cache (as imageInput).' }),
  cachedAudio: optional(amount, { description: 'Sound that was read from a cache (as audioInput).' }),
  imageOutput: optional(amount, { description: 'Pictures in the answer, for a million tokens.' }),
  audioOutput: optional(amount, { description: 'Sound in the answer, for a million tokens.' }),
  image: optional(amount, { description: 'One image of the answer, where its tokens have no price of their own.' }),
  search: optional(amount, { description: 'One search that the service makes.' }),
} satisfies Record<keyof Amounts, v.GenericSchema>;

const tierReason = 'must be a factor such as "0.5", or amounts such as {"input": "0.15", "output": "1.25"}';
const ofTier = v.union([amountOr(tierReason), closedObject(amountEntries)], tierReason);

const dayReason = 'must be a date such as "2026-12-01"';
const day = v.pipe(
  v.string(dayReason),
  v.regex(/^\d{4}-\d{2}-\d{2}$/, dayReason),
  v.check((value) => !Number.isNaN(Date.parse(value)), dayReason),
);

const aboveReason = 'must be a number of tokens from 1 on, such as 200000';
const step = closedObject({
  above: v.pipe(v.number(aboveReason), v.safeInteger(aboveReason), v.minValue(1, aboveReason)),
  ...amountEntries,
});

const priceEntries = {
  ...amountEntries,
  tiers: optional(v.array(step, not('a list')), {
    description: 'Amounts in place of the others for a whole request whose prompt has more tokens than above says.',
    examples: [[{ above: 200_000, input: '4', output: '18' }]],
  }),
  batch: optional(ofTier, { description: 'The service tier batch: a factor, or its own amounts.', examples: ['0.5'] }),
  flex: optional(ofTier, { description: 'The service tier flex: a factor, or its own amounts.', examples: ['0.5'] }),
  priority: optional(ofTier, { description: 'The service tier priority: a factor, or its own amounts.' }),
  fast: optional(amount, { description: 'The factor of fast mode, of Anthropic.', examples: ['2'] }),
  us: optional(amount, {
    description: 'The factor of answers made in the United States, of Anthropic.',
    examples: ['1.1'],
  }),
  currency: optional(currency, { description: 'The currency of the amounts (USD).', examples: ['USD', 'EUR'] }),
  from: optional(day, { description: 'The first day on which the price counts, in UTC.', examples: ['2026-12-01'] }),
  until: optional(day, { description: 'The last day on which the price counts, in UTC.', examples: ['2026-11-30'] }),
} satisfies Record<keyof Price, v.GenericSchema>;

const price = closedObject(priceEntries);

const modelPattern = v.pipe(
  v.string(),
  v.regex(/^\S{1,200}$/, 'cannot name a model: use its name, or a pattern with *, without blanks'),
);

/** Prices of models, by name or by a pattern in which `*` matches any characters. A list has prices of several times. */
export const pricesDefinition = v.pipe(
  plainObject,
  v.record(
    modelPattern,
    v.union([price, v.array(price)], 'must be an object, or a list of objects with from and until'),
  ),
);

const budgetReason = 'must be <name|path>:<amount>, with /day or /month if it has a period, such as team:20/month';
const budget = v.pipe(v.string(budgetReason), v.regex(budgetForm, budgetReason));

const schemas: { [kind in Exclude<Kind, 'choice'>]: v.GenericSchema<unknown, ConfigValue<{ kind: kind }>> } = {
  budget,
  command,
  count,
  duration,
  headerName,
  headers: v.pipe(plainObject, v.record(headerName, headerValue)),
  path: text,
  prices: pricesDefinition,
  proxy,
  switch: v.boolean(not('true or false')),
  text,
  url,
};

/** The entry of a row with a key. */
function toConfigEntry({
  kind,
  values = [],
  description,
  fields,
  takesNames,
  examples,
}: SettingDefinition): v.ObjectEntries[string] {
  const schema = kind === 'choice' ? v.picklist(values, `must be one of ${values.join(', ')}`) : schemas[kind];
  const about = { ...(description !== undefined && { description }), ...(examples && { examples }) };
  if (fields === undefined) return optional(schema, about);
  const members = Object.entries(fields).map(([name, field]) => [
    name,
    optional(schema, field.examples && { examples: field.examples }),
  ]);
  const entries = Object.fromEntries(members) as v.ObjectEntries;
  return optional(takesNames ? openObject(entries, schema) : closedObject(entries), about);
}

const entries = Object.fromEntries(
  Object.values<SettingDefinition>(settings).flatMap((row) =>
    row.key === undefined ? [] : [[row.key, toConfigEntry(row)]],
  ),
) as { [key in keyof Profile]-?: v.ObjectEntries[string] };
const { service, baseUrl, apiKey, apiKeyFile, apiKeyCommand, models, prices, ...others } = entries;

/** The keys that hold the API key, or its place; a profile has at most one of them. */
export const keyForms = ['apiKey', 'apiKeyFile', 'apiKeyCommand'] as const;

const profile = v.pipe(
  // The order of the JSON Schema.
  closedObject({ service, baseUrl, apiKey, apiKeyFile, apiKeyCommand, models, prices, ...others }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const input = dataset.value;
    const [first, second] = keyForms.filter((form) => input[form] !== undefined);
    if (second === undefined) return;
    const path = [{ type: 'object', origin: 'value', input, key: second, value: undefined }] as const;
    addIssue({ message: `cannot be combined with ${first}: keep one`, path: [...path] });
  }),
  v.metadata({
    allOf: keyForms.flatMap((one, at) => keyForms.slice(at + 1).map((other) => ({ not: { required: [one, other] } }))),
  }),
);

const profileName = v.pipe(v.string(), v.regex(profileNameForm, `cannot name a profile: ${profileNameRule}`));

const profileInUse = v.union(
  [text, closedObject({ text: optional(text), image: optional(text), edit: optional(text), chat: optional(text) })],
  'must be the name of a profile, or a map such as {"text": "gemini", "chat": "claude"}',
);

/** The config file: `{"profile": "<name>", "profiles": {"<name>": {…}}}`. */
export const configDefinition = v.pipe(
  closedObject({
    $schema: optional(text),
    profile: optional(profileInUse, {
      description:
        'The profile in use where neither --profile nor GATEWAY_PROFILE names one: a name, or a map with one for each use. Edits take that of images where they have none of their own.',
      examples: ['work', { text: 'gemini', image: 'gemini', chat: 'claude' }],
    }),
    profiles: optional(v.pipe(plainObject, v.record(profileName, profile))),
    prices,
  }),
  v.title('Settings of gateway-cli'),
);
