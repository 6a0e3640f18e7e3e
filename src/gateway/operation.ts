import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../library/index.ts';
import { type Fault, findFault } from './faults/table.ts';
import { findLocalModel, isVendorModel, listModelNames } from './models/local.ts';
import type { ModelAnswer, Candidate } from './models/task.ts';
import { countInput, describeUncalled, writeCandidate } from './models/text.ts';
import type {
  BodyHandler,
  GatewayRequest,
  ModelRequest,
  GatewayOperation,
  OperationCount,
  OperationStream,
  GatewayReply,
  RequestContext,
  StreamEvent,
} from './types.ts';

/** Answers an operation by an offline model. */
export function answerOperation(operation: GatewayOperation): BodyHandler {
  return async (request, body, context) => {
    const found = findModel(operation, request, body, context);
    const asked = readRequest(operation, body, found, { request, context });
    const scripted = context.script?.answer(asked, request);
    const read = { ...asked, pieces: scripted?.pieces };
    const fault = scripted?.fault ?? found.fault;
    const uncalled = scripted || fault ? undefined : describeUncalled(read.task);
    if (uncalled !== undefined) context.note(uncalled);
    const attempt = fault && context.attempt(read.stream);
    if (attempt) await fault?.before?.(attempt);
    const isDrawn = scripted?.draws === true || draws(fault, operation, read, request);
    const made = await makeAnswer(read, { candidate: scripted?.candidate, isDrawn }, context);
    const changed = fault?.answer?.(made) ?? made;
    const { failure } = changed;
    const written =
      failure && !operation.repliesFailure ? request.format.error(failure) : operation.reply(changed, read);
    operation.keep?.(written, read, context);
    const json = fault?.body?.(written, request.format.name) ?? written;
    const pacing = { request, pace: context.pace, pauses: scripted?.pauses ?? [] };
    const reply = { ...encodeReply(json, read, { operation, fault, pacing }), model: read.task.model };
    return attempt && fault?.reply ? fault.reply(reply, attempt) : reply;
  };
}

/** The reply with the JSON of an answer: as a stream, if the request wants one. */
function encodeReply(
  json: JsonObject,
  read: ModelRequest,
  { operation, fault, pacing }: { operation: GatewayOperation; fault: Fault | undefined; pacing: Pacing },
): GatewayReply {
  const { stream, contentType } = operation;
  if (!read.stream || !stream)
    return { status: 200, headers: { 'content-type': contentType }, body: JSON.stringify(json) };
  const events = stream.events(json, read);
  return streamReply(fault?.events?.(events, stream) ?? events, stream, pacing);
}

/** Counts the tokens of an operation's request. */
export function answerCount(operation: GatewayOperation, { bodyOf, reply }: OperationCount): BodyHandler {
  return async (request, body, context) => {
    const inner = bodyOf(body);
    const found = findModel(operation, request, inner, context);
    const { task } = readRequest(operation, inner, found, { request, context });
    const counted = JSON.stringify(reply(countInput(task)));
    return { status: 200, headers: { 'content-type': operation.contentType }, body: counted, model: task.model };
  };
}

interface ResolvedModel {
  /** The name in the request, if it has one. */
  requested: string | undefined;
  fault: Fault | undefined;
  /** Whether the model answers by itself; otherwise a local model answers in its place. */
  isOwn: boolean;
}

/** Throws Problem 404 for a model that the gateway does not have. */
function findModel(
  operation: GatewayOperation,
  request: GatewayRequest,
  body: JsonObject,
  { fallback, rules, script }: RequestContext,
): ResolvedModel {
  const requested = operation.modelOf(request, body);
  const fault = findFault(requested ?? '');
  const local = findLocalModel(requested ?? '');
  const isOwn = fault !== undefined || script?.anyModel === true || (local !== undefined && operation.serves(local));
  if (isOwn || requested === undefined || (fallback && isVendorModel(requested, rules)))
    return { requested, fault, isOwn };
  throw request.format.unknownModel(requested.slice(0, 100), listModelNames(operation.serves));
}

function readRequest(
  operation: GatewayOperation,
  body: JsonObject,
  { requested = '', isOwn }: ResolvedModel,
  { request, context }: { request: GatewayRequest; context: RequestContext },
): ModelRequest {
  const checked = operation.check(body, context.mode);
  const model = isOwn ? requested : operation.fallback(requested, checked);
  if (!isOwn) context.note(`${requested.slice(0, 100)} is answered by ${model}`);
  return { ...operation.read(checked, model, request, context), asked: requested };
}

/** Whether a fault model draws an image: if its fault concerns images only, or the request wants an image. */
function draws(
  fault: Fault | undefined,
  operation: GatewayOperation,
  read: ModelRequest,
  request: GatewayRequest,
): boolean {
  if (!fault) return findLocalModel(read.task.model)?.draws === true;
  if (!operation.wantsImage) return false;
  return fault.isOfImages === true || operation.wantsImage(read, request);
}

async function makeAnswer(
  read: ModelRequest,
  scripted: { candidate: Candidate | undefined; isDrawn: boolean },
  { variant, id }: RequestContext,
): Promise<ModelAnswer> {
  const { task } = read;
  const candidates = await makeCandidates(read, scripted, variant);
  const sum = (kind: 'thinking' | 'answer'): number => candidates.reduce((total, { usage }) => total + usage[kind], 0);
  const tokens = { input: countInput(task), thinking: sum('thinking'), answer: sum('answer') };
  return {
    model: task.model,
    id,
    candidates,
    tokens,
    drawn: candidates.some(({ parts }) => parts.some(({ image }) => image)),
  };
}

async function makeCandidates(
  read: ModelRequest,
  { candidate, isDrawn }: { candidate: Candidate | undefined; isDrawn: boolean },
  variant: number,
): Promise<Candidate[]> {
  const { task, candidates: count } = read;
  if (candidate !== undefined) return Array.from({ length: count }, () => candidate);
  if (!isDrawn) return Array.from({ length: count }, (_, index) => writeCandidate(task, index));
  // The drawing code is loaded only when there is something to draw: it would slow every text down.
  const { drawCandidates } = await import('./images/generate.ts');
  return drawCandidates(read, variant);
}

/** The waits between the deltas of a stream, ms: `pace` before each, `pauses` before each by its place. */
interface Pacing {
  request: GatewayRequest;
  pace: number;
  pauses: readonly number[];
}

/** The reply of a stream; its deltas wait for their pauses, and for the pace. */
export function streamReply(
  events: Iterable<StreamEvent>,
  stream: OperationStream,
  { request, pace, pauses }: Pacing,
): GatewayReply {
  let deltas = 0;
  const pieces = [...events].map((event, index) => {
    // The last delta of the content format is also its end.
    const isDelta = event.step === 'delta' || event.waits === true;
    const pause = isDelta ? (pauses[deltas++] ?? 0) : 0;
    const waitMs = Math.max(pause, (event.waits ?? isDelta) ? pace : 0);
    return { text: stream.encode(event, index, request), waitMs };
  });
  pieces.push({ text: stream.end?.(request) ?? '', waitMs: 0 });
  return {
    status: 200,
    headers: { 'content-type': stream.contentType(request) },
    body: delayPieces(pieces, request.left),
    // A paced body cannot be measured before it is sent.
    length: pieces.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
  };
}

async function* delayPieces(
  pieces: readonly { text: string; waitMs: number }[],
  signal: AbortSignal,
): AsyncGenerator<string> {
  for (const { text, waitMs } of pieces) {
    if (waitMs > 0) await sleep(waitMs, undefined, { signal });
    yield text;
  }
}
