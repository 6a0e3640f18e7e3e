import type { JsonObject } from '../../json.ts';
import type { Fault } from '../faults/fault.ts';
import { findFault } from '../faults/table.ts';
import { textAt, listAt, objectAt } from '../fields/read.ts';
import { findLocalModel, isVendorModel, listModels } from '../models/local.ts';
import { countInput, draftAnswer } from '../models/text.ts';
import { Problem } from '../problem.ts';
import { streamReply, type Piece } from '../http/send.ts';
import type { Call, Reply, RequestContext } from '../types.ts';
import { encodeEvent, messageEvents, type StreamEvent } from './events.ts';
import { readMessagesRequest, type MessagesRequest } from './request.ts';
import type { Draft } from '../models/task.ts';

const fallbackModel = 'local-chat';

/** One exchange of the messages format with an offline model. Throws Problem and Violation. */
export async function answerMessages(call: Call, body: JsonObject, context: RequestContext): Promise<Reply> {
  const { fault, named } = findModel(body, context);
  const whole = context.reading.level === 'spec' ? named : context.threads.complete(named);
  const request = readMessagesRequest(whole, context.reading);
  checkVersionRules(whole, call.version);
  const { model } = request.task;
  const attempt = fault && context.attempt(request.stream);
  if (attempt) await fault?.before?.(attempt);
  const made = messageReply(request, context.id);
  const message = fault?.message?.(made) ?? made;
  context.threads.keep(whole, message);
  const reply = { ...(request.stream ? streamed(message, fault, { call, context }) : jsonReply(message)), model };
  return attempt && fault?.reply ? fault.reply(reply, attempt) : reply;
}

/** `/v1/messages/count_tokens`: a request without its limit. Throws Problem and Violation. */
export async function countMessage(_call: Call, body: JsonObject, context: RequestContext): Promise<Reply> {
  const { named } = findModel(body, context);
  const request = readMessagesRequest({ ...named, max_tokens: Number.MAX_SAFE_INTEGER }, context.reading);
  return { ...jsonReply({ input_tokens: countInput(request.task) }), model: request.task.model };
}

interface FoundModel {
  fault: Fault | undefined;
  /** The body with the name of the local model. */
  named: JsonObject;
}

function findModel(body: JsonObject, { fallback, rules, note }: RequestContext): FoundModel {
  const asked = textAt(body, 'model');
  const fault = findFault(asked ?? '');
  if (asked === undefined || fault || findLocalModel(asked)?.draws === false) return { fault, named: body };
  if (!fallback || !isVendorModel(asked, rules)) throw unknownModel(asked, rules);
  note(`${asked.slice(0, 100)} is answered by ${fallbackModel}`);
  return { fault, named: { ...body, model: fallbackModel } };
}

function jsonReply(message: JsonObject): Reply {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(message) };
}

function streamed(
  message: JsonObject,
  fault: Fault | undefined,
  { call, context: { pace } }: { call: Call; context: RequestContext },
): Reply {
  const events = messageEvents(message);
  const pieces = encode(fault?.events?.(events) ?? events);
  return streamReply('text/event-stream; charset=utf-8', pieces, { pace, call });
}

function* encode(events: Iterable<StreamEvent>): Generator<Piece> {
  for (const event of events) yield { text: encodeEvent(event), waits: event.name === 'content_block_delta' };
}

function unknownModel(model: string, rules: RequestContext['rules']): Problem {
  if (rules) return new Problem(404, rules.unknownModel(model.slice(0, 100), ''));
  const hint = findLocalModel(model)
    ? 'it is served in the content format only'
    : `this gateway has ${listModels('messages')}`;
  return new Problem(404, `model: ${model.slice(0, 100)} (${hint})`);
}

const stopReasons: Readonly<Record<Draft['ended'], string>> = {
  end: 'end_turn',
  'max-tokens': 'max_tokens',
  'stop-sequence': 'stop_sequence',
  call: 'tool_use',
};

/** The reply of a text model. `id` is what its ids are made from. */
function messageReply(request: MessagesRequest, id: string): JsonObject {
  const { task } = request;
  const draft = draftAnswer(task);
  const output = draft.usage.thinking + draft.usage.answer;
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: task.model,
    content: contentBlocks(draft, request, id),
    stop_reason: stopReasons[draft.ended],
    stop_sequence: draft.stopSequence ?? null,
    stop_details: null,
    usage: {
      input_tokens: countInput(task),
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: output,
      ...(task.thinking && { output_tokens_details: { thinking_tokens: draft.usage.thinking } }),
      service_tier: 'standard',
      inference_geo: 'not_available',
    },
  };
}

function contentBlocks(draft: Draft, { task, showThinking }: MessagesRequest, id: string): JsonObject[] {
  const blocks: JsonObject[] = [];
  if (task.thinking) {
    const signature = Buffer.from(`offline ${id}`).toString('base64');
    blocks.push({ type: 'thinking', thinking: showThinking ? draft.thinking : '', signature });
  }
  if (draft.text !== '') blocks.push({ type: 'text', text: draft.text });
  if (draft.call) blocks.push({ type: 'tool_use', id: `toolu_${id}`, name: draft.call.name, input: draft.call.input });
  return blocks;
}

/** The first version that refuses what its models no longer take. */
const firstStrictVersion = '2026-10-21';

/** Fields that must keep their default, which is undefined where any value is refused. */
const samplingDefaults = { temperature: 1, top_p: 1, top_k: undefined };

const prefill = 'This model does not support assistant message prefill. The conversation must end with a user message.';

/** Refuses what a body may say under older versions only. The versions are dates. Throws Problem 400. */
function checkVersionRules(body: JsonObject, version = ''): void {
  if (version < firstStrictVersion) return;
  for (const [name, usual] of Object.entries(samplingDefaults)) {
    if ((body[name] ?? usual) !== usual) throw new Problem(400, `\`${name}\` is deprecated for this model.`);
  }
  const choice = textAt(objectAt(body, 'tool_choice'), 'type');
  if (choice === 'any' || choice === 'tool') {
    throw new Problem(400, `tool_choice.type: '${choice}' forces tool use, which this model does not support`);
  }
  if (textAt(listAt(body, 'messages').at(-1), 'role') === 'assistant') throw new Problem(400, prefill);
}
