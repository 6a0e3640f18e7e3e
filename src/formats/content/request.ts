import { usageError } from '../../errors.ts';
import type { Body, BodyValue } from '../../upload.ts';
import { objectAt, setFields, unlessEmpty } from '../fields.ts';
import type { ContentInput } from './types.ts';

/**
 * The body of a content-format request (formats 2): `input.body` first, the other fields over it, objects merged key by
 * key. Nothing is sent that is not set, and every name of ours is camelCase. Throws usage when the body's `contents` is no array.
 */
export function encodeContentRequest(input: ContentInput): Body {
  const body = input.body ?? {};
  return setFields(body, {
    contents: contentsOf(input, body),
    systemInstruction: input.system === undefined ? undefined : { parts: [{ text: input.system }] },
    generationConfig: generationConfigOf(input, objectAt(body, 'generationConfig')),
    safetySettings: input.safety?.length ? input.safety.map((setting) => ({ ...setting })) : undefined,
    tools: input.tools && [...input.tools],
    toolConfig: input.toolConfig,
    cachedContent: input.cachedContent,
  });
}

function contentsOf(input: ContentInput, body: Body): BodyValue | undefined {
  const earlier: BodyValue = input.contents ? [...input.contents] : (body['contents'] ?? []);
  const parts = promptParts(input);
  if (parts.length === 0) return input.contents && earlier;
  if (!Array.isArray(earlier))
    throw usageError("'contents' in the body is not an array, so the prompt cannot follow it");
  return [...earlier, { role: 'user', parts }];
}

function promptParts({ prompt, inline = [] }: ContentInput): BodyValue[] {
  const text = prompt === undefined ? [] : [{ text: prompt }];
  return [...text, ...inline.map(({ mimeType, data }) => ({ inlineData: { mimeType, data } }))];
}

function generationConfigOf(input: ContentInput, base: Body): Body | undefined {
  const config = setFields(base, {
    temperature: input.temperature,
    topP: input.topP,
    topK: input.topK,
    candidateCount: input.candidates,
    maxOutputTokens: input.maxTokens,
    stopSequences: input.stop?.length ? [...input.stop] : undefined,
    seed: input.seed,
    responseMimeType: input.responseMime,
    imageConfig: unlessEmpty(
      setFields(objectAt(base, 'imageConfig'), { aspectRatio: input.aspect, imageSize: input.size }),
    ),
  });
  return unlessEmpty(input.schema === undefined ? config : withSchema(config, input.schema));
}

/** A schema needs its response type, and excludes the other way of giving one. */
function withSchema(config: Body, schema: BodyValue): Body {
  const { responseSchema: _, ...rest } = config;
  return { responseMimeType: 'application/json', ...rest, responseJsonSchema: schema };
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
