import { findOwn, type JsonObject, type JsonValue } from '../../library/index.ts';
import { readDataUrl } from '../completions/format.ts';
import { flagAt, listAt, numberAt, objectAt, textAt, textsAt, valueAt } from '../fields/read.ts';
import { customTool, type DecodedMedia, type TextTask, type ToolChoice, type ToolOffer } from '../models/task.ts';
import { decodeStops } from '../../library/formats/decoded-request.ts';
import { decodeResponsesRequest } from '../../library/formats/responses/decode.ts';
import { readTask } from '../models/read-task.ts';
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
      task: toTask(checked, items, model),
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
  keep: (reply, request, { responses }) => keepResponse(reply, request, responses),
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

function toTask(body: JsonObject, items: readonly JsonValue[], model: string): TextTask {
  const last = items.findLastIndex(isUser);
  const answered = isResult(items.at(-1));
  const begin = answered ? items.findLastIndex((item) => !isResult(item)) + 1 : items.length;
  const kind = textAt(objectAt(objectAt(body, 'text'), 'format'), 'type');
  const added = items.flatMap((item) => (textAt(item, 'type') === 'additional_tools' ? listAt(item, 'tools') : []));
  return readTask(
    {
      ...decodeResponsesRequest({ ...body, input: [...items] }),
      stop: decodeStops(body['stop']),
      seed: numberAt(body, 'seed'),
    },
    {
      model,
      media: answered
        ? items
            .slice(begin)
            .flatMap((item, index) => readMedia(valueAt(item, 'output'), ['input', begin + index, 'output']))
        : readMedia(valueAt(items[last], 'content'), ['input', last, 'content']),
      tools: [...listAt(body, 'tools'), ...added].flatMap(toolOffer),
      choice: readToolChoice(valueAt(body, 'tool_choice')),
      json: kind === 'json_schema' || kind === 'json_object',
      thinking: (textAt(objectAt(body, 'reasoning'), 'effort') ?? 'none') !== 'none',
    },
  );
}

/** The functions and custom tools in a tool; a bundle has several. The offline models do not call tools that run at the service. */
function toolOffer(tool: JsonValue): ToolOffer[] {
  const type = textAt(tool, 'type');
  if (type === 'namespace') return listAt(tool, 'tools').flatMap(toolOffer);
  const name = textAt(tool, 'name');
  if (type === 'custom' && name !== undefined) return [customTool(name)];
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
  return { mode: findOwn(modes, mode ?? 'auto') ?? 'auto', names: names.length > 0 ? names : undefined };
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
