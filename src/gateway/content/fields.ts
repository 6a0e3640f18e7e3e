import { isObject, type JsonValue } from '../../library/index.ts';
import { valueAt } from '../fields/read.ts';
import {
  anything,
  flag,
  freeObject,
  integer,
  list,
  number,
  object,
  oneOf,
  filledList,
  text,
  type Rule,
  aspectRatio,
  imageSize,
  badValue,
} from '../fields/rule.ts';

/** The fields of a part that hold its content; a part has one of them. */
const partKinds = {
  text,
  inlineData: object({ 'mimeType!': text, 'data!': text, displayName: text }),
  fileData: object({ mimeType: text, 'fileUri!': text, displayName: text }),
  functionCall: object({ id: text, 'name!': text, args: freeObject, partialArgs: anything, willContinue: flag }),
  functionResponse: object({
    id: text,
    'name!': text,
    'response!': freeObject,
    parts: list(anything),
    scheduling: text,
    willContinue: flag,
  }),
  executableCode: freeObject,
  codeExecutionResult: freeObject,
  toolCall: freeObject,
  toolResponse: freeObject,
};

const partFields = object({
  ...partKinds,
  thought: flag,
  thoughtSignature: text,
  videoMetadata: freeObject,
  mediaResolution: anything,
  partMetadata: freeObject,
  audioTranscription: anything,
  mediaProcessing: anything,
  speechMetadata: anything,
});

const checkPart: Rule = (value, path, mode) => {
  const read = partFields(value, path, mode);
  // A part of an unknown kind is empty once its unknown fields were left out.
  if (!mode.isStrict && isEmptyObject(read) && !isEmptyObject(value)) return read;
  const kinds = Object.keys(partKinds).filter((kind) => Object.hasOwn(Object(read), kind));
  // A signature can come back alone, since it came alone at the end of a stream. What a client says of a video alone is taken, too.
  const canBeAlone = ['thoughtSignature', 'videoMetadata'].some((name) => valueAt(read, name) !== undefined);
  if (kinds.length === 1 || (kinds.length === 0 && canBeAlone)) return read;
  const fault =
    kinds.length === 0
      ? "required oneof field 'data' must have one initialized field"
      : `only one of ${kinds.join(', ')} may stand in a part`;
  throw badValue([...path, 'data'], fault);
};

function isEmptyObject(value: JsonValue): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

const content = object({ role: oneOf('user', 'model', 'function'), 'parts!': filledList(checkPart) });

const declaration = object({
  'name!': text,
  description: text,
  behavior: text,
  parameters: freeObject,
  parametersJsonSchema: anything,
  response: freeObject,
  responseJsonSchema: anything,
});

const toolList = list(
  object({
    functionDeclarations: list(declaration),
    googleSearch: freeObject,
    googleSearchRetrieval: freeObject,
    codeExecution: freeObject,
    urlContext: freeObject,
    googleMaps: freeObject,
    fileSearch: freeObject,
    computerUse: freeObject,
    mcpServers: anything,
  }),
);

/** Some clients send a single tool instead of a list. */
const tools: Rule = (value, path, mode) => toolList(Array.isArray(value) ? value : [value], path, mode);

/** A name of an enum, which the service also takes in small letters. */
function enumName(...allowed: readonly string[]): Rule {
  return (value, path, mode) => oneOf(...allowed)(typeof value === 'string' ? value.toUpperCase() : value, path, mode);
}

const toolConfig = object({
  functionCallingConfig: object({
    mode: enumName('AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED'),
    allowedFunctionNames: list(text),
  }),
  retrievalConfig: freeObject,
  includeServerSideToolInvocations: flag,
});

const generationConfig = object({
  temperature: number,
  topP: number,
  topK: number,
  candidateCount: integer({ min: 1, max: 8 }),
  maxOutputTokens: integer({ min: 1 }),
  stopSequences: list(text),
  seed: integer(),
  responseMimeType: oneOf('text/plain', 'application/json', 'text/x.enum'),
  responseSchema: freeObject,
  responseJsonSchema: anything,
  presencePenalty: number,
  frequencyPenalty: number,
  responseLogprobs: flag,
  logprobs: integer(),
  responseModalities: list(enumName('TEXT', 'IMAGE', 'AUDIO', 'VIDEO', 'MODALITY_UNSPECIFIED')),
  mediaResolution: text,
  speechConfig: freeObject,
  responseFormat: anything,
  audioTranscriptionConfig: freeObject,
  translationConfig: freeObject,
  enableEnhancedCivicAnswers: flag,
  thinkingConfig: object({ includeThoughts: flag, thinkingBudget: integer(), thinkingLevel: text }),
  imageConfig: object({
    aspectRatio,
    imageSize,
    personGeneration: text,
    outputMimeType: text,
    outputCompressionQuality: integer(),
    imageOutputOptions: freeObject,
    prominentPeople: text,
  }),
});

/** The rule for a whole request body of the content format. */
export const contentBody = object({
  'contents!': filledList(content),
  systemInstruction: content,
  generationConfig,
  safetySettings: list(object({ 'category!': text, 'threshold!': text, method: text })),
  tools,
  toolConfig,
  cachedContent: text,
  serviceTier: text,
  store: flag,
  labels: freeObject,
  model: text,
  continuationToken: text,
});
