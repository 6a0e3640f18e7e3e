import { findStatusByName } from '../failure.ts';
import { isObject, type JsonObject, type JsonValue, numberField, objectField, textField } from '../../json.ts';
import {
  type BatchFormat,
  type BatchInfo,
  type BatchOutcome,
  type BatchResult,
  readBatchCount,
  isPlainId,
  pagedBatches,
  segment,
  sumBatchCounts,
  timeField,
} from '../batch-format.ts';

const base = '/v1/messages/batches';

/** Message Batches: `POST /v1/messages/batches` with all requests. A batch has no name: its mark is in the ids of its entries. */
export const messagesBatch: BatchFormat = {
  name: 'messages',
  bounds: { count: 100_000, bytes: 256_000_000 },
  entry(name, { body }) {
    const { stream: _, ...params } = body;
    return { custom_id: name, params };
  },
  inline: { path: base, head: '{"requests":[\n', tail: '\n]}' },
  ...pagedBatches(base, 'after_id', readBatch),
  readResult,
};

function readBatch(reply: JsonObject): BatchInfo | undefined {
  const id = textField(reply, 'id');
  const status = textField(reply, 'processingStatus');
  if (id === undefined || !isPlainId(id) || status === undefined) return undefined;
  const counts = objectField(reply, 'requestCounts') ?? {};
  const ended = sumBatchCounts(counts, 'succeeded', 'errored', 'canceled', 'expired');
  const hasEnded = status === 'ended';
  const waiting = numberField(counts, 'processing');
  return {
    id,
    status,
    hasEnded,
    done: ended,
    succeeded: readBatchCount(counts, 'succeeded'),
    total: ended === undefined || waiting === undefined ? undefined : ended + waiting,
    createdAt: timeField(reply, 'createdAt'),
    expiresAt: timeField(reply, 'expiresAt'),
    results: hasEnded ? [{ path: `${base}/${segment(id)}/results` }] : [],
  };
}

function readResult(line: JsonValue): BatchResult | undefined {
  if (!isObject(line)) return undefined;
  const entry = textField(line, 'customId');
  return entry === undefined ? undefined : { entry, outcome: readOutcome(objectField(line, 'result') ?? {}) };
}

function readOutcome(result: JsonObject): BatchOutcome | undefined {
  const type = textField(result, 'type');
  const message = objectField(result, 'message');
  if (type === 'succeeded') return message && { kind: 'succeeded', body: message };
  if (type === 'expired') return { kind: 'expired' };
  if (type === 'canceled' || type === 'cancelled') return { kind: 'cancelled' };
  const error = objectField(result, 'error');
  if (type !== 'errored' || error === undefined) return undefined;
  const inner = objectField(error, 'error') ?? error;
  // A result has the type of its error, and not the status that goes with it.
  return {
    kind: 'errored',
    status: findStatusByName(textField(inner, 'type') ?? ''),
    body: { type: 'error', error: inner },
  };
}
