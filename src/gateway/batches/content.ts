import { isoTime } from '../../clock.ts';
import type { JsonObject } from '../../json.ts';
import { listAt, objectAt, textAt, valueAt } from '../fields/read.ts';
import { anything, badValue, filledList, freeObject, object, text } from '../fields/rule.ts';
import { contentOperation } from '../content/format.ts';
import { jsonReply, selectPage } from '../http/reply.ts';
import { answerOperation } from '../operation.ts';
import { Problem } from '../problem.ts';
import type { GatewayRequest, GatewayReply } from '../types.ts';
import { type StoredBatch, cancelBatch, type LineResult, type OpenedLine, parseBatchLine, randomId } from './batch.ts';
import { findContentFile } from './content-files.ts';
import { readSpoolLines, linesOnce, type Spool } from './spool.ts';
import { batchActions, type BatchDraft, type Batches, type BatchPaths, makeResultsFile } from './store.ts';

const types = 'type.googleapis.com/google.ai.generativelanguage.v1main';

const batchBody = object({
  'batch!': object({
    displayName: text,
    name: text,
    model: text,
    priority: anything,
    webhookConfig: anything,
    'inputConfig!': object({
      fileName: text,
      requests: object({ 'requests!': filledList(object({ 'request!': freeObject, metadata: anything })) }),
    }),
  }),
});

const { find, create } = batchActions({
  format: 'content',
  newId: () => randomId('', 32),
  body: batchBody,
  read,
  describe,
  notFound: () => 'Requested entity was not found.',
});

/** Batches of the Gemini API: https://ai.google.dev/gemini-api/docs/batch-api. */
export const contentBatchPaths: BatchPaths = {
  '/{version}/models/{model}:batchGenerateContent': { POST: create },
  '/{version}/batches': { GET: listBatches },
  '/{version}/batches/{id}': {
    GET: showOperation,
    DELETE(request, batches) {
      batches.all.remove(find(request, batches).id);
      return jsonReply({});
    },
  },
  '/{version}/batches/{id}:cancel': {
    POST(request, batches) {
      cancelBatch(find(request, batches));
      return jsonReply({});
    },
  },
};

async function read(body: JsonObject, request: GatewayRequest, batches: Batches): Promise<BatchDraft> {
  const batch = objectAt(body, 'batch');
  const config = objectAt(batch, 'inputConfig');
  const requests = listAt(objectAt(config, 'requests'), 'requests');
  const fileName = textAt(config, 'fileName');
  if (requests.length > 0 === (fileName !== undefined)) {
    throw badValue(['batch', 'inputConfig'], 'exactly one of requests and fileName must be set');
  }
  const model = (request.model ?? '').replace(/^models\//, '');
  return {
    about: { displayName: textAt(batch, 'displayName') ?? '', byFile: fileName !== undefined },
    model,
    path: `/v1beta/models/${model}:generateContent`,
    handle: answerOperation(contentOperation),
    ...(fileName === undefined
      ? { total: requests.length, lines: linesOnce(requests) }
      : await openFileLines(fileName, batches)),
    open,
    write,
  };
}

async function openFileLines(fileName: string, batches: Batches): Promise<Pick<BatchDraft, 'total' | 'lines'>> {
  const { spool, start, end } = findContentFile(fileName, batches);
  const lines = (): AsyncGenerator<string> => readSpoolLines(spool.read(start, end));
  let total = 0;
  for await (const line of lines()) total += Number(line !== '');
  if (total === 0) throw badValue(['batch', 'inputConfig', 'fileName'], 'the file has no requests');
  return { total, lines };
}

/** A line of a file has a key, an inline request metadata; both come back with the answer. */
function open(line: string): OpenedLine {
  try {
    const json = parseBatchLine(line);
    const label = Object.fromEntries(Object.entries(json).filter(([name]) => name === 'key' || name === 'metadata'));
    const body = objectAt(json, 'request');
    return { label, body: body ?? {}, problem: body ? undefined : new Problem(400, "The line has no 'request'.") };
  } catch (error) {
    return { label: {}, body: {}, problem: error as Problem };
  }
}

function write(label: JsonObject, { end, body }: LineResult): JsonObject {
  if (end === 'succeeded') return { response: body, ...label };
  const stopped = { code: 1, message: 'The request was not processed: the batch was cancelled or expired.' };
  return { error: end === 'errored' ? toRpcStatus(body) : stopped, ...label };
}

/** Numbers of google.rpc.Code, by the name that an error of the format has. */
const codes: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
};

/** A google.rpc.Status of an error body. */
function toRpcStatus(body: JsonObject): JsonObject {
  const error = objectAt(body, 'error');
  return { code: codes[textAt(error, 'status') ?? ''] ?? 2, message: textAt(error, 'message') ?? '' };
}

function describeState({ state, canceled, ended, counts }: StoredBatch): string {
  if (ended === undefined) return state === 'waiting' ? 'PENDING' : 'RUNNING';
  if (state === 'failed') return 'FAILED';
  if (canceled !== undefined) return 'CANCELLED';
  return counts.expired > 0 ? 'EXPIRED' : 'SUCCEEDED';
}

/** An operation: only one that succeeded has results, those of a file by its name. */
function describe(batch: StoredBatch, _request: GatewayRequest, batches: Batches): JsonObject {
  const { id, about, model, total, counts, created, ended } = batch;
  const name = `batches/${id}`;
  const state = describeState(batch);
  const open = total - counts.succeeded - counts.errored - counts.canceled - counts.expired;
  const file = { id: `batch-${id}`, name: '' };
  const output =
    state === 'SUCCEEDED' && about['byFile'] === true
      ? { responsesFile: `files/${makeResultsFile(batch, batch.results, file, batches)}` }
      : undefined;
  return {
    name,
    metadata: {
      '@type': `${types}.GenerateContentBatch`,
      model: `models/${model}`,
      displayName: valueAt(about, 'displayName') ?? '',
      ...(output && { output }),
      createTime: isoTime(created) ?? '',
      ...(ended !== undefined && { endTime: isoTime(ended) ?? '' }),
      updateTime: isoTime(ended ?? created) ?? '',
      batchStats: {
        requestCount: String(total),
        ...(counts.succeeded > 0 && { successfulRequestCount: String(counts.succeeded) }),
        ...(counts.errored > 0 && { failedRequestCount: String(counts.errored) }),
        ...(open > 0 && { pendingRequestCount: String(open) }),
      },
      state: `BATCH_STATE_${state}`,
      name,
    },
    ...(ended !== undefined && { done: true }),
    ...(state === 'FAILED' && { error: { code: 13, message: batch.failure?.message ?? '' } }),
    ...(state === 'CANCELLED' && { error: { code: 1, message: 'The batch was cancelled.' } }),
    ...(state === 'EXPIRED' && { error: { code: 4, message: 'The batch expired before it could be completed.' } }),
    ...(output && { response: { '@type': `${types}.GenerateContentBatchOutput`, ...output } }),
  };
}

/** An operation with its results; those of an inline batch are written out twice while they are sent, as the service does. */
function showOperation(request: GatewayRequest, batches: Batches): GatewayReply {
  const batch = find(request, batches);
  const operation = describe(batch, request, batches);
  if (describeState(batch) !== 'SUCCEEDED' || batch.about['byFile'] === true) return jsonReply(operation);
  const { metadata, ...rest } = operation;
  async function* operationPieces(): AsyncGenerator<string> {
    const type = `"@type":"${types}.GenerateContentBatchOutput"`;
    yield `${JSON.stringify(rest).slice(0, -1)},"metadata":${JSON.stringify(metadata).slice(0, -1)},"output":{`;
    yield* inlined(batch.results);
    yield `}},"response":{${type},`;
    yield* inlined(batch.results);
    yield '}}';
  }
  return { ...jsonReply({}), body: operationPieces() };
}

async function* inlined(results: Spool): AsyncGenerator<string> {
  yield '"inlinedResponses":{"inlinedResponses":[';
  let separator = '';
  for await (const line of readSpoolLines(results.read())) {
    yield separator + line;
    separator = ',';
  }
  yield ']}';
}

function listBatches(request: GatewayRequest, batches: Batches): GatewayReply {
  const fields = { after: 'pageToken', limit: ['pageSize', 100] } as const;
  const { page, last, hasMore } = selectPage(batches.all.list('content'), request.query, fields);
  const operations = page.map((batch) => describe(batch, request, batches));
  return jsonReply({ operations, ...(hasMore && { nextPageToken: last }) });
}
