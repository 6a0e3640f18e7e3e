import type { JsonObject } from '../../json.ts';
import type { Fault } from '../faults/fault.ts';
import { findFault } from '../faults/table.ts';
import { objectAt } from '../fields/read.ts';
import { drawsByName, isVendorModel } from '../models/stand-in.ts';
import { countInput } from '../models/text.ts';
import { pacedBody } from '../paced.ts';
import type { Surroundings } from '../surroundings.ts';
import { Problem } from '../problem.ts';
import type { Call, Reply } from '../types.ts';
import { imageReply, textReply, type MadePicture } from './answer.ts';
import { asksForImage, checkContentBody, holdsImage, readContentRequest, type ContentRequest } from './request.ts';
import { replyPieces } from './stream.ts';

const textModels = new Set(['local-text', 'local-chat']);
const imageModels = new Set(['local-image', 'local-edit']);
const json = { 'content-type': 'application/json; charset=UTF-8' };

/** One exchange of the content format with an offline model. Throws Problem and Violation. */
export async function answerContent(call: Call, body: JsonObject, surroundings: Surroundings): Promise<Reply> {
  const { request, model, fault } = readRequest(call, body, surroundings);
  const stream = call.operation === 'stream-generate';
  const visit = fault && surroundings.visit(stream);
  if (visit) await fault?.before?.(visit);
  const name = { model, id: surroundings.id };
  const drawn = imageModels.has(model) || (fault !== undefined && (isPictureFault(fault) || wantsImage(request, call)));
  const made = drawn ? imageReply(request, await makePictures(request, surroundings), name) : textReply(request, name);
  const answer = fault?.content?.(made) ?? made;
  const reply = { ...(stream ? streamReply(answer, call, surroundings) : jsonReply(answer)), model };
  return visit && fault?.reply ? fault.reply(reply, visit) : reply;
}

/** `:countTokens`: its body is a request, or holds one. Throws Problem and Violation. */
export async function countContent(call: Call, body: JsonObject, surroundings: Surroundings): Promise<Reply> {
  const inner = objectAt(body, 'generateContentRequest') ?? objectAt(body, 'generate_content_request') ?? body;
  const { request, model } = readRequest(call, inner, surroundings);
  const tokenCount = countInput(request.task);
  const counted = { totalTokens: tokenCount, promptTokensDetails: [{ modality: 'TEXT', tokenCount }] };
  return { ...jsonReply(counted), model };
}

interface Asked {
  request: ContentRequest;
  /** The local model that answers. */
  model: string;
  fault: Fault | undefined;
}

function readRequest(call: Call, body: JsonObject, { reading, standsIn, tell }: Surroundings): Asked {
  const asked = (call.model ?? '').replace(/^models\//, '');
  const fault = findFault(asked);
  const isKnown = fault !== undefined || textModels.has(asked) || imageModels.has(asked);
  if (!isKnown && !(standsIn && isVendorModel(asked))) throw unknownModel(asked);
  const checked = checkContentBody(body, reading);
  const model = isKnown ? asked : standInFor(asked, checked);
  if (!isKnown) tell(`${asked.slice(0, 100)} is answered by ${model}`);
  return { request: readContentRequest(checked, model), model, fault };
}

/** The local model of the use that a request shows. */
function standInFor(asked: string, body: JsonObject): string {
  if (!drawsByName(asked) && !asksForImage(body)) return 'local-text';
  return holdsImage(body) ? 'local-edit' : 'local-image';
}

/** Whether a fault is one of pictures alone: it draws, however it is asked. */
function isPictureFault({ commands }: Fault): boolean {
  return commands.every((command) => command.startsWith('image '));
}

/**
 * Whether a fault model, which knows both, is asked for a picture: the request says so, or comes in the form of
 * spec.md 5 for images (a bearer token) with nothing that only text models have.
 */
function wantsImage({ asksForImage: asks, task }: ContentRequest, { keyForm }: Call): boolean {
  const forText = task.tools.length > 0 || task.json || task.schema !== undefined || task.thinking;
  return asks || (keyForm === 'bearer' && !forText);
}

/** The painter is loaded only when there is something to paint: it would slow every text down. */
async function makePictures(request: ContentRequest, { variant }: Surroundings): Promise<MadePicture[]> {
  const studio = await import('../pictures/studio.ts');
  return studio.makePictures(request, variant);
}

function jsonReply(answer: JsonObject): Reply {
  return { status: 200, headers: json, body: JSON.stringify(answer) };
}

/** `?alt=sse` gives events with CRLF line ends, otherwise the pieces are a JSON list, as the public service has it. */
function streamReply(answer: JsonObject, call: Call, { pace }: Surroundings): Reply {
  const sse = call.query.get('alt') === 'sse';
  const head = { status: 200, headers: sse ? { 'content-type': 'text/event-stream' } : json };
  if (pace <= 0) return { ...head, body: encoded(answer, sse) };
  const pieces = [...encoded(answer, sse)].map((text, index) => ({ text, waits: index > 0 && text !== ']' }));
  return { ...head, ...pacedBody(pieces, { pace, signal: call.left.signal }) };
}

function* encoded(answer: JsonObject, sse: boolean): Generator<string> {
  let before = '[';
  for (const piece of replyPieces(answer)) {
    yield sse ? `data: ${JSON.stringify(piece)}\r\n\r\n` : before + JSON.stringify(piece);
    before = ',\r\n';
  }
  if (!sse) yield ']';
}

function unknownModel(model: string): Problem {
  const known = [...textModels, ...imageModels].join(', ');
  const shown = model.slice(0, 100);
  return new Problem(
    404,
    `models/${shown} is not found, or is not supported for generateContent. This gateway has ${known}.`,
  );
}
