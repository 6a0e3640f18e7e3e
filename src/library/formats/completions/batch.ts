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
  type BatchResult,
  readBatchCount,
  isPlainId,
  pagedBatches,
  segment,
  timeField,
} from '../batch-format.ts';
import { editsPath, toEditBody } from './images.ts';

const base = '/v1/batches';
/** The key of the mark in the metadata of a batch. */
const markKey = 'gateway_cli';

/** Batches of OpenAI: a file of requests is uploaded, and a batch created of it. It has two files of results. */
export const completionsBatch: BatchFormat = {
  name: 'completions',
  // OpenAI takes 200 MB, Groq half of that.
  bounds: { count: 50_000, bytes: 100_000_000 },
  entry(name, { path, body }) {
    const { stream: _, stream_options: _options, ...rest } = path === editsPath ? toEditBody(body) : body;
    return { custom_id: name, method: 'POST', url: path, body: rest };
  },
  byFile: {
    upload: 'form',
    files: '/v1/files',
    create: ({ mark, path }, file) => ({
      path: base,
      body: { input_file_id: file, endpoint: path, completion_window: '24h', metadata: { [markKey]: mark } },
    }),
    fileOf: (reply) => textField(reply, 'id'),
  },
  ...pagedBatches(base, 'after', readBatch),
  readResult,
};

const ends = new Set(['completed', 'failed', 'expired', 'cancelled', 'canceled']);

function readBatch(reply: JsonObject): BatchInfo | undefined {
  const id = textField(reply, 'id');
  const status = textField(reply, 'status');
  if (id === undefined || !isPlainId(id) || status === undefined) return undefined;
  const counts = objectField(reply, 'requestCounts') ?? {};
  const [completed, failed] = [readBatchCount(counts, 'completed'), readBatchCount(counts, 'failed')];
  const hasEnded = ends.has(status);
  const files = [textField(reply, 'outputFileId'), textField(reply, 'errorFileId')]
    .filter((file) => file !== undefined)
    .filter(isPlainId);
  return {
    id,
    status,
    hasEnded,
    mark: textField(objectField(reply, 'metadata') ?? {}, markKey),
    failure: status === 'failed' ? describeFailedBatch(reply) : undefined,
    done: completed === undefined ? undefined : completed + (failed ?? 0),
    succeeded: completed,
    total: readBatchCount(counts, 'total'),
    createdAt: timeField(reply, 'createdAt'),
    expiresAt: timeField(reply, 'expiresAt'),
    results: hasEnded ? files.map((file) => ({ path: `/v1/files/${segment(file)}/content` })) : [],
  };
}

/** The reason that a whole batch failed, which OpenAI finds in its file. */
function describeFailedBatch(reply: JsonObject): string {
  const errors = listField(objectField(reply, 'errors') ?? {}, 'data') ?? [];
  const messages = errors.filter(isObject).flatMap((error) => {
    const line = numberField(error, 'line');
    const message = textField(error, 'message') ?? textField(error, 'code');
    return message === undefined ? [] : [line === undefined ? message : `line ${line}: ${message}`];
  });
  return messages.slice(0, 3).join('; ') || 'the service says no reason';
}

function readResult(line: JsonValue): BatchResult | undefined {
  if (!isObject(line)) return undefined;
  const entry = textField(line, 'customId');
  return entry === undefined ? undefined : { entry, outcome: readOutcome(line) };
}

function readOutcome(line: JsonObject): BatchOutcome | undefined {
  const response = objectField(line, 'response');
  const status = response && numberField(response, 'statusCode');
  const body = response && objectField(response, 'body');
  // An answer is paid for, whatever the other fields of the line say.
  if (status !== undefined && status >= 200 && status < 300 && body !== undefined) return { kind: 'succeeded', body };
  const error = objectField(line, 'error');
  const message = error && textField(error, 'message');
  const code = error && textField(error, 'code');
  if (code === 'batch_expired') return { kind: 'expired', message };
  if (code === 'batch_cancelled' || code === 'batch_canceled') return { kind: 'cancelled', message };
  if (status !== undefined && body !== undefined) return { kind: 'errored', status, body };
  return error && { kind: 'errored', status, body: { error } };
}
