import {
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  numberField,
  objectField,
  textField,
} from '../../json.ts';
import type { Turn } from '../plain-request.ts';
import { asksForSearch } from '../search-tool.ts';
import { type DecodedRequest, decodeEffort, decodeStops } from '../decoded-request.ts';

/** Reads a request of the format, such as `encode` writes. */
export function decodeContentRequest(body: JsonObject): DecodedRequest {
  const config = objectField(body, 'generationConfig') ?? {};
  const calling = objectField(objectField(body, 'toolConfig') ?? {}, 'functionCallingConfig') ?? {};
  const tools = (listField(body, 'tools') ?? []).flatMap(decodeTools);
  const system = objectField(body, 'systemInstruction');
  return {
    system: system && listTexts(system).join('\n'),
    turns: decodeTurns(listField(body, 'contents') ?? []),
    tools,
    search: asksForSearch(listField(body, 'tools') ?? []),
    toolChoice: decodeChoice(calling, tools),
    schema: config['responseJsonSchema'] ?? config['responseSchema'],
    responseMime: textField(config, 'responseMimeType'),
    maxTokens: numberField(config, 'maxOutputTokens'),
    temperature: numberField(config, 'temperature'),
    topP: numberField(config, 'topP'),
    topK: numberField(config, 'topK'),
    candidates: numberField(config, 'candidateCount'),
    seed: numberField(config, 'seed'),
    stop: decodeStops(config['stopSequences']),
    effort: decodeEffort(textField(objectField(config, 'thinkingConfig') ?? {}, 'thinkingLevel')),
    safety: decodeSafety(body['safetySettings']),
    cachedContent: textField(body, 'cachedContent'),
  };
}

/** No other format has a list of some of the tools: its names are not read. */
function decodeChoice(calling: JsonObject, tools: readonly JsonObject[]): string | undefined {
  const mode = textField(calling, 'mode')?.toLowerCase();
  if (mode !== 'any') return mode === 'none' ? mode : undefined;
  const names = listField(calling, 'allowedFunctionNames') ?? [];
  if (names.length === 1) return `tool:${String(names[0])}`;
  const isAll = names.length === tools.length && tools.every(({ name = '' }) => names.includes(name));
  return names.length === 0 || isAll ? mode : undefined;
}

function decodeSafety(settings: JsonValue | undefined): DecodedRequest['safety'] {
  if (settings === undefined) return undefined;
  return [settings]
    .flat()
    .filter(isObject)
    .map((setting) => ({
      category: textField(setting, 'category') ?? '',
      threshold: textField(setting, 'threshold') ?? '',
    }));
}

function listTexts(content: JsonObject): string[] {
  return partsOf(content).flatMap((part) => textField(part, 'text') ?? []);
}

function partsOf(content: JsonValue): JsonObject[] {
  return isObject(content) ? (listField(content, 'parts') ?? []).filter(isObject) : [];
}

/** A result names the function, and not the call: it belongs to the oldest call of this name without a result. */
function decodeTurns(contents: readonly JsonValue[]): Turn[] {
  const open: { id: string; name: string }[] = [];
  let calls = 0;
  const decodePart = (part: JsonObject): JsonObject[] => {
    const [text, inline, file] = [
      textField(part, 'text'),
      objectField(part, 'inlineData'),
      objectField(part, 'fileData'),
    ];
    const [call, result] = [objectField(part, 'functionCall'), objectField(part, 'functionResponse')];
    if (text !== undefined) return part['thought'] === true ? [] : [{ type: 'text', text }];
    if (inline) return [mediaBlock(textField(inline, 'mimeType') ?? '', inline['data'] ?? '')];
    if (file) return [linkBlock(textField(file, 'mimeType') ?? 'image/*', textField(file, 'fileUri') ?? '')];
    if (call) {
      const named = { id: textField(call, 'id') ?? `call_${calls++}`, name: textField(call, 'name') ?? '' };
      open.push(named);
      return [{ type: 'tool_use', ...named, input: call['args'] ?? {} }];
    }
    if (!result) return [];
    const name = textField(result, 'name') ?? '';
    const at = open.findIndex((each) => each.id === textField(result, 'id') || each.name === name);
    const [answered] = at === -1 ? [] : open.splice(at, 1);
    const content = [{ type: 'text', text: resultText(result['response'] ?? {}) }];
    return [{ type: 'tool_result', tool_use_id: answered?.id ?? name, content }];
  };
  return contents.map((content) => ({
    role: isObject(content) && content['role'] === 'model' ? 'assistant' : 'user',
    content: partsOf(content).flatMap(decodePart),
  }));
}

/** A text is in `result`; every other value is JSON. */
function resultText(response: JsonValue): string {
  const result = isObject(response) && Object.keys(response).length === 1 ? response['result'] : undefined;
  return typeof result === 'string' ? result : JSON.stringify(response);
}

/** A file as a block of a turn. */
export function mediaBlock(mimeType: string, data: JsonValue): JsonObject {
  return { type: blockType(mimeType), source: { type: 'base64', media_type: mimeType, data } };
}

function linkBlock(mimeType: string, url: string): JsonObject {
  return { type: blockType(mimeType), source: { type: 'url', url } };
}

function blockType(mimeType: string): string {
  return mimeType.startsWith('image/') ? 'image' : 'document';
}

function decodeTools(tool: JsonValue): JsonObject[] {
  const declared = isObject(tool) ? (listField(tool, 'functionDeclarations') ?? []) : [];
  return declared.filter(isObject).map(({ name = '', description, parametersJsonSchema, parameters }) => ({
    name,
    ...(description !== undefined && { description }),
    schema: parametersJsonSchema ?? parameters ?? { type: 'object' },
  }));
}
