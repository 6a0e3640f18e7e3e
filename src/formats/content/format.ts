import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { type Body, type BodyValue, objectAt, setFields, unlessEmpty } from '../../body.ts';
import {
  type Ask,
  type Encoded,
  type Media,
  blocksOf,
  type Turn,
  isPlainTool,
  type PlainTool,
  plainTool,
} from '../ask.ts';
import { type Format, sideOf, turnsIn } from '../format.ts';
import { limitsOf } from '../limits.ts';
import { createContentDecoder, missingReason } from './reply.ts';
import { usageError } from '../../errors.ts';
import type { Quirks } from '../types.ts';

/** The content format: `POST /v1beta/models/{model}:generateContent` (formats 2). */
export const content: Format = {
  name: 'content',
  encode(ask, quirks): Encoded {
    const body = encodeContentBody(ask, quirks);
    if (!ask.stream) return { path: contentPath(ask.model), body };
    const path = contentPath(ask.model, 'streamGenerateContent');
    return { path, query: 'alt=sse', body, accept: 'text/event-stream', streamsContent: true };
  },
  append(body, turns, { service }) {
    const { contents, toolConfig } = body;
    const all = [...(Array.isArray(contents) ? contents : []), ...contentTurns(turns, service)];
    const longer: Body = { ...body, contents: all };
    // A mode that forces a call would force one after each result, for ever.
    const calling = isObject(toolConfig) ? toolConfig['functionCallingConfig'] : undefined;
    if (isObject(toolConfig) && isObject(calling) && calling['mode'] === 'ANY')
      longer['toolConfig'] = { ...toolConfig, functionCallingConfig: { mode: 'AUTO' } };
    return longer;
  },
  createDecoder: createContentDecoder,
  // Behind `[DONE]` the end of the body is only good for using the connection again (deviation 24).
  patience: { stopped: 5000, ended: 200 },
  missingEnd: missingReason,
  models(token) {
    const query = new URLSearchParams({ pageSize: '1000', ...(token !== undefined && { pageToken: token }) });
    return { path: '/v1beta/models', query: query.toString() };
  },
  toolNames(body) {
    const tools = Array.isArray(body['tools']) ? body['tools'] : [];
    return tools.flatMap((tool) => {
      const declared = isObject(tool) ? tool['functionDeclarations'] : undefined;
      return Array.isArray(declared) ? declared.flatMap(nameOf) : [];
    });
  },
  counting: {
    tokens: (body, model) => ({
      path: `/v1beta/models/${modelSegment(model)}:countTokens`,
      body: { generateContentRequest: { model: `models/${model.replace(/^models\//, '')}`, ...body } },
    }),
    model: (model) => ({ path: `/v1beta/models/${modelSegment(model)}` }),
  },
  limits(body: Body) {
    const configs = [objectAt(body, 'generationConfig'), objectAt(body, 'generation_config')];
    return limitsOf(configs, {
      maxTokens: ['maxOutputTokens', 'max_output_tokens'],
      candidates: ['candidateCount', 'candidate_count'],
    });
  },
};

function nameOf(declaration: unknown): string[] {
  return isObject(declaration) && typeof declaration['name'] === 'string' ? [declaration['name']] : [];
}

/**
 * The body of a content-format request (formats 2): `body` of the ask first, the other fields over it, objects merged key by
 * key. Nothing is sent that is not set, and every name of ours is camelCase. Throws usage if the body's `contents` is not an array.
 */
function encodeContentBody(ask: Ask, quirks: Quirks): Body {
  const body = ask.body ?? {};
  return setFields(body, {
    contents: contentsOf(ask, quirks),
    systemInstruction: ask.system === undefined ? undefined : { parts: [{ text: ask.system }] },
    generationConfig: generationConfigOf(ask, objectAt(body, 'generationConfig')),
    safetySettings: ask.safety?.length ? ask.safety.map((setting) => ({ ...setting })) : undefined,
    tools: ask.tools && contentTools(ask.tools),
    toolConfig: toolConfigOf(ask),
    cachedContent: ask.cachedContent,
    serviceTier: ask.tier,
  });
}

function contentsOf(ask: Ask, quirks: Quirks): BodyValue | undefined {
  const { ownTurns, turns, body = {} } = ask;
  const given: BodyValue[] | undefined = ownTurns ? [...ownTurns] : turns && contentTurns(turns, quirks.service);
  const parts = promptParts(ask, quirks);
  if (parts.length === 0) return given;
  return [...(given ?? turnsIn(body, 'contents')), { role: 'user', parts }];
}

function promptParts({ prompt, media = [], results = [], turns = [] }: Ask, { service }: Quirks): BodyValue[] {
  // The calls that the results answer are in earlier turns: their names are wanted here.
  const answered = results.length === 0 ? [] : contentTurns([...turns, { role: 'user', content: results }], service);
  const last = answered.at(-1) as { parts: BodyValue[] } | undefined;
  const text = prompt === undefined ? [] : [{ text: prompt }];
  return [...(last?.parts ?? []), ...text, ...media.map(mediaPart)];
}

function mediaPart({ mimeType, data, title }: Media): BodyValue {
  if (typeof data !== 'string') return { inlineData: { mimeType, data } };
  return { text: title === undefined ? data : `${title}:\n${data}` };
}

function generationConfigOf(ask: Ask, base: Body): Body | undefined {
  const config = setFields(base, {
    temperature: ask.temperature,
    topP: ask.topP,
    topK: ask.topK,
    candidateCount: ask.candidates,
    maxOutputTokens: ask.maxTokens,
    stopSequences: ask.stop?.length ? [...ask.stop] : undefined,
    seed: ask.seed,
    responseMimeType: ask.responseMime,
    imageConfig: unlessEmpty(
      setFields(objectAt(base, 'imageConfig'), { aspectRatio: ask.aspect, imageSize: sideOf(ask.size) }),
    ),
  });
  return unlessEmpty(ask.schema === undefined ? config : withSchema(config, ask.schema));
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

function toolConfigOf({ toolChoice, toolConfig }: Ask): BodyValue | undefined {
  if (toolChoice === undefined) return toolConfig;
  if (typeof toolChoice !== 'string') return { ...toolConfig, ...toolChoice };
  const [word = '', name] = toolChoice.split(/:(.*)/s);
  const calling: JsonObject =
    name === undefined ? { mode: word.toUpperCase() } : { mode: 'ANY', allowedFunctionNames: [name] };
  return { ...toolConfig, functionCallingConfig: calling };
}

/** One encoded path segment for a model, a leading `models/` removed. Throws usage for what could leave the segment. */
export function modelSegment(model: string): string {
  const name = model.startsWith('models/') ? model.slice('models/'.length) : model;
  if (name === '') throw usageError('the model is empty', 'name a model');
  const problem = problemOf(name);
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

function problemOf(name: string): string | undefined {
  if (/\p{Cc}/u.test(name)) return 'hold control characters';
  if (name.includes('?') || name.includes('#')) return "hold '?' or '#'";
  if (name.split(/[/\\]/).some((piece) => piece === '.' || piece === '..')) return "hold '.' or '..' as a path segment";
  return undefined;
}

/** A conversation as `contents`. Results of tools want the name of the call that they answer, which an earlier turn has. */
export function contentTurns(turns: readonly Turn[], service: string): BodyValue[] {
  const names = new Map<string, string>();
  return turns.flatMap((turn) => {
    const isOwn = turn.service === service;
    const parts = blocksOf(turn).flatMap((block) => partsOf(block, { names, isOwn }));
    return parts.length === 0 ? [] : [{ role: turn.role === 'user' ? 'user' : 'model', parts }];
  });
}

interface Reading {
  /** Names of calls by their id. */
  names: Map<string, string>;
  /** The service itself wrote the turn: its signatures go back to it. */
  isOwn: boolean;
}

function partsOf(block: JsonObject, { names, isOwn }: Reading): BodyValue[] {
  const { type, text, id, name, signature } = block;
  const signed = isOwn && typeof signature === 'string' ? { thoughtSignature: signature } : {};
  if (type === 'text') return typeof text === 'string' && saysSomething(text, signed) ? [{ text, ...signed }] : [];
  if (type === 'image' || type === 'document') return mediaParts(block);
  if (type === 'tool_use') {
    if (typeof id === 'string' && typeof name === 'string') names.set(id, name);
    return [{ functionCall: { name: name ?? '', args: block['input'] ?? {} }, ...signed }];
  }
  if (type === 'tool_result') return [resultPart(block, names)];
  // Thinking goes back to the service that signed it, and there with its call or its text.
  return [];
}

/** A blank text only carries the signature that came with it. */
function saysSomething(text: string, signed: { thoughtSignature?: string }): boolean {
  return text.trim() !== '' || (text !== '' && signed.thoughtSignature !== undefined);
}

/** A picture or a document; its bytes may still be an upload. */
function mediaParts(block: JsonObject): BodyValue[] {
  const source = objectAt(block as Body, 'source');
  const { type, data, url, media_type: mimeType = 'image/png' } = source;
  if (type === 'text') return data === undefined ? [] : [{ text: data }];
  if (type === 'url' && typeof url === 'string') return [{ fileData: { fileUri: url } }];
  return data === undefined ? [] : [{ inlineData: { mimeType, data } }];
}

function resultPart(block: JsonObject, names: ReadonlyMap<string, string>): BodyValue {
  const { tool_use_id: id, content, is_error: isError } = block;
  const name = names.get(String(id)) ?? String(id);
  return { functionResponse: { name, response: { [isError === true ? 'error' : 'result']: textOf(content) } } };
}

function textOf(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((block) => (isObject(block) && typeof block['text'] === 'string' ? block['text'] : '')).join('\n');
}
