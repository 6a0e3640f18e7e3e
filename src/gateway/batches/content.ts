import { isoTime, type JsonObject, type JsonValue } from '../../library/index.ts';
import { listAt, objectAt, textAt, valueAt } from '../fields/read.ts';
import { anything, badValue, filledList, freeObject, object, text } from '../fields/rule.ts';
import { contentOperation } from '../content/format.ts';
import { jsonReply } from '../http/reply.ts';
import { answerOperation } from '../operation.ts';
import { Problem } from '../problem.ts';
import type { GatewayRequest, GatewayReply } from '../types.ts';
import {
  type BatchJob,
  type BatchLine,
  countEnds,
  randomId,
  parseJsonLines,
  stateOf,
  type StateWords,
  type StoredBatch,
  toLines,
} from './batch.ts';
import { findContentFile } from './content-files.ts';
import { batchActions, type Batches, type StorePaths, keepResults, listOf } from './store.ts';

const types = 'type.googleapis.com/google.ai.generativelanguage.v1main';

const inlineRequest = object({ 'request!': freeObject, metadata: anything });

const { find, cancel, create, show } = batchActions({
  format: 'content',
  newId: () => randomId('', 32),
  body: object({
    'batch!': object({
      displayName: text,
      'inputConfig!': object({ fileName: text, requests: object({ 'requests!': filledList(inlineRequest) }) }),
    }),
  }),
  read: readJob,
  encode: encodeBatch,
  notFound: () => 'Requested entity was not found.',
});

/** Batches of the Gemini API: https://ai.google.dev/gemini-api/docs/batch-api. */
export const contentBatchPaths: StorePaths = {
  '/{version}/models/{model}:batchGenerateContent': { POST: create },
  '/{version}/batches': { GET: listBatches },
  '/{version}/batches/{id}': {
    GET: show,
    DELETE(request, batches) {
      batches.all.remove(find(request, batches).id);
      return jsonReply({});
    },
  },
  '/{version}/batches/{id}:cancel': { POST: cancel },
};

function readJob(body: JsonObject, request: GatewayRequest, batches: Batches): Omit<BatchJob, 'request'> {
  const batch = objectAt(body, 'batch');
  const config = objectAt(batch, 'inputConfig');
  const requests = listAt(objectAt(config, 'requests'), 'requests');
  const fileName = textAt(config, 'fileName');
  if (requests.length > 0 === (fileName !== undefined)) {
    throw badValue(['batch', 'inputConfig'], 'exactly one of requests and fileName must be set');
  }
  const given = fileName === undefined ? requests : parseJsonLines(findContentFile(fileName, batches).bytes);
  if (given.length === 0) throw badValue(['batch', 'inputConfig', 'fileName'], 'the file has no requests');
  const model = contentOperation.modelOf(request, body) ?? '';
  return {
    about: { displayName: textAt(batch, 'displayName') ?? '', byFile: fileName !== undefined },
    model,
    path: `/v1beta/models/${model}:generateContent`,
    handle: answerOperation(contentOperation),
    lines: given.map(toLine),
  };
}

/** A line of a file has a key, an inline request metadata; both come back with the answer. */
function toLine(line: JsonValue | undefined): BatchLine {
  const body = objectAt(line, 'request');
  const label = Object.fromEntries(
    ['key', 'metadata'].flatMap((name) => {
      const value = valueAt(line, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return { label, body: body ?? {}, problem: body ? undefined : new Problem(400, "The line has no 'request'.") };
}

function encodeResult({ label, result: { end, body } }: StoredBatch['results'][number]): JsonObject {
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

const words: StateWords = {
  running: 'RUNNING',
  canceling: 'RUNNING',
  canceled: 'CANCELLED',
  failed: 'FAILED',
  expired: 'EXPIRED',
  completed: 'SUCCEEDED',
};

/** The batch as an operation: only a batch that succeeded has results; results in a file have the name of the file. */
function encodeBatch(batch: StoredBatch, _request: GatewayRequest, batches: Batches): JsonObject {
  const { id, about, model, total, results, created, ended } = batch;
  const name = `batches/${id}`;
  const state = words[stateOf(batch)];
  const { succeeded, errored } = countEnds(batch);
  const open = total - results.length;
  const output = state === 'SUCCEEDED' ? { output: encodeOutput(batch, batches) } : {};
  return {
    name,
    metadata: {
      '@type': `${types}.GenerateContentBatch`,
      model: `models/${model}`,
      displayName: valueAt(about, 'displayName') ?? '',
      ...output,
      createTime: isoTime(created) ?? '',
      ...(ended !== undefined && { endTime: isoTime(ended) ?? '' }),
      updateTime: isoTime(ended ?? created) ?? '',
      batchStats: {
        requestCount: String(total),
        ...(succeeded > 0 && { successfulRequestCount: String(succeeded) }),
        ...(errored > 0 && { failedRequestCount: String(errored) }),
        ...(open > 0 && { pendingRequestCount: String(open) }),
      },
      state: `BATCH_STATE_${state}`,
      name,
    },
    ...(ended !== undefined && { done: true }),
    ...(state === 'FAILED' && { error: { code: 13, message: batch.failure?.message ?? '' } }),
    ...(state === 'CANCELLED' && { error: { code: 1, message: 'The batch was cancelled.' } }),
    ...(state === 'EXPIRED' && { error: { code: 4, message: 'The batch expired before it could be completed.' } }),
    ...(output.output && { response: { '@type': `${types}.GenerateContentBatchOutput`, ...output.output } }),
  };
}

function encodeOutput(batch: StoredBatch, batches: Batches): JsonObject {
  const results = batch.results.map(encodeResult);
  if (batch.about['byFile'] !== true) return { inlinedResponses: { inlinedResponses: results } };
  const file = { id: `batch-${batch.id}`, name: '', bytes: () => toLines(results) };
  return { responsesFile: `files/${keepResults(batch, file, batches)}` };
}

function listBatches(request: GatewayRequest, batches: Batches): GatewayReply {
  return jsonReply({ operations: listOf(batches.all, 'content').map((batch) => encodeBatch(batch, request, batches)) });
}
