import { createHash } from 'node:crypto';
import { Violation } from './fields/rule.ts';
import { parseBody, parseForm } from './http/body.ts';
import { createThreads } from './messages/threads.ts';
import type { ServiceRules } from './service.ts';
import type {
  GatewayRequest,
  Handler,
  Path,
  RequestContext,
  ModelRequest,
  Operation,
  OperationCount,
  OperationStream,
  StreamEvent,
  Reply,
  Script,
  Scripted,
} from './types.ts';
import type { JsonObject } from '../json.ts';
import { type Fault, findFault } from './faults/table.ts';
import { type Piece, streamReply } from './http/send.ts';
import { findLocalModel, isVendorModel, namesOfModels, drawsByName, localModels } from './models/local.ts';
import type { Answer, Draft } from './models/task.ts';
import { countInput, draftAnswer } from './models/text.ts';
import { contentFormat } from './content/format.ts';

/** How the offline models answer. */
export interface OfflineOptions {
  /** Accepts the paths, headers, versions and fields of the specification alone, nothing that real clients send beyond it. */
  specOnly?: boolean | undefined;
  /** Unknown fields and models are refused, as the services do it: for callers that do not see the log. */
  refuseUnknown?: boolean | undefined;
  /** Wait before each delta of a stream, ms. */
  pace?: number | undefined;
  /** Equal requests without a seed get different pictures, as from a real model: for `image gen -n 4 --offline`. */
  varied?: boolean | undefined;
  /** How long `fault-slow` waits, ms (default 10 s). */
  faultDelay?: number | undefined;
  /** The service whose behaviour is imitated. */
  rules?: ServiceRules | undefined;
  /** What answers in place of the models. */
  script?: Script | undefined;
}

const defaultFaultDelay = 10_000;

/** The number of different requests whose attempts are counted; the oldest are dropped. */
const countedRequests = 10_000;

/** Answers by the offline models: local-text, local-chat, local-image, local-edit and the fault models. */
export function createOfflineHandler(options: OfflineOptions): Handler {
  const { pace = 0, varied = false, faultDelay = defaultFaultDelay, rules, script } = options;
  const level = options.specOnly ? 'spec' : (rules?.level ?? (options.refuseUnknown ? 'strict' : 'lenient'));
  const countAttempt = createCounter();
  const threads = createThreads();
  return async (request: GatewayRequest) => {
    const { format, left, route } = request;
    if (!route?.handle) return answerModels(request, rules);
    const bytes = await request.readBody();
    const body = route.form ? await parseForm(bytes, request.headers['content-type'] ?? '') : parseBody(bytes);
    // Equal forms differ in the boundary between their fields.
    const id = idOf(request, route.form ? JSON.stringify(body) : bytes);
    const ignored: Path[] = [];
    const notes: string[] = [];
    const context: RequestContext = {
      mode: { level, leftOut: (path) => void ignored.push(path) },
      fallback: level === 'lenient' || rules !== undefined,
      rules,
      script,
      threads,
      note: (text) => void notes.push(text),
      pace,
      id,
      variant: varied ? countAttempt(`picture ${id}`) : 0,
      attempt: (stream) => ({ count: countAttempt(id), format: format.name, stream, delay: faultDelay, left }),
    };
    try {
      const reply = await route.handle(request, body, context);
      return { ...reply, note: [...notes, ...listIgnored(ignored)].join('; ') || undefined };
    } catch (error) {
      throw error instanceof Violation ? format.violation(error.path, error.breach) : error;
    }
  };
}

/** Returns how often an id came before. */
function createCounter(): (id: string) => number {
  const counts = new Map<string, number>();
  return (id) => {
    const count = counts.get(id) ?? 0;
    counts.delete(id);
    counts.set(id, count + 1);
    if (counts.size > countedRequests) counts.delete(counts.keys().next().value ?? '');
    return count;
  };
}

function idOf({ target }: GatewayRequest, bytes: Buffer | string): string {
  const path = target.split('?')[0] ?? '';
  return createHash('sha256').update(path).update('\n').update(bytes).digest('hex').slice(0, 24);
}

/** The number of fields that the log names. */
const named = 5;
/** Longest step of a path that the log shows, in characters. */
const stepLength = 40;

/** The ignored fields of a body, for the log. The names come from the caller, so other than plain characters are masked. */
function listIgnored(paths: readonly Path[]): string[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, named).map((path) => path.map(plainStep).join('.'));
  const more = paths.length > named ? ` and ${paths.length - named} more` : '';
  return [`ignored ${shown.join(', ')}${more}`];
}

function plainStep(step: string | number): string {
  return String(step)
    .slice(0, stepLength)
    .replaceAll(/[^\w$-]/g, '?');
}

/** Answers the requests of a route whose body was parsed. Throws Problem and Violation. */
export type BodyHandler = (request: GatewayRequest, body: JsonObject, context: RequestContext) => Promise<Reply>;

/** Answers an operation by an offline model. */
export function answer(operation: Operation): BodyHandler {
  return async (request, body, context) => {
    const { asked, fault: ownFault } = findModel(operation, request, body, context);
    const whole = operation.complete?.(body, context) ?? body;
    const plain = readBody(operation, whole, { asked, request, context });
    const scripted = context.script?.answer(plain, request);
    const fault = scripted?.fault ?? ownFault;
    const read = { ...plain, ...(scripted?.pieces && { pieces: scripted.pieces }) };
    const attempt = fault && context.attempt(read.stream);
    if (attempt) await fault?.before?.(attempt);
    const made = await makeAnswer(read, scripted, draws(fault, operation, read, request), context);
    const changed = fault?.answer?.(made) ?? made;
    const written = changed.failure ? request.format.error(changed.failure) : operation.reply(changed, read);
    const json = fault?.body?.(written, request.format.name) ?? written;
    operation.keep?.(whole, json, context);
    const { stream } = operation;
    const reply =
      read.stream && stream
        ? streamed(stream.events(json, read), stream, { fault, request, pace: context.pace, pauses: scripted?.pauses })
        : { status: 200, headers: { 'content-type': operation.contentType }, body: JSON.stringify(json) };
    const named = { ...reply, model: read.task.model };
    return attempt && fault?.reply ? fault.reply(named, attempt) : named;
  };
}

/** Counts the tokens of an operation's request. */
export function count(operation: Operation, { bodyOf, reply }: OperationCount): BodyHandler {
  return async (request, body, context) => {
    const inner = bodyOf(body);
    const { asked } = findModel(operation, request, inner, context);
    // A count takes what a version refuses in requests to a model.
    const { task } = readBody(operation, inner, { asked, request: { ...request, version: undefined }, context });
    const counted = JSON.stringify(reply(countInput(task)));
    return { status: 200, headers: { 'content-type': operation.contentType }, body: counted, model: task.model };
  };
}

interface FoundModel {
  /** The name in the request, where it has one. */
  asked: string | undefined;
  fault: Fault | undefined;
}

/** Throws Problem 404 for a model that the gateway does not have. */
function findModel(
  operation: Operation,
  request: GatewayRequest,
  body: JsonObject,
  { fallback, rules, script }: RequestContext,
): FoundModel {
  const asked = operation.modelOf(request, body);
  const fault = findFault(asked ?? '');
  if (asked === undefined || fault || isServed(asked, operation)) return { asked, fault };
  if (script?.anyModel || (fallback && isVendorModel(asked, rules))) return { asked, fault };
  const shown = asked.slice(0, 100);
  throw (
    rules?.unknownModel(shown, request.target) ?? request.format.unknownModel(shown, namesOfModels(operation.serves))
  );
}

function isServed(asked: string, operation: Operation): boolean {
  const local = findLocalModel(asked);
  return local !== undefined && operation.serves(local);
}

function readBody(
  operation: Operation,
  body: JsonObject,
  { asked = '', request, context }: { asked: string | undefined; request: GatewayRequest; context: RequestContext },
): ModelRequest {
  const checked = operation.check(body, context.mode);
  const isOwn = findFault(asked) !== undefined || isServed(asked, operation) || context.script?.anyModel === true;
  const model = isOwn ? asked : operation.fallback(asked, checked);
  if (!isOwn) context.note(`${asked.slice(0, 100)} is answered by ${model}`);
  return operation.read(checked, model, request, context);
}

/** A fault model knows pictures and text: it draws where it is a fault of pictures alone, or where the request wants one. */
function draws(fault: Fault | undefined, operation: Operation, read: ModelRequest, request: GatewayRequest): boolean {
  if (!fault) return findLocalModel(read.task.model)?.draws === true;
  if (!operation.wantsPicture) return false;
  return fault.commands.every((command) => command.startsWith('image ')) || operation.wantsPicture(read, request);
}

function makeAnswer(
  read: ModelRequest,
  scripted: Scripted | undefined,
  drawn: boolean,
  context: RequestContext,
): Answer | Promise<Answer> {
  const { draft, draws } = scripted ?? {};
  if (draft === undefined) return drawn || draws ? drawAnswer(read, context) : writeAnswer(read, context.id);
  const drafts = Array.from({ length: read.candidates }, () => draft);
  return answerOf(drafts, { task: read.task, id: context.id, drawn: draft.parts.some(({ picture }) => picture) });
}

function writeAnswer({ task, candidates }: ModelRequest, id: string): Answer {
  const drafts = Array.from({ length: candidates }, (_, index) => draftAnswer(task, index));
  return answerOf(drafts, { task, id, drawn: false });
}

/** The drawing code is loaded only when there is something to draw: it would slow every text down. */
async function drawAnswer(read: ModelRequest, { variant, id }: RequestContext): Promise<Answer> {
  const { drawDrafts } = await import('./pictures/generate.ts');
  return answerOf(await drawDrafts(read, variant), { task: read.task, id, drawn: true });
}

function answerOf(
  drafts: readonly Draft[],
  { task, id, drawn }: { task: ModelRequest['task']; id: string; drawn: boolean },
): Answer {
  const sum = (kind: 'thinking' | 'answer'): number => drafts.reduce((total, { usage }) => total + usage[kind], 0);
  const tokens = { input: countInput(task), thinking: sum('thinking'), answer: sum('answer') };
  return { model: task.model, id, drafts, drawn, tokens };
}

interface Streaming {
  fault: Fault | undefined;
  request: GatewayRequest;
  pace: number;
  pauses: readonly number[] | undefined;
}

function streamed(
  events: Iterable<StreamEvent>,
  stream: OperationStream,
  { fault, request, pace, pauses = [] }: Streaming,
): Reply {
  function* pieces(): Generator<Piece> {
    let index = 0;
    let deltas = 0;
    for (const event of fault?.events?.(events, stream) ?? events) {
      // The content format says the end with its last delta.
      const isDelta = event.step === 'delta' || event.waits === true;
      const pause = isDelta ? (pauses[deltas++] ?? 0) : 0;
      const waitMs = Math.max(pause, (event.waits ?? isDelta) ? pace : 0);
      yield { text: stream.encode(event, index++, request), waitMs };
    }
    yield { text: stream.end?.(request) ?? '', waitMs: 0 };
  }
  const paced = pace > 0 || pauses.some((ms) => ms > 0);
  return streamReply(stream.contentType(request), pieces(), { paced, left: request.left });
}

/** `GET /v1beta/models` and `GET /v1/models`, or one model of them. Throws Problem 404. */
function answerModels(
  { format: pathFormat, keyForm, model: asked, query, target }: GatewayRequest,
  rules: ServiceRules | undefined,
): Reply {
  // `/v1/models` is a path of all formats: the caller's key says which it speaks.
  const format = keyForm === 'vendor-key' || keyForm === 'query' ? contentFormat : pathFormat;
  const offered = localModels.filter((model) => format.offers(model));
  if (asked === undefined) return json(format.listModels(offered, query));
  // What is answered for a vendor's model is listed too: clients look a model up before they ask it.
  const vendors = isVendorModel(asked, rules) ? { id: asked, title: asked, draws: drawsByName(asked) } : undefined;
  const found = offered.find(({ id }) => id === asked) ?? vendors;
  if (found) return json(format.describeModel(found));
  const shown = asked.slice(0, 100);
  if (rules) throw rules.unknownModel(shown, target);
  throw format.unknownModel(
    shown,
    namesOfModels((model) => format.offers(model)),
  );
}

function json(body: object): Reply {
  return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}
