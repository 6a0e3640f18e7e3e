import { createHash } from 'node:crypto';
import type { JsonObject } from '../library/index.ts';
import { createBatches } from './batches/store.ts';
import { contentFormat } from './content/format.ts';
import { isForm, parseBody, parseForm } from './http/body.ts';
import { jsonReply } from './http/reply.ts';
import { drawsByName, isVendorModel, localModels, listModelNames } from './models/local.ts';
import type { ServiceRules } from './service.ts';
import type {
  BodyHandler,
  GatewayRequest,
  Handler,
  Path,
  GatewayReply,
  RequestContext,
  AnswerScript,
} from './types.ts';

/** Options for the answers of the offline models. */
export interface OfflineOptions {
  /** Unknown fields of the content and messages formats and unknown models are refused, for callers that do not see the log. */
  refuseUnknown?: boolean | undefined;
  /** Wait before each delta of a stream, ms. */
  pace?: number | undefined;
  /** Equal requests without a seed get different images, as from a real model: for `image gen -n 4 --offline`. */
  varied?: boolean | undefined;
  /** Time that `fault-slow` waits, ms (default 10 s). */
  faultDelay?: number | undefined;
  /** The shortest time of a batch, ms (default 500 ms). */
  batchDelay?: number | undefined;
  /** The service that the gateway stands for. */
  rules?: ServiceRules | undefined;
  /** Answers in place of the models. */
  script?: AnswerScript | undefined;
}

const defaultFaultDelay = 10_000;
const defaultBatchDelay = 500;

/** Answers by the offline models: local-text, local-chat, local-image, local-edit and the fault models. */
export function createOfflineHandler(options: OfflineOptions): Handler {
  const { pace = 0, varied = false, faultDelay = defaultFaultDelay, rules, script } = options;
  const { refuseUnknown: isStrict = false } = options;
  const countAttempt = createIdCounter();
  const answerByModel = async (
    request: GatewayRequest,
    handle: BodyHandler,
    body: JsonObject,
    own: Pick<RequestContext, 'id' | 'inBatch'>,
  ): Promise<GatewayReply> => {
    const { format, left } = request;
    const { id } = own;
    const ignored: Path[] = [];
    const notes: string[] = [];
    const context: RequestContext = {
      mode: { isStrict, leftOut: (path) => void ignored.push(path) },
      fallback: !isStrict,
      rules,
      script,
      responses: batches.responses,
      note: (text) => void notes.push(text),
      pace,
      variant: varied ? countAttempt(`picture ${id}`) : 0,
      attempt: (stream) => ({ count: countAttempt(id), format: format.name, stream, delay: faultDelay, left }),
      ...own,
    };
    const reply = await handle(request, body, context);
    return { ...reply, note: [...notes, ...listIgnored(ignored)].join('; ') || undefined };
  };
  const batches = createBatches({
    delay: options.batchDelay ?? defaultBatchDelay,
    answer: (request, handle, body) =>
      answerByModel(request, handle, body, { id: createRequestId(request, JSON.stringify(body)), inBatch: true }),
  });
  return async (request) => {
    const { route } = request;
    const act = route?.kept?.[request.method];
    if (act) return act(request, batches);
    if (!route?.handle) return answerModels(request, rules);
    const bytes = await request.readBody();
    const form = isForm(request.headers);
    const body = form ? await parseForm(bytes, request.headers['content-type'] ?? '') : parseBody(bytes);
    // Equal forms differ in the boundary between their fields.
    const id = createRequestId(request, form ? JSON.stringify(body) : bytes);
    return answerByModel(request, route.handle, body, { id, inBatch: false });
  };
}

/** Returns how often an id came before. */
function createIdCounter(): (id: string) => number {
  const counts = new Map<string, number>();
  return (id) => {
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    return count;
  };
}

function createRequestId({ path }: GatewayRequest, bytes: Buffer | string): string {
  return createHash('sha256').update(`${path}\n`).update(bytes).digest('hex').slice(0, 24);
}

/** The number of fields that the log names. */
const named = 5;

/** The ignored fields of a body, for the log. The names come from the caller, and are cut. */
function listIgnored(paths: readonly Path[]): string[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, named).map((path) => path.join('.').slice(0, 100));
  const more = paths.length > named ? ` and ${paths.length - named} more` : '';
  return [`ignored ${shown.join(', ')}${more}`];
}

/** `GET /v1beta/models` and `GET /v1/models`, or a single model. Throws Problem 404. */
function answerModels(
  { format: pathFormat, keyForm, pathId: requested }: GatewayRequest,
  rules: ServiceRules | undefined,
): GatewayReply {
  // `/v1/models` is a path of all formats: the caller's key says which it speaks.
  const format = keyForm === 'vendor-key' || keyForm === 'query' ? contentFormat : pathFormat;
  const offered = localModels.filter(format.offers);
  if (requested === undefined) return jsonReply(format.listModels(offered));
  // A vendor's model that is answered is listed too: clients look a model up before they ask it.
  const vendors = isVendorModel(requested, rules)
    ? { id: requested, title: requested, draws: drawsByName(requested) }
    : undefined;
  const found = offered.find(({ id }) => id === requested) ?? vendors;
  if (found) return jsonReply(format.encodeModel(found));
  throw format.unknownModel(requested.slice(0, 100), listModelNames(format.offers));
}
