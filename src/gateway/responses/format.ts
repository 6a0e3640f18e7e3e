import type { JsonObject, JsonValue } from '../../json.ts';
import { readDataUrl } from '../completions/format.ts';
import { flagAt, joinedTextAt, listAt, numberAt, objectAt, textAt, textsAt, valueAt } from '../fields/read.ts';
import { customTool, type DecodedMedia, type TextTask, type ToolChoice, type ToolOffer } from '../models/task.ts';
import type { GatewayOperation, OperationCount, Path } from '../types.ts';
import { responsesBody } from './fields.ts';
import { gatherItems, keepResponse } from './store.ts';
import { repeatRequest, responsesReply, responsesStream } from './reply.ts';

/** `/v1/responses`, OpenAI's other format for texts. Its errors and its list of models are those of completions. */
export const responsesOperation: GatewayOperation = {
  serves: ({ draws }) => !draws,
  modelOf: (_request, body) => textAt(body, 'model'),
  check: (body, mode) => responsesBody(body, [], mode),
  fallback: () => 'local-chat',
  read(checked, model, _request, { responses }) {
    const items = gatherItems(checked, listItems(checked), responses);
    return {
      task: readTask(checked, items, model),
      candidates: 1,
      stream: flagAt(checked, 'stream'),
      showThinking: textAt(objectAt(checked, 'reasoning'), 'summary') !== undefined,
      encryptsThinking: textsAt(checked, 'include').includes('reasoning.encrypted_content'),
      tier: textAt(checked, 'service_tier')?.replace('auto', 'default').replace('fast', 'priority'),
      repeated: repeatRequest(checked),
      items,
      image: { isAsked: false, promptPath: ['input'], imagePath: ['input'] },
    };
  },
  reply: responsesReply,
  repliesFailure: true,
  keep(reply, request, { inBatch, responses }) {
    if (!inBatch) keepResponse(reply, request, responses);
  },
  contentType: 'application/json',
  stream: responsesStream,
};

/** `/v1/responses/input_tokens`. */
export const responsesCount: OperationCount = {
  bodyOf: (body) => body,
  reply: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
};

/** The items of the input: a text is a message of the user. */
function listItems({ input = '' }: JsonObject): JsonValue[] {
  return Array.isArray(input) ? input : [{ role: 'user', content: input }];
}

/** Whether an item is the result of a call. */
function isResult(item: JsonValue | undefined): boolean {
  return ['function_call_output', 'custom_tool_call_output'].includes(textAt(item, 'type') ?? '');
}

function isUser(item: JsonValue): boolean {
  return textAt(item, 'role') === 'user';
}

function readTask(body: JsonObject, items: readonly JsonValue[], model: string): TextTask {
  const texts = items.map((item) => joinedTextAt(item, 'content'));
  const last = items.findLastIndex(isUser);
  // If the last items are results of tools, the user's message before them was already answered.
  const answered = isResult(items.at(-1));
  const begin = answered ? items.findLastIndex((item) => !isResult(item)) + 1 : items.length;
  const results = items.slice(begin);
  const textsBy = (roles: readonly string[], end = items.length): string[] =>
    texts.filter((text, index) => text !== '' && index < end && roles.includes(textAt(items[index], 'role') ?? ''));
  const system = [textAt(body, 'instructions') ?? '', ...textsBy(['system', 'developer'])];
  const format = objectAt(objectAt(body, 'text'), 'format');
  const kind = textAt(format, 'type');
  const added = items.flatMap((item) => (textAt(item, 'type') === 'additional_tools' ? listAt(item, 'tools') : []));
  return {
    model,
    prompt: answered ? '' : (texts[last] ?? ''),
    system: system.filter((text) => text !== '').join('\n') || undefined,
    earlier: textsBy(['user'], answered ? last + 1 : last),
    media: answered
      ? results.flatMap((item, index) => readMedia(valueAt(item, 'output'), ['input', begin + index, 'output']))
      : readMedia(valueAt(items[last], 'content'), ['input', last, 'content']),
    toolResults: results.map((item) => toolResult(item, items)),
    tools: [...listAt(body, 'tools'), ...added].flatMap(toolOffer),
    choice: readToolChoice(valueAt(body, 'tool_choice')),
    schema: valueAt(format, 'schema'),
    json: kind === 'json_schema' || kind === 'json_object',
    thinking: (textAt(objectAt(body, 'reasoning'), 'effort') ?? 'none') !== 'none',
    maxTokens: numberAt(body, 'max_output_tokens'),
    stop: [textAt(body, 'stop') ?? textsAt(body, 'stop')].flat(),
    seed: numberAt(body, 'seed'),
  };
}

function toolResult(result: JsonValue, items: readonly JsonValue[]): { name: string; text: string } {
  const id = textAt(result, 'call_id');
  const call = items.find((item) => textAt(item, 'call_id') === id);
  return { name: textAt(call, 'name') ?? '', text: joinedTextAt(result, 'output') };
}

/** The functions and custom tools of a tool: of a bundle those that are in it. The offline models do not call tools that run at the service. */
function toolOffer(tool: JsonValue): ToolOffer[] {
  const type = textAt(tool, 'type');
  if (type === 'namespace') return listAt(tool, 'tools').flatMap(toolOffer);
  const name = textAt(tool, 'name');
  if (type === 'custom' && name !== undefined) return [customTool(name, valueAt(tool, 'format'))];
  return type === 'function' && name !== undefined ? [{ name, schema: valueAt(tool, 'parameters') }] : [];
}

function readToolChoice(choice: JsonValue | undefined): ToolChoice {
  const type = textAt(choice, 'type');
  const isAllowed = type === 'allowed_tools';
  const mode = typeof choice === 'string' ? choice : isAllowed ? textAt(choice, 'mode') : type && 'required';
  const named = isAllowed ? listAt(choice, 'tools') : [choice ?? null];
  // A tool that runs at the service has no name.
  const names = named.flatMap((tool) => textAt(tool, 'name') ?? textAt(tool, 'type') ?? []);
  const modes: Record<string, ToolChoice['mode']> = { required: 'any', none: 'none' };
  return { mode: modes[mode ?? 'auto'] ?? 'auto', names: names.length > 0 ? names : undefined };
}

/** The images and files of a content that it holds itself; addresses are not fetched. Throws Violation. */
function readMedia(content: JsonValue | undefined, path: Path): DecodedMedia[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part, index) =>
    ['image_url', 'file_data'].flatMap((field) => {
      const url = textAt(part, field);
      return url === undefined ? [] : readDataUrl(url, [...path, index, field]);
    }),
  );
}
