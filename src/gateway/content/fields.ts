import { isObject } from '../../json.ts';
import type { JsonValue } from '../../json.ts';
import { anything, flag, freeObject, list, object, oneOf, text, type Rule } from '../fields/rule.ts';
import { generationConfig } from './generation-config.ts';
import { badValue, type Path } from '../fields/violation.ts';

/** The one field of a part that makes it what it is */
const partKinds = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
] as const;

function requireOneKind(part: JsonValue, path: Path): void {
  const kinds = partKinds.filter((kind) => Object.hasOwn(Object(part), kind));
  if (kinds.length === 0)
    throw badValue([...path, 'data'], "required oneof field 'data' must have one initialized field");
  if (kinds.length > 1) throw badValue([...path, 'data'], `only one of ${kinds.join(', ')} may stand in a part`);
}

const functionResponse = {
  id: text,
  name: text,
  response: freeObject,
  parts: list(anything),
  scheduling: text,
  willContinue: flag,
};

const partFields = object({
  text,
  inlineData: object({ mimeType: text, data: text, displayName: text }, { required: ['mimeType', 'data'] }),
  functionCall: object({ id: text, name: text, args: freeObject }, { required: ['name'] }),
  fileData: object({ mimeType: text, fileUri: text, displayName: text }, { required: ['fileUri'] }),
  functionResponse: object(functionResponse, { required: ['name', 'response'] }),
  executableCode: freeObject,
  codeExecutionResult: freeObject,
  toolCall: freeObject,
  toolResponse: freeObject,
  thought: flag,
  thoughtSignature: text,
  videoMetadata: freeObject,
  mediaResolution: anything,
  partMetadata: freeObject,
  audioTranscription: anything,
  mediaProcessing: anything,
  speechMetadata: anything,
});

const part: Rule = (value, path, reading) => {
  const read = partFields(value, path, reading);
  // A part of a kind that is not known is empty once that was left out.
  const isLeftOut = reading.ignore && isEmpty(read) && !isEmpty(value);
  if (!isLeftOut) requireOneKind(read, path);
  return read;
};

function isEmpty(value: JsonValue): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

const content = object(
  { role: oneOf(['user', 'model', 'function']), parts: list(part, { min: 1 }) },
  { required: ['parts'] },
);

const declaration = object(
  {
    name: text,
    description: text,
    behavior: text,
    parameters: freeObject,
    parametersJsonSchema: anything,
    response: freeObject,
    responseJsonSchema: anything,
  },
  { required: ['name'] },
);

const severalTools = list(
  object({
    functionDeclarations: list(declaration, { max: 512 }),
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
const tools: Rule = (value, path, reading) =>
  severalTools(reading.lenient && !Array.isArray(value) ? [value] : value, path, reading);

const functionCalling = object({
  mode: oneOf(['AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED']),
  allowedFunctionNames: list(text),
});

const toolConfig = object({
  functionCallingConfig: functionCalling,
  retrievalConfig: freeObject,
  includeServerSideToolInvocations: flag,
});

const safetySetting = object({ category: text, threshold: text }, { required: ['category', 'threshold'] });

/** The rule for a whole request body of the content format. */
export const contentBody = object(
  {
    contents: list(content, { min: 1 }),
    systemInstruction: content,
    generationConfig,
    safetySettings: list(safetySetting),
    tools,
    toolConfig,
    cachedContent: text,
  },
  { required: ['contents'], beyond: { serviceTier: text, store: flag, labels: freeObject, model: text } },
);
