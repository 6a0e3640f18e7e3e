import { closest } from '../closest.ts';
import { quoteForeign, usageError } from '../errors.ts';
import { jsonNames, type JsonValues, plainNames, type PlainValues, requestFields } from '../formats/request-fields.ts';
import { isAspect } from '../images/aspect.ts';
import { isObject } from '../json.ts';
import type { ClientOptions } from './client-types.ts';

/** The values that an option takes, for callers without types. */
interface OptionRule {
  what: string;
  fits(value: unknown): boolean;
  example: string;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isThing = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array;

const text: OptionRule = { what: 'a text', fits: isText, example: "'hi'" };
const number: OptionRule = { what: 'a number', fits: (value) => typeof value === 'number', example: '7' };
const object: OptionRule = { what: 'an object', fits: isObject, example: "{ user_id: 'ci' }" };
const list: OptionRule = { what: 'a list', fits: Array.isArray, example: '[]' };
const hook: OptionRule = { what: 'a function', fits: (value) => typeof value === 'function', example: '() => {}' };

const fieldKinds: Readonly<Record<keyof PlainValues | keyof JsonValues, OptionRule>> = {
  text,
  word: text,
  size: text,
  imageType: text,
  effort: text,
  ratio: { what: 'width:height', fits: (value) => isText(value) && isAspect(value), example: '16:9' },
  number,
  whole: number,
  switch: { what: 'true or false', fits: (value) => typeof value === 'boolean', example: 'true' },
  texts: { what: 'a list of texts', fits: (value) => isListOf(value, isText), example: "['END']" },
  safety: {
    what: 'a list of { category, threshold }',
    fits: (value) => isListOf(value, isObject),
    example: "[{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_ONLY_HIGH' }]",
  },
  list: { what: 'a list of objects', fits: (value) => isListOf(value, isThing), example: "[{ name: 'f' }]" },
  object,
  pairs: object,
  body: object,
  schema: {
    what: 'a JSON Schema',
    fits: (value) => isObject(value) || typeof value === 'boolean',
    example: "{ type: 'object' }",
  },
  toolChoice: {
    what: 'a text or an object',
    fits: (value) => isText(value) || isObject(value),
    example: "'tool:get_weather'",
  },
};

const medium: OptionRule = {
  what: 'bytes, { path } or { data, mimeType }',
  fits: (value) => isBytes(value) || (isThing(value) && (isPath(value) || isData(value))),
  example: "{ path: 'photo.png' }",
};
const isPath = (value: object): boolean => 'path' in value && isText(value.path);
const isData = (value: object): boolean =>
  'data' in value && isBytes(value.data) && 'mimeType' in value && isText(value.mimeType);

const isMemory = (value: unknown): boolean =>
  isThing(value) && 'get' in value && hook.fits(value.get) && 'set' in value && hook.fits(value.set);

const baseUrl: OptionRule = {
  what: 'a URL',
  fits: (value) => isText(value) || (isThing(value) && 'href' in value && isText(value.href)),
  example: "'https://gateway.example.com'",
};

/** Checks of a client's options that are used without a check elsewhere. Other options are checked where they are read. */
const clientOptions: { [name in keyof ClientOptions]?: OptionRule } = {
  baseUrl,
  auth: {
    what: 'a form, or one for each operation',
    fits: (value) => isText(value) || isObject(value),
    example: "'bearer'",
  },
  headerNames: { ...object, example: "{ apiKey: 'x-api-key' }" },
  headers: {
    what: 'an object of texts',
    fits: (value) => isObject(value) && Object.values(value).every(isText),
    example: "{ 'x-team': 'docs' }",
  },
  env: { ...object, fits: isThing, example: "{ HTTPS_PROXY: 'http://127.0.0.1:3128' }" },
  proxy: { ...text, example: "'http://127.0.0.1:3128'" },
  fallback: { ...text, example: "'some-model'" },
  wrappers: { ...list, what: 'a list of functions', fits: (value) => isListOf(value, hook.fits) },
  memory: { what: 'an object with get and set', fits: isMemory, example: 'new Map()' },
  onEvent: hook,
};

/** The options of a client, without those that are null. Throws GatewayError usage for an option of the wrong type. */
export function checkClientOptions(typed: ClientOptions | undefined): ClientOptions {
  const options = withoutNull(typed ?? {}) as ClientOptions;
  for (const [name, wanted] of Object.entries(clientOptions))
    checkOption(name, options[name as keyof ClientOptions], wanted);
  return options;
}

/** The options of a call, without those that are null. Throws GatewayError usage if they are not an object. */
export function checkCallOptions<Options extends object>(typed: Options | undefined): Options {
  if (typed !== undefined && !isObject(typed))
    throw usageError(
      `the options of a call are an object, not ${showValue(typed)}`,
      'for example: generate(request, { timeoutMs: 60000 })',
    );
  return withoutNull(typed ?? {}) as Options;
}

const fieldNames: readonly string[] = ['model', 'turns', 'media', 'mask', ...plainNames, ...jsonNames];

/** The fields of a request, without those that are null. Throws GatewayError usage for a name or a value that does not fit. */
export function checkFields(typed: object): Record<string, unknown> {
  const request = withoutNull(typed);
  requireFieldNames(request);
  for (const name of [...plainNames, ...jsonNames])
    checkOption(name, request[name], fieldKinds[requestFields[name].kind]);
  for (const name of [...jsonNames, 'turns']) requireTree(name, request[name]);
  const { media, mask } = request;
  checkOption('media', media, { ...list, example: "[{ path: 'photo.png' }]" });
  for (const [at, one] of ((media ?? []) as unknown[]).entries()) checkOption(`media[${at}]`, one ?? null, medium);
  checkOption('mask', mask, medium);
  return request;
}

/** Throws GatewayError usage for a field that nothing reads: a request without it would be paid for. */
function requireFieldNames(request: Readonly<Record<string, unknown>>): void {
  const name = Object.keys(request).find((each) => request[each] !== undefined && !fieldNames.includes(each));
  if (name === undefined) return;
  const near = closest(name, fieldNames);
  const shown = quoteForeign(name, 60);
  throw usageError(
    `a request has no field ${shown}`,
    near === undefined
      ? `a field of the wire format goes into the body: { body: { ${shown}: … } }`
      : `did you mean ${near}?`,
  );
}

function checkOption(name: string, value: unknown, { what, fits, example }: OptionRule): void {
  if (value !== undefined && !fits(value))
    throw usageError(`${name} takes ${what}, not ${showValue(value)}`, `for example: ${example}`);
}

const mostLevels = 1000;

/** Throws GatewayError usage for a value that contains itself, or is nested too deep to be walked. `above` are the values around it. */
function requireTree(name: string, value: unknown, above: Set<unknown> = new Set()): void {
  if (!isThing(value) || isBytes(value)) return;
  if (above.has(value)) throw usageError(`${name} holds itself: JSON cannot say that`, 'give it without the circle');
  if (above.size === mostLevels) throw usageError(`${name} is nested deeper than ${mostLevels} levels`);
  above.add(value);
  for (const item of Object.values(value)) requireTree(name, item, above);
  above.delete(value);
}

function isListOf(value: unknown, fits: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}

/** Removes options that are null: JavaScript callers use null for an option that is left out. */
function withoutNull(options: object): Record<string, unknown> {
  if (!Object.values(options).includes(null)) return options as Record<string, unknown>;
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null));
}

function showValue(value: unknown): string {
  if (isText(value)) return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (isThing(value)) return Array.isArray(value) ? 'a list' : 'an object';
  return quoteForeign(String(value), 60);
}
