import {
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  numberField,
  objectField,
  textField,
} from '../../json.ts';
import {
  type BatchFormat,
  type BatchInfo,
  type BatchOutcome,
  type BatchPage,
  type BatchResult,
  type ResultPlace,
  readBatchCount,
  timeField,
} from '../batch-format.ts';
import { modelSegment } from './format.ts';

/** The Gemini Batch API, by an uploaded file. A batch is an operation with a name. */
export const contentBatch: BatchFormat = {
  name: 'content',
  bounds: { count: 200_000, bytes: 2_000_000_000 },
  pathOf: (path) => path.replace(':streamGenerateContent', ':generateContent'),
  entry: (name, { body }) => ({ key: name, request: body }),
  byFile: {
    upload: 'resumable',
    files: '/upload/v1beta/files',
    create: ({ mark, model }, file) => ({
      path: `/v1beta/models/${modelSegment(model)}:batchGenerateContent`,
      body: { batch: { displayName: mark, inputConfig: { fileName: file } } },
    }),
    fileOf: (reply) => textField(objectField(reply, 'file') ?? reply, 'name'),
  },
  retrieve: (id) => ({ path: `/v1beta/${id}` }),
  cancel: (id) => ({ path: `/v1beta/${id}:cancel`, body: {} }),
  list(page) {
    // A batch of another program can have up to 20 MB of results in the list.
    const query = new URLSearchParams({ pageSize: '20', ...(page !== undefined && { pageToken: page }) });
    return { path: '/v1beta/batches', query: query.toString() };
  },
  readBatch,
  readPage,
  readResult,
};

function readPage(reply: JsonObject): BatchPage | undefined {
  const found = listField(reply, 'operations') ?? listField(reply, 'batches') ?? listField(reply, 'batchJobs');
  // An empty list may be `{}`.
  if (found === undefined && Object.keys(reply).some((key) => key !== 'nextPageToken')) return undefined;
  const items = found ?? [];
  const batches = items.flatMap((item) => (isObject(item) && readBatch(item)) || []);
  const next = textField(reply, 'nextPageToken') || undefined;
  return { batches, next };
}

const ends = new Set(['succeeded', 'failed', 'cancelled', 'canceled', 'expired', 'partially_succeeded']);

function readBatch(reply: JsonObject): BatchInfo | undefined {
  const id = textField(reply, 'name');
  if (id === undefined || !/^batches\/[\w-]+$/.test(id)) return undefined;
  const metadata = objectField(reply, 'metadata') ?? reply;
  const status = (textField(metadata, 'state') ?? '').toLowerCase().replace(/^(?:batch|job)_state_/, '');
  const hasEnded = reply['done'] === true || ends.has(status);
  const told = objectField(metadata, 'batchStats');
  const stats = told ?? {};
  const [total, pending] = [readBatchCount(stats, 'requestCount'), readBatchCount(stats, 'pendingRequestCount') ?? 0];
  const error = objectField(reply, 'error');
  return {
    id,
    status: status || (hasEnded ? 'done' : 'pending'),
    hasEnded,
    mark: textField(metadata, 'displayName'),
    failure: error && (textField(error, 'message') ?? `error ${numberField(error, 'code') ?? ''}`.trim()),
    done: total === undefined ? undefined : Math.max(0, total - pending),
    // A count of 0 is left out.
    succeeded: told && (readBatchCount(told, 'successfulRequestCount') ?? 0),
    total,
    createdAt: timeField(metadata, 'createTime'),
    results: hasEnded ? findResultPlaces(reply, metadata) : [],
  };
}

/** The results are in a file, which the operation names below `response` or in its metadata. */
function findResultPlaces(reply: JsonObject, metadata: JsonObject): ResultPlace[] {
  const places = [objectField(reply, 'response'), objectField(metadata, 'output'), objectField(metadata, 'dest')];
  const files = places.map((at) => at && (textField(at, 'responsesFile') ?? textField(at, 'fileName')));
  const file = files.find((name) => name !== undefined && /^files\/[\w-]+$/.test(name));
  return file === undefined ? [] : [{ path: `/download/v1beta/${file}:download`, query: 'alt=media' }];
}

function readResult(line: JsonValue): BatchResult | undefined {
  if (!isObject(line)) return undefined;
  const entry = textField(line, 'key');
  return entry === undefined ? undefined : { entry, outcome: readOutcome(line) };
}

function readOutcome(line: JsonObject): BatchOutcome | undefined {
  const response = objectField(line, 'response');
  if (response !== undefined) return { kind: 'succeeded', body: response };
  const error = objectField(line, 'error') ?? objectField(line, 'status');
  if (error === undefined) return undefined;
  const code = numberField(error, 'code');
  const message = textField(error, 'message');
  if (code === rpcCodes.cancelled) return { kind: 'cancelled', message };
  if (code === rpcCodes.deadline) return { kind: 'expired', message };
  const status = code === undefined || code >= 100 ? code : rpcStatuses[code];
  return { kind: 'errored', status, body: { error: { ...error, ...(status !== undefined && { code: status }) } } };
}

const rpcCodes = { cancelled: 1, deadline: 4 };

/** An error of an operation has the code of gRPC in place of the status of HTTP. */
const rpcStatuses: Readonly<Record<number, number>> = {
  3: 400,
  5: 404,
  7: 403,
  8: 429,
  9: 400,
  11: 400,
  13: 500,
  14: 503,
  16: 401,
};
