import { isObject, type JsonObject, type JsonValue, textField } from '../../json.ts';
import { type Body, type BodyValue, getBodyObject, setFields, unlessEmpty } from '../../body.ts';
import {
  type PlainRequest,
  type EncodedRequest,
  type Media,
  getTurnBlocks,
  type Turn,
  isPlainTool,
  type PlainTool,
  plainTool,
  toList,
} from '../plain-request.ts';
import { type Format, requireLongerSide, turnsIn } from '../format.ts';
import { readLimits } from '../limits.ts';
import { createContentDecoder, missingReason } from './reply.ts';
import { usageError } from '../../errors.ts';
import { withSearch } from '../search-tool.ts';
import { searchTools } from '../../vendors/search.ts';
import type { Quirks } from '../types.ts';
import { findEffortRule } from '../../vendors/effort.ts';

/** The content format: `POST /v1beta/models/{model}:generateContent` (formats 2). */
export const content: Format = {
  name: 'content',
  encode(request, quirks): EncodedRequest {
    const body = encodeContentBody(request, quirks);
    if (!request.stream) return { path: contentPath(request.model), body };
    const path = contentPath(request.model, 'streamGenerateContent');
    return { path, query: 'alt=sse', body, accept: 'text/event-stream', streamsContent: true };
  },
  append(body, turns, { service }) {
    const { contents, toolConfig } = body;
    const all = [...(Array.isArray(contents) ? contents : []), ...contentTurns(turns, service)];
    const longer: Body = { ...body, contents: all };
    const calling = isObject(toolConfig) ? toolConfig['functionCallingConfig'] : undefined;
    if (!isObject(toolConfig) || !isObject(calling) || calling['mode'] !== 'ANY') return longer;
    // A mode that forces a call would force one after each result, for ever.
    return { ...longer, toolConfig: { ...toolConfig, functionCallingConfig: { mode: 'AUTO' } } };
  },
  goOn: (body, { token }) => (token === undefined ? undefined : { ...body, continuationToken: token }),
  createDecoder: createContentDecoder,
  missingEnd: missingReason,
  models(token) {
    const query = new URLSearchParams({ pageSize: '1000', ...(token !== undefined && { pageToken: token }) });
    return { path: '/v1beta/models', query: query.toString() };
  },
  toolNames(body) {
    const tools = Array.isArray(body['tools']) ? body['tools'] : [];
    return tools.flatMap((tool) => {
      const declared = isObject(tool) ? tool['functionDeclarations'] : undefined;
      return Array.isArray(declared) ? declared.flatMap(readDeclarationName) : [];
    });
  },
  counting: {
    tokens(body, model) {
      const { store: _, ...rest } = body;
      const counted = { model: `models/${model.replace(/^models\//, '')}`, ...rest };
      return { path: `/v1beta/models/${modelSegment(model)}:countTokens`, body: { generateContentRequest: counted } };
    },
    model: (model) => ({ path: `/v1beta/models/${modelSegment(model)}` }),
  },
  limits(body: Body) {
    const configs = [getBodyObject(body, 'generationConfig'), getBodyObject(body, 'generation_config')];
    return readLimits(configs, {
      maxTokens: ['maxOutputTokens', 'max_output_tokens'],
      candidates: ['candidateCount', 'candidate_count'],
    });
  },
};

function readDeclarationName(declaration: unknown): string[] {
  return isObject(declaration) && typeof declaration['name'] === 'string' ? [declaration['name']] : [];
}

/**
 * The body of a content-format request (formats 2): `body` of the plain request first, the other fields over it, objects merged key by
 * key. Nothing is sent that is not set, and every name of ours is camelCase. Throws usage if the body's `contents` is not an array.
 */
function encodeContentBody(request: PlainRequest, quirks: Quirks): Body {
  const body = request.body ?? {};
  return setFields(body, {
    contents: encodeContents(request, quirks),
    systemInstruction: request.system === undefined ? undefined : { parts: [{ text: request.system }] },
    generationConfig: encodeGenerationConfig(request, getBodyObject(body, 'generationConfig')),
    safetySettings: request.safety?.length ? request.safety.map((setting) => ({ ...setting })) : undefined,
    tools: withSearch(request.tools && contentTools(request.tools), request, searchTools.content),
    toolConfig: encodeToolConfig(request),
    cachedContent: request.cachedContent,
    serviceTier: request.tier,
    // Only the vendor's own host has the field: relays refuse a field that they do not know.
    store: quirks.keeps && !request.store ? (body['store'] ?? false) : undefined,
  });
}

function encodeContents(request: PlainRequest, quirks: Quirks): BodyValue | undefined {
  const { ownTurns, turns, body = {} } = request;
  const given: BodyValue[] | undefined = ownTurns ? [...ownTurns] : turns && contentTurns(turns, quirks.service);
  const parts = promptParts(request, quirks);
  if (parts.length === 0) return given;
  return [...(given ?? turnsIn(body, 'contents')), { role: 'user', parts }];
}

function promptParts({ prompt, media = [], results = [], turns = [] }: PlainRequest, { service }: Quirks): BodyValue[] {
  // The calls that the results answer are in earlier turns: their names are wanted here.
  const answered = results.length === 0 ? [] : contentTurns([...turns, { role: 'user', content: results }], service);
  const last = answered.at(-1) as { parts: BodyValue[] } | undefined;
  const text = prompt === undefined ? [] : [{ text: prompt }];
  return [...(last?.parts ?? []), ...text, ...media.map(inlineMediaPart)];
}

function inlineMediaPart({ mimeType, data, title }: Media): BodyValue {
  if (typeof data !== 'string') return { inlineData: { mimeType, data } };
  return { text: title === undefined ? data : `${title}:\n${data}` };
}

function encodeGenerationConfig(request: PlainRequest, base: Body): Body | undefined {
  const config = setFields(base, {
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    candidateCount: request.candidates,
    maxOutputTokens: request.maxTokens,
    stopSequences: request.stop?.length ? [...request.stop] : undefined,
    seed: request.seed,
    responseMimeType: request.responseMime,
    thinkingConfig: encodeThinkingConfig(request, base),
    imageConfig: unlessEmpty(
      setFields(getBodyObject(base, 'imageConfig'), {
        aspectRatio: request.aspect,
        imageSize: requireLongerSide(request.size),
      }),
    ),
  });
  return unlessEmpty(request.schema === undefined ? config : withSchema(config, request.schema));
}

/** A level; of the models that take a number in its place, that. */
function encodeThinkingConfig({ effort, model }: PlainRequest, base: Body): Body | undefined {
  if (effort === undefined) return undefined;
  const budgets = findEffortRule(model)?.budgets;
  const amount = budgets ? { thinkingBudget: budgets[effort] } : { thinkingLevel: effort.toUpperCase() };
  return setFields(getBodyObject(base, 'thinkingConfig'), amount);
}

/** A schema needs its response type, and excludes the other way of giving one. */
function withSchema(config: Body, schema: BodyValue): Body {
  const { responseSchema: _, ...rest } = config;
  return { responseMimeType: 'application/json', ...rest, responseJsonSchema: schema };
}

/** Tools in the plain form become one list of declarations; tools of the format stay as they are. */
function contentTools(tools: readonly JsonValue[]): BodyValue[] {
  const plain = tools.filter((tool): tool is JsonObject => isObject(tool) && isPlainTool(tool));
  const own = tools.filter((tool) => !plain.includes(tool as JsonObject));
  if (plain.length === 0) return own;
  return [...own, { functionDeclarations: plain.map((tool) => declaration(plainTool(tool))) }];
}

function declaration({ name, description, schema }: PlainTool): BodyValue {
  return setFields({ name }, { description, parametersJsonSchema: schema });
}

function encodeToolConfig({ toolChoice, toolConfig }: PlainRequest): BodyValue | undefined {
  if (toolChoice === undefined) return toolConfig;
  if (typeof toolChoice !== 'string') return { ...toolConfig, ...toolChoice };
  const [word = '', name] = toolChoice.split(/:(.*)/s);
  const calling: JsonObject =
    name === undefined ? { mode: word.toUpperCase() } : { mode: 'ANY', allowedFunctionNames: [name] };
  return { ...toolConfig, functionCallingConfig: calling };
}

/** One encoded path segment for a model, without a leading `models/`. Throws usage for a name that could leave the segment. */
export function modelSegment(model: string): string {
  const name = model.startsWith('models/') ? model.slice('models/'.length) : model;
  if (name === '') throw usageError('the model is empty', 'name a model');
  const problem = findModelNameFault(name);
  if (problem) throw usageError(`the model may not ${problem}`, 'check the model');
  try {
    return encodeURIComponent(name);
  } catch (error) {
    throw usageError('the model holds half a character', 'check the model', error);
  }
}

/** Path of an operation of the content format (formats 1). Throws usage like modelSegment. */
export function contentPath(
  model: string,
  operation: 'generateContent' | 'streamGenerateContent' = 'generateContent',
): string {
  return `/v1beta/models/${modelSegment(model)}:${operation}`;
}

function findModelNameFault(name: string): string | undefined {
  if (/\p{Cc}/u.test(name)) return 'hold control characters';
  if (name.includes('?') || name.includes('#')) return "hold '?' or '#'";
  if (name.split(/[/\\]/).some((piece) => piece === '.' || piece === '..')) return "hold '.' or '..' as a path segment";
  return undefined;
}

/** A conversation as `contents`. Results of tools want the name of the call that they answer, which an earlier turn has. */
function contentTurns(turns: readonly Turn[], service: string): BodyValue[] {
  const names = new Map<string, string>();
  return turns.flatMap((turn) => {
    const isOwn = turn.service === service;
    const blocks = getTurnBlocks(turn);
    const encoded = blocks.map((block) => encodeParts(block, { names, isOwn }));
    // A result is only text: what else it has comes behind the last of them, as the results answer the calls one by one.
    const last = blocks.findLastIndex(({ type }) => type === 'tool_result');
    const parts = encoded.flatMap((own, at) => (at === last ? [...own, ...blocks.flatMap(resultMedia)] : own));
    return parts.length === 0 ? [] : [{ role: turn.role === 'user' ? 'user' : 'model', parts }];
  });
}

interface TurnContext {
  /** Names of calls by their id. */
  names: Map<string, string>;
  /** The service itself wrote the turn: its signatures go back to it. */
  isOwn: boolean;
}

function encodeParts(block: JsonObject, { names, isOwn }: TurnContext): BodyValue[] {
  const { type, text, id, name, signature } = block;
  const signed = isOwn && typeof signature === 'string' ? { thoughtSignature: signature } : {};
  if (type === 'text') return typeof text === 'string' && isFilledText(text, signed) ? [{ text, ...signed }] : [];
  if (type === 'image' || type === 'document') return mediaParts(block).map((part) => ({ ...part, ...signed }));
  if (type === 'tool_use') {
    if (typeof id === 'string' && typeof name === 'string') names.set(id, name);
    return [{ functionCall: { name: name ?? '', args: block['input'] ?? {} }, ...signed }];
  }
  if (type === 'tool_result') return [resultPart(block, names)];
  // Thinking goes back to the service that signed it, and only with its call or its text.
  return [];
}

/** A blank text only carries the signature that came with it. */
function isFilledText(text: string, signed: { thoughtSignature?: string }): boolean {
  return text.trim() !== '' || (text !== '' && signed.thoughtSignature !== undefined);
}

/** An image or a document; its bytes may still be an upload. */
function mediaParts(block: JsonObject): Body[] {
  const source = getBodyObject(block as Body, 'source');
  const { type, data, url, media_type: mimeType = 'image/png' } = source;
  if (type === 'text') return data === undefined ? [] : [{ text: data }];
  if (type === 'url' && typeof url === 'string') return [{ fileData: { fileUri: url } }];
  return data === undefined ? [] : [{ inlineData: { mimeType, data } }];
}

function resultPart(block: JsonObject, names: ReadonlyMap<string, string>): BodyValue {
  const { tool_use_id: id, content, is_error: isError } = block;
  const name = names.get(String(id)) ?? String(id);
  return { functionResponse: { name, response: { [isError === true ? 'error' : 'result']: joinResultText(content) } } };
}

/** The pictures and files in the result of a tool. */
function resultMedia({ type, content = [] }: JsonObject): Body[] {
  const inside = type === 'tool_result' ? toList(content).filter(isObject) : [];
  return inside.filter((block) => block['type'] === 'image' || block['type'] === 'document').flatMap(mediaParts);
}

function joinResultText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.flatMap((block) => (isObject(block) ? (textField(block, 'text') ?? []) : [])).join('\n');
}
