import type { JsonValue } from '../../json.ts';
import { anything, flag, freeObject, list, object, oneOf, text, type Fields, type Rule } from '../fields/rule.ts';
import { generationConfig } from './generation-config.ts';
import { badValue, type Path } from '../fields/violation.ts';

/** How strictly a body is read: `lenient` takes the snake_case names of client libraries too (spec.md 2.1). */
export interface Strictness {
  lenient: boolean;
}

/** The rule for a whole request body of the content format (spec.md 2.1; wire.md 1 where it says "not shown"). */
export function contentBody({ lenient }: Strictness): Rule {
  return (rules[Number(lenient)] ??= buildRule(lenient));
}

/** Built once: a request would leave as much garbage as all else that it is read with. */
const rules: Rule[] = [];

function buildRule(lenient: boolean): Rule {
  const content = contentRule(lenient);
  const fields: Fields = {
    contents: list(content, { min: 1 }),
    systemInstruction: content,
    generationConfig: generationConfig(lenient),
    safetySettings: list(object({ category: text, threshold: text }, { required: ['category', 'threshold'], lenient })),
    tools: toolsRule(lenient),
    toolConfig: toolConfig(lenient),
    cachedContent: text,
    ...(lenient && { serviceTier: text, store: flag, labels: freeObject, model: text }),
  };
  return object(fields, { required: ['contents'], lenient });
}

/** The one field of a part that makes it what it is (wire.md 1). */
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

function contentRule(lenient: boolean): Rule {
  const fields: Fields = { role: oneOf(['user', 'model', 'function']), parts: list(partRule(lenient), { min: 1 }) };
  return object(fields, { required: ['parts'], lenient });
}

function partRule(lenient: boolean): Rule {
  const rule = object(partFields(lenient), { lenient });
  return (value, path) => {
    const part = rule(value, path);
    requireOneKind(part, path);
    return part;
  };
}

function requireOneKind(part: JsonValue, path: Path): void {
  const kinds = partKinds.filter((kind) => Object.hasOwn(Object(part), kind));
  if (kinds.length === 0)
    throw badValue([...path, 'data'], "required oneof field 'data' must have one initialized field");
  if (kinds.length > 1) throw badValue([...path, 'data'], `only one of ${kinds.join(', ')} may stand in a part`);
}

function partFields(lenient: boolean): Fields {
  const blob = object({ mimeType: text, data: text, displayName: text }, { required: ['mimeType', 'data'], lenient });
  const call = object({ id: text, name: text, args: freeObject }, { required: ['name'], lenient });
  const response = {
    id: text,
    name: text,
    response: freeObject,
    parts: list(anything),
    scheduling: text,
    willContinue: flag,
  };
  return {
    text,
    inlineData: blob,
    functionCall: call,
    fileData: object({ mimeType: text, fileUri: text, displayName: text }, { required: ['fileUri'], lenient }),
    functionResponse: object(response, { required: ['name', 'response'], lenient }),
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
  };
}

function toolsRule(lenient: boolean): Rule {
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
    { required: ['name'], lenient },
  );
  const tool = object(
    {
      functionDeclarations: list(declaration, { max: 512 }),
      googleSearch: freeObject,
      googleSearchRetrieval: freeObject,
      codeExecution: freeObject,
      urlContext: freeObject,
      googleMaps: freeObject,
      fileSearch: freeObject,
      computerUse: freeObject,
      mcpServers: anything,
    },
    { lenient },
  );
  const several = list(tool);
  // Some clients send a single tool instead of a list (wire.md 1).
  return (value, path) => several(lenient && !Array.isArray(value) ? [value] : value, path);
}

function toolConfig(lenient: boolean): Rule {
  const calling = {
    mode: oneOf(['AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED']),
    allowedFunctionNames: list(text),
  };
  return object(
    {
      functionCallingConfig: object(calling, { lenient }),
      retrievalConfig: freeObject,
      includeServerSideToolInvocations: flag,
    },
    { lenient },
  );
}
