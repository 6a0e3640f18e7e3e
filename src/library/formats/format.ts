import type { AuthUse, FormatName, Quirks } from './types.ts';
import { usageError } from '../errors.ts';
import { type ServiceName, services, type Use } from '../vendors/services.ts';
import { refusedImages } from '../vendors/image-types.ts';
import { shellWord } from '../shell-word.ts';
import { type PlainRequest, type EncodedRequest, getTurnBlocks, type Media, type Turn } from './plain-request.ts';
import { base64Length, type Body, type BodyValue, getBodyObject, unlessEmpty } from '../body.ts';
import { encodedEffortFields } from '../vendors/effort.ts';
import { chooseEffort } from './effort.ts';
import { type ErrorBody, messageIn, readError } from './error-body.ts';
import type { Decoder, Unfinished } from './events.ts';
import { lackedFields } from './request-fields.ts';
import { isOpenAiFormat } from './openai-format.ts';
import { field, isObject, type JsonObject } from '../json.ts';
import { maxOf } from '../long-lists.ts';

/** The form that `auto` means, and the header of the form `api-key`; absent: the setting names it. */
export const keyFacts: Readonly<Record<AuthUse, { form: 'api-key' | 'bearer'; header?: string }>> = {
  text: { form: 'api-key' },
  image: { form: 'bearer' },
  messages: { form: 'api-key', header: 'x-api-key' },
  completions: { form: 'bearer' },
  responses: { form: 'bearer' },
};

/** A value for each row. */
export function byAuthUse<T>(valueOf: (use: AuthUse) => T): Record<AuthUse, T> {
  const uses = Object.keys(keyFacts) as AuthUse[];
  return Object.fromEntries(uses.map((use) => [use, valueOf(use)])) as Record<AuthUse, T>;
}

/** The row of a request. */
export function chooseAuthUse(format: FormatName, use: Use): AuthUse {
  if (format !== 'content') return format;
  return use === 'image' || use === 'edit' ? 'image' : 'text';
}

/** The format of a row. */
export function getAuthUseFormat(use: AuthUse): FormatName {
  return use === 'text' || use === 'image' ? 'content' : use;
}

/** Facts of a format that are known before any of its code is loaded. */
export interface FormatFacts {
  /** Loads the format. A command loads only the format that it uses. */
  load: () => Promise<Format>;
  /** The title in messages: `the messages format`. */
  title: string;
  /** The pattern of the paths of its requests. */
  path: RegExp;
  /** The field of the service tier; absent if no cheaper one can be asked for. */
  tierField?: 'serviceTier' | 'service_tier';
  /** The field of earlier turns. */
  turnsField: string;
  /** Fields of a body that `--set` must not change: the model, and whether the reply is streamed. */
  reserved: readonly string[];
  /** Fields of a body that only limit, route or label a request: they do not change what a batch asks. `a.b` is the field b of a. */
  unkeyed: readonly string[];
  /** Files of any type are bytes in the format; otherwise text is sent as text. */
  takesTextFiles: boolean;
  /**
   * Models of this format make images without a tool, and the images of an answer go back in later turns to the service that drew
   * them.
   */
  returnsPictures?: true;
  /** Types of files that its services refuse. */
  refuses: RegExp;
  billing: {
    /** Whether the output tokens include the tokens of thinking, and the input tokens those of the cache. */
    outputHasThinking: boolean;
    inputHasCached: boolean;
    /** Pictures in the request cost what its text costs: https://ai.google.dev/gemini-api/docs/pricing, "text / image / video". */
    picturesAreText: boolean;
  };
}

const openAiUnkeyed = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'stream',
  'stream_options',
  'service_tier',
  'store',
  'metadata',
  'user',
];

export const formatFacts: Readonly<Record<FormatName, FormatFacts>> = {
  content: {
    load: async () => (await import('./content/format.ts')).content,
    title: 'the content format',
    path: /\/models\/[^/]+:(?:streamG|g)enerateContent/,
    tierField: 'serviceTier',
    turnsField: 'contents',
    reserved: ['model', 'stream'],
    unkeyed: ['generationConfig.maxOutputTokens', 'serviceTier', 'store', 'labels'],
    takesTextFiles: true,
    returnsPictures: true,
    refuses: /^application\/(?:zip$|gzip$|msword$|vnd\.(?:ms-|openxmlformats|oasis))/,
    billing: { outputHasThinking: false, inputHasCached: true, picturesAreText: true },
  },
  messages: {
    load: async () => (await import('./messages/format.ts')).messages,
    title: 'the messages format',
    path: /^\/v1\/messages(?:\?|$)/,
    turnsField: 'messages',
    reserved: ['stream'],
    unkeyed: ['max_tokens', 'stream', 'service_tier', 'metadata'],
    takesTextFiles: false,
    refuses: /^(?!image\/|text\/|application\/pdf$)/,
    billing: { outputHasThinking: true, inputHasCached: false, picturesAreText: false },
  },
  completions: {
    load: async () => (await import('./completions/format.ts')).completions,
    title: 'the completions format',
    path: /^(?:\/v1)?\/(?:chat\/completions|images(?:\/(?:generations|edits))?)(?:\?|$)/,
    tierField: 'service_tier',
    turnsField: 'messages',
    reserved: ['stream'],
    unkeyed: openAiUnkeyed,
    takesTextFiles: false,
    returnsPictures: true,
    refuses: /^(?:video\/|audio\/(?!(?:x-)?(?:wav|mp3|mpeg)$))/,
    billing: { outputHasThinking: true, inputHasCached: true, picturesAreText: false },
  },
  responses: {
    load: async () => (await import('./responses/format.ts')).responses,
    title: 'the responses format',
    path: /\/responses(?:\?|$)/,
    tierField: 'service_tier',
    turnsField: 'input',
    reserved: ['stream'],
    unkeyed: openAiUnkeyed,
    takesTextFiles: false,
    refuses: /^(?:video\/|audio\/(?!(?:x-)?(?:wav|mp3|mpeg)$))/,
    billing: { outputHasThinking: true, inputHasCached: true, picturesAreText: false },
  },
};

export const formatNames = Object.keys(formatFacts) as FormatName[];

/** The format whose requests have a path, if one has. */
export function findFormatByPath(path: string): FormatName | undefined {
  return formatNames.find((name) => formatFacts[name].path.test(path));
}

/** Facts around the body of a reply that its decoder needs. */
export interface ReplyHead {
  /** Thinking in tags at the head of a text stays in the text. */
  keepsTags?: boolean | undefined;
  /** The body of the request, if it is known. */
  asked?: Body | undefined;
  status: number;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
}

/** A wire format: how a plain request is encoded in it, and how its replies are read. */
export interface Format {
  name: FormatName;
  /** Encodes a plain request. Throws GatewayError usage for a model or a body that cannot be sent. */
  encode(request: PlainRequest, quirks: Quirks): EncodedRequest;
  /** Adds further turns to a request, such as the results of tools. */
  append(body: Body, turns: readonly Turn[], quirks: Quirks): Body;
  createDecoder(head: ReplyHead): Decoder;
  /** The reason of the error when a stream ends too early. */
  missingEnd: string;
  /** Path and query of a page of the list of models. */
  models(token?: string): { path: string; query: string };
  /** The request that goes on with an answer that the service ended in the middle; absent if the format has none. */
  goOn?(body: Body, came: Unfinished): Body | undefined;
  /** Names of the tools that a request offers. */
  toolNames(body: Body): string[];
  /** The limits in a request, from which the most that it can cost follows. */
  limits(body: Body): RequestLimits;
  /** Free operations of the service that say how long a request is, if the format has them. */
  counting?: {
    /** Counts the input tokens of a request. */
    tokens(body: Body, model: string): { path: string; body: Body };
    /** Describes a model: its window may be there. */
    model(model: string): { path: string };
  };
}

export interface RequestLimits {
  /** The limit of each candidate; undefined if there is none. */
  maxTokens: number | undefined;
  candidates: number;
  /** The limit of images; absent if it is the limit of candidates. */
  images?: number | undefined;
}

const loaded: Partial<Record<FormatName, Format>> = {};

/** Throws GatewayError usage for a name that no format has. */
export function requireFormatName(name: unknown): void {
  if (typeof name === 'string' && Object.hasOwn(formatFacts, name)) return;
  const there = `there are: ${Object.keys(formatFacts).join(', ')}`;
  throw usageError(name === undefined ? 'no format is named' : `there is no format ${JSON.stringify(name)}`, there);
}

/** A failure to load is not kept: the next call loads the format again. */
export async function loadFormat(name: FormatName): Promise<Format> {
  requireFormatName(name);
  return (loaded[name] ??= await formatFacts[name].load());
}

/** The size of an image in a format that takes only its longer side. Throws GatewayError usage for `WxH`. */
export function requireLongerSide(size: string | undefined): string | undefined {
  if (size === undefined || !/^\d+x\d+$/.test(size)) return size;
  throw usageError(
    `this service takes no size of both sides, such as '${size}'`,
    'it has 512, 1K, 2K, 4K, and an aspect ratio',
  );
}

/** The turns in a body, which a prompt follows. Throws GatewayError usage if they are not a list. */
export function turnsIn(body: Body, name: string): BodyValue[] {
  const turns = body[name] ?? [];
  if (Array.isArray(turns)) return turns;
  throw usageError(`'${name}' in the body is not an array, so the prompt cannot follow it`);
}

/** A request before it has an address. */
export interface ApiRequest extends EncodedRequest {
  format: FormatName;
  /** Decides how the key is carried. */
  use: AuthUse;
  /** The body that asks another model for the same effort. Throws GatewayError usage for an effort that the model does not take. */
  encodeEffort?: (model: string) => Body;
  /** The path that the base URL lacks at its end, as the service taught. */
  behindBase?: string | undefined;
  /**
   * The same request in OpenAI's other format, if the user named no format. Throws GatewayError usage for a field that the other
   * format lacks.
   */
  inFormat?: ((name: FormatName) => Promise<ApiRequest>) | undefined;
}

/** A request with a change, which its other format gets too. */
export function changeRequest(post: ApiRequest, change: (post: ApiRequest) => ApiRequest): ApiRequest {
  const { inFormat, ...own } = post;
  const changed = change(own);
  return inFormat ? { ...changed, inFormat: async (name) => change(await inFormat(name)) } : changed;
}

/**
 * The same request to another model: the name is replaced in the body or in the path, and the effort in the words of the new
 * model. Throws GatewayError usage for an effort that the model does not take.
 */
export function replaceModel(given: ApiRequest, model: string): ApiRequest {
  const name = encodeURIComponent(model.replace(/^models\//, ''));
  return changeRequest(given, (one) => {
    const { encodeEffort } = one;
    const post = encodeEffort ? { ...one, body: moveEffort(encodeEffort(model), one.body) } : one;
    if (post.format !== 'content') return { ...post, body: { ...post.body, model } };
    return { ...post, path: post.path.replace(/(?<=\/models\/)[^/:]+(?=:\w+$)/, name) };
  });
}

/** A body with the effort of another. */
function moveEffort(from: Body, to: Body): Body {
  let body = to;
  for (const field of encodedEffortFields) {
    const path = field.split('.');
    body = setField(body, path, getField(from, path));
  }
  return body;
}

function getField(body: Body, [key = '', ...rest]: readonly string[]): BodyValue | undefined {
  return rest.length === 0 ? body[key] : getField(getBodyObject(body, key), rest);
}

function setField(body: Body, [key = '', ...rest]: readonly string[], value: BodyValue | undefined): Body {
  const inner = rest.length === 0 ? value : unlessEmpty(setField(getBodyObject(body, key), rest, value));
  if (inner !== undefined) return { ...body, [key]: inner };
  const { [key]: _, ...others } = body;
  return others;
}

/** An API request, or without a body a GET. */
export type AnyApiRequest = Omit<ApiRequest, 'body'> & Partial<Pick<ApiRequest, 'body'>>;

/** The model that a request asks, which is in its body or in its path. */
export function getAskedModel({ body, path }: Pick<AnyApiRequest, 'body' | 'path'>): string | undefined {
  const model = body?.['model'] ?? decodeURIComponent(/\/models\/([^/:]+):/.exec(path)?.[1] ?? '');
  return typeof model === 'string' && model !== '' ? model : undefined;
}

/** Encodes a plain request in a format. Throws GatewayError usage, also for a field that the format lacks. */
export function encodeRequest(given: PlainRequest, format: Format, quirks: Quirks): ApiRequest {
  // Services refuse a blank system text.
  const request = given.system?.trim() === '' ? { ...given, system: undefined } : given;
  const { tierField, title } = formatFacts[format.name];
  const lacking =
    tierField === undefined && request.tier !== undefined
      ? 'tier'
      : lackedFields[format.name].find((name) => isGiven(request[name as keyof PlainRequest]));
  if (lacking !== undefined) throw usageError(`${title} does not have ${lacking}`, 'leave it out');
  for (const media of request.media ?? []) {
    refuseType(media, format.name);
    refuseImage(media, request, quirks);
  }
  const chosen = chooseEffort(request, format.name, quirks);
  const encoded = format.encode(chosen ? { ...request, effort: chosen.effort } : request, quirks);
  const { effort, use } = request;
  const encodeEffort = (model: string): Body => {
    const other = { effort, model, use: 'text', stream: undefined } as const;
    return format.encode({ ...other, effort: chooseEffort(other, format.name, quirks)?.effort }, quirks).body;
  };
  return {
    format: format.name,
    use: chooseAuthUse(format.name, use),
    ...encoded,
    ...(chosen?.note && { note: chosen.note }),
    ...(request.keepThink && { keepThink: true }),
    ...(effort && { encodeEffort }),
  };
}

/**
 * Throws GatewayError usage for a request for images in a format in which only a tool makes them, unless it has tools: words
 * would be paid for.
 */
export function requirePictures({ format, body }: Pick<ApiRequest, 'format' | 'body'>, use: Use): void {
  const { title, returnsPictures } = formatFacts[format];
  if (returnsPictures || (use !== 'image' && use !== 'edit') || body['tools'] !== undefined) return;
  const others = formatNames.filter((name) => formatFacts[name].returnsPictures).map((name) => formatFacts[name].title);
  throw usageError(
    `${title} cannot make images`,
    `${others.join(' and ')} can; without a format, the service's own is used`,
  );
}

/** Encodes a plain request whose format nobody named: unless it needs this format, it can be encoded in OpenAI's other format later. */
export function encodeFlexibly(
  given: PlainRequest,
  format: Format,
  quirksIn: (name: FormatName) => Quirks,
): ApiRequest {
  const post = encodeRequest(given, format, quirksIn(format.name));
  const { use, body, ownTurns, toolChoice } = given;
  const isOwn = body !== undefined || ownTurns !== undefined || typeof toolChoice === 'object';
  if (isOwn || !isOpenAiFormat(format.name) || use === 'image' || use === 'edit') return post;
  return { ...post, inFormat: async (name) => encodeRequest(given, await loadFormat(name), quirksIn(name)) };
}

/** Throws GatewayError usage for a file of a type that the services of a format are known to refuse. */
function refuseType({ mimeType, data, title }: Media, name: FormatName): void {
  const { title: format, refuses } = formatFacts[name];
  const isThere = typeof data !== 'string' && data.bytes > 0;
  if (!isThere || !refuses.test(mimeType.toLowerCase())) return;
  const others = formatNames.filter((other) => !formatFacts[other].refuses.test(mimeType.toLowerCase()));
  const takers = others.map((other) => formatFacts[other].title).join(' and ');
  const instead = /^(?:audio|video)\//.test(mimeType) ? '' : 'save it as PDF or as text, and send that';
  throw usageError(
    `${format} takes no file of the type ${mimeType}${title === undefined ? '' : `: ${JSON.stringify(title)}`}`,
    [instead, takers && `${takers} may take it`].filter((part) => part !== '').join('; '),
  );
}

/** Throws GatewayError usage for an image that the service is known to refuse; the hint has a command that makes it fit. */
function refuseImage({ mimeType, data, title, pixels }: Media, request: PlainRequest, { service }: Quirks): void {
  const { use } = request;
  const name = service.slice(0, service.indexOf('/')) as ServiceName;
  const refused = Object.hasOwn(refusedImages, name) ? refusedImages[name] : undefined;
  if (refused === undefined || typeof data === 'string' || data.bytes === 0) return;
  const type = mimeType.toLowerCase();
  const source = typeof data.source === 'string' && !data.isTemporary ? data.source : `in.${type.slice(6)}`;
  const called = JSON.stringify(title ?? source.replace(/^.*[/\\]/, ''));
  const stem = source.replace(/^.*[/\\]/, '').replace(/\.[^.]*$/, '');
  const file = shellWord(source);
  if (refused.types.test(type) || (use === 'edit' && refused.editTypes?.test(type))) {
    const made = shellWord(`${stem}.jpg`);
    throw usageError(
      `${services[name].title} takes no picture of the type ${type}: ${called}`,
      `make it one that it takes: magick ${shellWord(`${source}[0]`)} ${made}, or on macOS: sips -s format jpeg ${file} --out ${made}`,
    );
  }
  if (!type.startsWith('image/')) return;
  const { base64 = Infinity, mostToEdit = Infinity, amongMany } = refused;
  const count = countPictures(request);
  if (use === 'edit' && count > mostToEdit)
    throw usageError(
      `${services[name].title} edits at most ${mostToEdit} pictures at once, and ${count} are given`,
      'leave some out, or join some into one: magick a.png b.png +append both.png',
    );
  const isMany = amongMany !== undefined && count > amongMany.above;
  const longest = (isMany ? amongMany.longestSide : refused.longestSide) ?? Infinity;
  const found = [
    base64Length(data.bytes) > base64 &&
      `at most ${base64} bytes of Base64 for a picture: ${called} has ${base64Length(data.bytes)}`,
    maxOf(pixels?.split('x').map(Number) ?? [0]) > longest &&
      `no side above ${longest} pixels${isMany ? ` with more than ${amongMany.above} pictures` : ''}: ${called} has ${pixels}`,
  ].find((words) => words !== false);
  if (found === undefined) return;
  const made = shellWord(`${stem}-small.jpg`);
  throw usageError(
    `${services[name].title} takes ${found}`,
    `make it smaller: magick ${file} -resize '2000x2000>' ${made}, or on macOS: sips -Z 2000 -s format jpeg ${file} --out ${made}`,
  );
}

/** The number of images in a request, those of earlier turns included. */
function countPictures({ media = [], turns = [] }: PlainRequest): number {
  const given = media.filter(({ mimeType }) => mimeType.toLowerCase().startsWith('image/'));
  const earlier = turns.flatMap(getTurnBlocks).filter(({ type }) => type === 'image');
  return given.length + earlier.length;
}

function isGiven(value: PlainRequest[keyof PlainRequest]): boolean {
  return value !== undefined && !(Array.isArray(value) && value.length === 0);
}

/** The error in a reply with status 200, or in an event, in place of a result (deviation 15). `asked`: the body of the request. */
export function findErrorInReply(json: unknown, asked?: Body): ErrorBody | undefined {
  if (Array.isArray(json)) {
    for (const piece of json) {
      const error = isObject(piece) ? findErrorInReply(piece, asked) : undefined;
      if (error) return error;
    }
    return undefined;
  }
  if (!isObject(json)) return undefined;
  const inner = json['response'];
  const value = isObject(inner) && isObject(inner['error']) ? inner : json;
  if (looksLikeResult(value) && !isObject(value['error'])) return undefined;
  return claimsError(value) ? readError(value, asked) : undefined;
}

/** Whether a reply with an error has an answer, too: in itself, in a `response`, or in one of its pieces. */
export function holdsAnswer(json: unknown): boolean {
  if (Array.isArray(json)) return json.some(holdsAnswer);
  if (!isObject(json)) return false;
  const inner = json['response'];
  return looksLikeResult(json) || (isObject(inner) && looksLikeResult(inner));
}

/** The failure in an event of a stream, in any of its shapes (deviations 16, 17 and 78). `name`: the name in its `event:` line. */
export function findErrorInEvent(json: JsonObject, name: string | undefined, asked?: Body): ErrorBody | undefined {
  const { type, object, detail, error } = json;
  const isNamed = type === 'error' || name === 'error' || object === 'error';
  // FastAPI's shape has no other word; nor has an event of one of the formats.
  const isDetail = type === undefined && !looksLikeResult(json) && (detail ?? '') !== '';
  if (!isNamed && !isDetail && json['success'] !== false && (error ?? '') === '') return undefined;
  return findErrorInReply(json, asked) ?? (isNamed ? { message: '' } : undefined);
}

/** Whether a value has the keys of a result in one of the formats. */
function looksLikeResult(json: JsonObject): boolean {
  const { type, content, choices, output } = json;
  if (Array.isArray(choices) && choices.length > 0) return true;
  // A failed reply of the responses format has both; with neither item nor usage it has nothing to keep.
  if (Array.isArray(output) && (output.length > 0 || isObject(json['usage']))) return true;
  return field(json, 'candidates') !== undefined || type === 'message' || Array.isArray(content);
}

/** A name alone, such as `"status": "ok"`, is not an error: a page of some other service is a bad reply. */
function claimsError(json: JsonObject): boolean {
  const { error, type, success, code } = json;
  const isFailure = type === 'error' || success === false || Number(code) >= 400;
  return isFailure || (error ?? '') !== '' || messageIn(json, {}) !== undefined;
}
