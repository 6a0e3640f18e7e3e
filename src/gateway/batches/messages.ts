import { isoTime, type JsonObject, type JsonValue } from '../../library/index.ts';
import { listAt, objectAt, textAt } from '../fields/read.ts';
import { badValue, filledList, freeObject, object, text } from '../fields/rule.ts';
import { jsonReply, listPage } from '../http/reply.ts';
import { messagesOperation } from '../messages/format.ts';
import { answerOperation } from '../operation.ts';
import { Problem } from '../problem.ts';
import type { GatewayRequest, GatewayReply } from '../types.ts';
import { type BatchLine, countEnds, randomId, type StoredBatch, toLines } from './batch.ts';
import { batchActions, type Batches, type StorePaths, listOf } from './store.ts';

const dayMs = 24 * 60 * 60 * 1000;

const { find, cancel, create, show } = batchActions({
  format: 'messages',
  newId: () => randomId('msgbatch_'),
  body: object({ 'requests!': filledList(object({ 'custom_id!': text, 'params!': freeObject })) }),
  read(body) {
    const requests = listAt(body, 'requests');
    checkIds(requests.map((each) => textAt(each, 'custom_id') ?? ''));
    return {
      about: {},
      model: textAt(objectAt(requests[0], 'params'), 'model') ?? '',
      path: '/v1/messages',
      handle: answerOperation(messagesOperation),
      lines: requests.map(toLine),
    };
  },
  encode: encodeBatch,
  notFound: (id) => `Message Batch ${id} not found.`,
});

/** Message Batches: https://docs.claude.com/en/api/creating-message-batches. */
export const messagesBatchPaths: StorePaths = {
  '/v1/messages/batches': { GET: listBatches, POST: create },
  '/v1/messages/batches/{id}': { GET: show, DELETE: removeBatch },
  '/v1/messages/batches/{id}/cancel': { POST: cancel },
  '/v1/messages/batches/{id}/results': { GET: sendResults },
};

/** Checks that no id is there twice: a result is found by its id. Throws Violation. */
function checkIds(ids: readonly string[]): void {
  const seen = new Set<string>();
  for (const [index, id] of ids.entries()) {
    if (seen.has(id)) throw badValue(['requests', index, 'custom_id'], `'${id}' is there twice`);
    seen.add(id);
  }
}

function toLine(request: JsonValue): BatchLine {
  const body = objectAt(request, 'params') ?? {};
  const problem =
    body['stream'] === true ? new Problem(400, 'stream: Streaming is not supported in batches') : undefined;
  return { label: { custom_id: textAt(request, 'custom_id') ?? '' }, body, problem };
}

function encodeResult({ label, result: { end, body } }: StoredBatch['results'][number]): JsonObject {
  if (end === 'succeeded') return { ...label, result: { type: end, message: body } };
  return { ...label, result: end === 'errored' ? { type: end, error: body } : { type: end } };
}

/** Until a batch has ended, its requests count as being processed. */
function encodeBatch(batch: StoredBatch, { headers }: GatewayRequest): JsonObject {
  const { id, total, created, canceled, ended } = batch;
  const isOver = ended !== undefined;
  const none = { succeeded: 0, errored: 0, canceled: 0, expired: 0 };
  return {
    id,
    type: 'message_batch',
    processing_status: isOver ? 'ended' : canceled === undefined ? 'in_progress' : 'canceling',
    request_counts: { processing: isOver ? 0 : total, ...(isOver ? countEnds(batch) : none) },
    ended_at: isoOrNull(ended),
    created_at: isoOrNull(created),
    expires_at: isoOrNull(created + dayMs),
    archived_at: null,
    cancel_initiated_at: isoOrNull(canceled),
    results_url: isOver ? `http://${headers.host ?? ''}/v1/messages/batches/${id}/results` : null,
  };
}

function isoOrNull(time: number | undefined): string | null {
  return (time === undefined ? undefined : isoTime(time)) ?? null;
}

function listBatches(request: GatewayRequest, batches: Batches): GatewayReply {
  return jsonReply(listPage(listOf(batches.all, 'messages').map((batch) => encodeBatch(batch, request))));
}

function removeBatch(request: GatewayRequest, batches: Batches): GatewayReply {
  const { id, ended } = find(request, batches);
  if (ended === undefined) {
    throw new Problem(400, `Message Batch ${id} cannot be deleted while it is in progress; cancel it first.`);
  }
  batches.all.remove(id);
  return jsonReply({ id, type: 'message_batch_deleted' });
}

function sendResults(request: GatewayRequest, batches: Batches): GatewayReply {
  const { id, ended, results } = find(request, batches);
  if (ended === undefined) throw new Problem(400, `Message Batch ${id} has no available results: it has not ended.`);
  return {
    status: 200,
    headers: { 'content-type': 'application/x-jsonl' },
    body: [toLines(results.map(encodeResult))],
  };
}
