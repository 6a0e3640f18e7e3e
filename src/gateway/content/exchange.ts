import type { JsonObject } from '../../json.ts';
import type { Fault } from '../faults/fault.ts';
import { findFault } from '../faults/table.ts';
import { objectAt } from '../fields/read.ts';
import { drawsByName, findLocalModel, isVendorModel, listModels } from '../models/local.ts';
import { countInput } from '../models/text.ts';
import { Problem } from '../problem.ts';
import { streamReply, type Piece } from '../http/send.ts';
import type { Call, Reply, RequestContext } from '../types.ts';
import { imageReply, textReply, replyPieces } from './answer.ts';
import { asksForImage, checkContentBody, holdsImage, readContentRequest, type ContentRequest } from './request.ts';

const json = 'application/json; charset=UTF-8';

/** One exchange of the content format with an offline model. Throws Problem and Violation. */
export async function answerContent(call: Call, body: JsonObject, context: RequestContext): Promise<Reply> {
  const { request, model, fault } = readRequest(call, body, context);
  const stream = call.operation === 'stream-generate';
  const attempt = fault && context.attempt(stream);
  if (attempt) await fault?.before?.(attempt);
  const name = { model, id: context.id };
  const made = draws(request, call, fault)
    ? imageReply(request, await drawPictures(request, context), name)
    : textReply(request, name);
  const answer = fault?.content?.(made) ?? made;
  const reply = { ...(stream ? streamed(answer, fault, { call, context }) : jsonReply(answer)), model };
  return attempt && fault?.reply ? fault.reply(reply, attempt) : reply;
}

/** `:countTokens`: its body is a request, or holds one. Throws Problem and Violation. */
export async function countContent(call: Call, body: JsonObject, context: RequestContext): Promise<Reply> {
  const inner = objectAt(body, 'generateContentRequest') ?? objectAt(body, 'generate_content_request') ?? body;
  const { request, model } = readRequest(call, inner, context);
  const tokenCount = countInput(request.task);
  const counted = { totalTokens: tokenCount, promptTokensDetails: [{ modality: 'TEXT', tokenCount }] };
  return { ...jsonReply(counted), model };
}

interface ReadRequest {
  request: ContentRequest;
  /** The local model that answers. */
  model: string;
  fault: Fault | undefined;
}

function readRequest(call: Call, body: JsonObject, { reading, fallback, rules, note }: RequestContext): ReadRequest {
  const asked = (call.model ?? '').replace(/^models\//, '');
  const fault = findFault(asked);
  const isKnown = fault !== undefined || findLocalModel(asked) !== undefined;
  if (!isKnown && !(fallback && isVendorModel(asked, rules))) throw unknownModel(asked, call, rules);
  const checked = checkContentBody(body, reading);
  const model = isKnown ? asked : fallbackFor(asked, checked);
  if (!isKnown) note(`${asked.slice(0, 100)} is answered by ${model}`);
  return { request: readContentRequest(checked, model), model, fault };
}

/** The local model for what a request asks of a vendor's model. */
function fallbackFor(asked: string, body: JsonObject): string {
  if (!drawsByName(asked) && !asksForImage(body)) return 'local-text';
  return holdsImage(body) ? 'local-edit' : 'local-image';
}

/**
 * Whether a picture is the answer. A fault model knows pictures and text: it draws where it is a fault of pictures alone,
 * where the request says so, and where it comes with the bearer token of image requests and nothing that only text has.
 */
function draws({ task, asksForImage: asks }: ContentRequest, { keyForm }: Call, fault: Fault | undefined): boolean {
  if (!fault) return findLocalModel(task.model)?.draws === true;
  const forText = task.tools.length > 0 || task.json || task.schema !== undefined || task.thinking;
  const ofPictures = fault.commands.every((command) => command.startsWith('image '));
  return ofPictures || asks || (keyForm === 'bearer' && !forText);
}

/** The drawing code is loaded only when there is something to draw: it would slow every text down. */
async function drawPictures(request: ContentRequest, { variant }: RequestContext) {
  const { makePictures } = await import('../pictures/generate.ts');
  return makePictures(request, variant);
}

function jsonReply(answer: JsonObject): Reply {
  return { status: 200, headers: { 'content-type': json }, body: JSON.stringify(answer) };
}

/** `?alt=sse` gives events with CRLF line ends, otherwise the pieces are a JSON list, as the public service has it. */
function streamed(
  answer: JsonObject,
  fault: Fault | undefined,
  { call, context: { pace } }: { call: Call; context: RequestContext },
): Reply {
  const sse = call.query.get('alt') === 'sse';
  const pieces = replyPieces(answer);
  return streamReply(sse ? 'text/event-stream' : json, encode(fault?.pieces?.(pieces) ?? pieces, sse), { pace, call });
}

function* encode(pieces: Iterable<JsonObject | string>, sse: boolean): Generator<Piece> {
  let before = '[';
  for (const piece of pieces) {
    const text = typeof piece === 'string' ? piece : JSON.stringify(piece);
    yield { text: sse ? `data: ${text}\r\n\r\n` : before + text, waits: before !== '[' };
    before = ',\r\n';
  }
  if (!sse) yield { text: ']', waits: false };
}

function unknownModel(model: string, { target }: Call, rules: RequestContext['rules']): Problem {
  const shown = model.slice(0, 100);
  if (rules) return new Problem(404, rules.unknownModel(shown, target));
  const why = `is not found, or is not supported for generateContent. This gateway has ${listModels('content')}.`;
  return new Problem(404, `models/${shown} ${why}`);
}
