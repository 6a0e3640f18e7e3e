import { findOwn, type JsonObject, type JsonValue } from '../../library/index.ts';
import {
  decodeBase64,
  flagAt,
  listAt,
  numberAt,
  objectAt,
  plainMediaType,
  sniffMediaType,
  textAt,
  textsAt,
  valueAt,
} from '../fields/read.ts';
import { decodeContentRequest } from '../../library/formats/content/decode.ts';
import { readTask } from '../models/read-task.ts';
import type { GatewayFormat, GatewayOperation, OperationCount, Path } from '../types.ts';
import { drawsByName, findLocalModel, type LocalModel } from '../models/local.ts';
import { Problem } from '../problem.ts';
import { contentError, contentReply, contentStream, contentViolation } from './reply.ts';
import { contentBody } from './fields.ts';
import { badValue } from '../fields/rule.ts';
import type { DecodedMedia, TextTask, ToolChoice, ToolOffer } from '../models/task.ts';

/** The content format; it also answers paths that no format claims. */
export const contentFormat: GatewayFormat = {
  name: 'content',
  claims: () => true,
  keyForms: ['vendor-key', 'bearer'],
  wrongKey: 'the API key is not valid',
  error: contentError,
  violation: contentViolation,
  unknownModel(model, served) {
    const why = `is not found, or is not supported for generateContent. This gateway has ${served}.`;
    return new Problem(404, `models/${model} ${why}`);
  },
  offers: () => true,
  listModels: (models) => ({ models: models.map(encodeModel) }),
  encodeModel,
};

const textMethods = ['generateContent', 'streamGenerateContent', 'countTokens'];
const tokenLimit = 1_048_576;

function encodeModel({ id, title, draws }: LocalModel): JsonObject {
  return {
    name: `models/${id}`,
    version: '1',
    displayName: title,
    inputTokenLimit: tokenLimit,
    outputTokenLimit: tokenLimit,
    supportedGenerationMethods: draws ? textMethods.slice(0, 2) : textMethods,
  };
}

/** `:generateContent` and `:streamGenerateContent`. */
export const contentOperation: GatewayOperation = {
  serves: () => true,
  modelOf: ({ pathId = '' }) => pathId.replace(/^models\//, ''),
  check: (body, mode) => contentBody(body, [], mode),
  fallback(requested, checked) {
    if (!drawsByName(requested) && !asksForImage(checked)) return 'local-text';
    return holdsImage(checked) ? 'local-edit' : 'local-image';
  },
  read(checked, model, { route }) {
    const config = objectAt(checked, 'generationConfig') ?? {};
    const image = objectAt(config, 'imageConfig');
    const modalities = textsAt(config, 'responseModalities');
    checkGenerationConfig(config, model);
    return {
      task: toTask(checked, config, model),
      candidates: numberAt(config, 'candidateCount') ?? 1,
      stream: route?.streams === true,
      showThinking: true,
      tier: textAt(checked, 'serviceTier'),
      image: {
        isAsked: asksForImage(checked),
        aspectRatio: textAt(image, 'aspectRatio'),
        imageSize: textAt(image, 'imageSize'),
        withoutText: modalities.length > 0 && !modalities.includes('TEXT'),
        promptPath: ['contents', 0, 'parts', 0, 'text'],
        imagePath: ['contents', 0, 'parts', 1, 'inlineData'],
      },
    };
  },
  /** The bearer token of an image request means an image, too, if no field is only for text. */
  wantsImage({ image, task }, { keyForm }) {
    const forText = task.tools.length > 0 || task.json || task.schema !== undefined || task.thinking;
    return image.isAsked || (keyForm === 'bearer' && !forText);
  },
  reply: contentReply,
  contentType: 'application/json; charset=UTF-8',
  stream: contentStream,
};

/** `:countTokens`: its body is a request, or contains a request. */
export const contentCount: OperationCount = {
  bodyOf: (body) => objectAt(body, 'generateContentRequest') ?? objectAt(body, 'generate_content_request') ?? body,
  reply: (tokenCount) => ({ totalTokens: tokenCount, promptTokensDetails: [{ modality: 'TEXT', tokenCount }] }),
};

/** Whether a checked body asks for an image: it has an imageConfig or the modality IMAGE. */
function asksForImage(body: JsonObject): boolean {
  const config = objectAt(body, 'generationConfig');
  return objectAt(config, 'imageConfig') !== undefined || textsAt(config, 'responseModalities').includes('IMAGE');
}

/** Whether the last user turn of a checked body holds an image. */
function holdsImage(body: JsonObject): boolean {
  const turn = listAt(body, 'contents').findLast(isUser);
  return listAt(turn, 'parts').some((part) => textAt(objectAt(part, 'inlineData'), 'mimeType')?.startsWith('image/'));
}

/** Checks that involve several fields; the public service has the same rules. */
function checkGenerationConfig(config: JsonObject, model: string): void {
  const path = ['generationConfig'];
  const hasField = (name: string): boolean => Object.hasOwn(config, name);
  const isTextOnly = findLocalModel(model)?.draws === false;
  if (hasField('responseSchema') && hasField('responseJsonSchema')) {
    throw badValue([...path, 'responseJsonSchema'], 'only one of responseSchema and responseJsonSchema may be set');
  }
  const schemaField = hasField('responseSchema') ? 'responseSchema' : 'responseJsonSchema';
  const mime = textAt(config, 'responseMimeType') ?? 'text/plain';
  if (hasField(schemaField) && mime === 'text/plain') {
    throw badValue(
      [...path, schemaField],
      'responseMimeType must be application/json (or text/x.enum) when a schema is set',
    );
  }
  if (isTextOnly && hasField('imageConfig'))
    throw badValue([...path, 'imageConfig'], `${model} makes no images; use local-image`);
  if (isTextOnly && textsAt(config, 'responseModalities').some((modality) => modality !== 'TEXT')) {
    throw badValue([...path, 'responseModalities'], `${model} answers with TEXT only`);
  }
  const thinking = objectAt(config, 'thinkingConfig') ?? {};
  if (Object.hasOwn(thinking, 'thinkingBudget') && Object.hasOwn(thinking, 'thinkingLevel')) {
    throw badValue([...path, 'thinkingConfig'], 'only one of thinkingBudget and thinkingLevel may be set');
  }
}

function toTask(body: JsonObject, config: JsonObject, model: string): TextTask {
  const contents = listAt(body, 'contents');
  const media = contents.map((content, index) => readMedia(content, ['contents', index, 'parts']));
  return readTask(decodeContentRequest(body), {
    model,
    media: media[contents.findLastIndex(isUser)] ?? [],
    tools: listAt(body, 'tools').flatMap(toolOffers),
    choice: readToolChoice(objectAt(objectAt(body, 'toolConfig'), 'functionCallingConfig') ?? {}),
    json: textAt(config, 'responseMimeType') === 'application/json',
    thinking: flagAt(objectAt(config, 'thinkingConfig'), 'includeThoughts'),
  });
}

function isUser(content: JsonValue): boolean {
  return textAt(content, 'role') !== 'model';
}

function readMedia(content: JsonValue, path: Path): DecodedMedia[] {
  return listAt(content, 'parts').flatMap((part, index) => {
    const inline = objectAt(part, 'inlineData');
    return inline ? [decodeMedia(inline, [...path, index, 'inlineData'])] : [];
  });
}

function decodeMedia(inline: JsonObject, path: Path): DecodedMedia {
  const declared = textAt(inline, 'mimeType') ?? '';
  const mimeType = plainMediaType(declared);
  if (!/^[\w.+-]+\/[\w.+-]+$/.test(mimeType))
    throw badValue([...path, 'mimeType'], `${JSON.stringify(declared)} is not a media type`);
  const bytes = decodeBase64(textAt(inline, 'data') ?? '', [...path, 'data']);
  const real = sniffMediaType(bytes);
  if (real !== undefined && real !== mimeType && !(real === 'image/heic' && mimeType === 'image/heif')) {
    throw badValue([...path, 'mimeType'], `the bytes are ${real}, not ${declared}`);
  }
  return { mimeType, bytes, path: [...path, 'data'] };
}

function toolOffers(tool: JsonValue): ToolOffer[] {
  return listAt(tool, 'functionDeclarations').map((declaration) => ({
    name: textAt(declaration, 'name') ?? '',
    schema: valueAt(declaration, 'parametersJsonSchema') ?? valueAt(declaration, 'parameters'),
  }));
}

function readToolChoice(config: JsonObject): ToolChoice {
  const names = textsAt(config, 'allowedFunctionNames');
  const modes: Record<string, ToolChoice['mode']> = { ANY: 'any', NONE: 'none' };
  return { mode: findOwn(modes, textAt(config, 'mode') ?? '') ?? 'auto', names: names.length > 0 ? names : undefined };
}
