import type { JsonObject } from '../../json.ts';
import type { Fault } from '../faults/fault.ts';
import { findFault } from '../faults/table.ts';
import { textAt } from '../fields/read.ts';
import { isVendorModel } from '../models/stand-in.ts';
import { countInput } from '../models/text.ts';
import { pacedBody } from '../paced.ts';
import type { Surroundings } from '../surroundings.ts';
import { Problem } from '../problem.ts';
import type { Call, Reply } from '../types.ts';
import { messageReply } from './answer.ts';
import { encodeEvent, messageEvents, type StreamEvent } from './events.ts';
import { readMessagesRequest } from './request.ts';

const models = new Set(['local-chat', 'local-text']);
const standIn = 'local-chat';

/** One exchange of the messages format with an offline model. Throws Problem and Violation. */
export async function answerMessages(call: Call, body: JsonObject, surroundings: Surroundings): Promise<Reply> {
  const { fault, named } = findModel(body, surroundings);
  const request = readMessagesRequest(named, surroundings.reading);
  const { model } = request.task;
  const visit = fault && surroundings.visit(request.stream);
  if (visit) await fault?.before?.(visit);
  const made = messageReply(request, surroundings.id);
  const message = fault?.message?.(made) ?? made;
  const events = fault?.events ?? ((all: Iterable<StreamEvent>) => all);
  const reply = {
    ...(request.stream ? streamReply(events(messageEvents(message)), call, surroundings) : jsonReply(message)),
    model,
  };
  return visit && fault?.reply ? fault.reply(reply, visit) : reply;
}

/** `/v1/messages/count_tokens`: a request without its limit. Throws Problem and Violation. */
export async function countMessage(_call: Call, body: JsonObject, surroundings: Surroundings): Promise<Reply> {
  const { named } = findModel(body, surroundings);
  const request = readMessagesRequest({ ...named, max_tokens: Number.MAX_SAFE_INTEGER }, surroundings.reading);
  return { ...jsonReply({ input_tokens: countInput(request.task) }), model: request.task.model };
}

interface FoundModel {
  fault: Fault | undefined;
  /** The body with the name of the local model. */
  named: JsonObject;
}

function findModel(body: JsonObject, { standsIn, tell }: Surroundings): FoundModel {
  const asked = textAt(body, 'model');
  const fault = findFault(asked ?? '');
  if (asked === undefined || fault || models.has(asked)) return { fault, named: body };
  if (!standsIn || !isVendorModel(asked)) throw unknownModel(asked);
  tell(`${asked.slice(0, 100)} is answered by ${standIn}`);
  return { fault, named: { ...body, model: standIn } };
}

function jsonReply(message: JsonObject): Reply {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(message) };
}

function streamReply(events: Iterable<StreamEvent>, call: Call, { pace }: Surroundings): Reply {
  const head = { status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' } };
  if (pace <= 0) return { ...head, body: encoded(events) };
  const pieces = Array.from(events, (event) => ({ text: encodeEvent(event), waits: event.paced }));
  return { ...head, ...pacedBody(pieces, { pace, signal: call.left.signal }) };
}

function* encoded(events: Iterable<StreamEvent>): Generator<string> {
  for (const event of events) yield encodeEvent(event);
}

function unknownModel(model: string): Problem {
  const drawn = model === 'local-image' || model === 'local-edit';
  const hint = drawn ? 'it is served in the content format only' : `this gateway has ${[...models].join(', ')}`;
  return new Problem(404, `model: ${model.slice(0, 100)} (${hint})`);
}
