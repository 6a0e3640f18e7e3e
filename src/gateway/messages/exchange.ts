import type { JsonObject } from '../../json.ts';
import type { Fault } from '../faults/fault.ts';
import { findFault } from '../faults/table.ts';
import { textAt } from '../fields/read.ts';
import { findLocalModel, isVendorModel, listModels } from '../models/local.ts';
import { countInput } from '../models/text.ts';
import { Problem } from '../problem.ts';
import { streamReply, type Piece } from '../stream-reply.ts';
import type { Call, Reply, RequestContext } from '../types.ts';
import { messageReply } from './answer.ts';
import { encodeEvent, messageEvents, type StreamEvent } from './events.ts';
import { readMessagesRequest } from './request.ts';
import { checkVersionRules } from './version-rules.ts';

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
