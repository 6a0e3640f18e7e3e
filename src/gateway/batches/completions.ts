import { findOwn, type JsonObject } from '../../library/index.ts';
import { objectAt, textAt, valueAt } from '../fields/read.ts';
import { badValue, freeObject, object, oneOf, text } from '../fields/rule.ts';
import { completionsOperation } from '../completions/format.ts';
import { editsOperation, imagesOperation } from '../completions/images.ts';
import { badParameter } from '../completions/reply.ts';
import { responsesOperation } from '../responses/format.ts';
import { checkContentType, readForm } from '../http/body.ts';
import { jsonReply, listPage } from '../http/reply.ts';
import { answerOperation } from '../operation.ts';
import { Problem } from '../problem.ts';
import type { BodyHandler, GatewayRequest, GatewayReply } from '../types.ts';
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
import { batchActions, type Batches, type StorePaths, keepResults, listOf, type StoredFile } from './store.ts';

const daySeconds = 24 * 60 * 60;

const handlers: Readonly<Record<string, BodyHandler>> = {
  '/v1/chat/completions': answerOperation(completionsOperation),
  '/v1/responses': answerOperation(responsesOperation),
  '/v1/images/generations': answerOperation(imagesOperation),
  '/v1/images/edits': answerOperation(editsOperation),
};

const { cancel, create, show } = batchActions({
  format: 'completions',
  newId: () => randomId('batch_'),
  body: object({
    'input_file_id!': text,
    'endpoint!': text,
    'completion_window!': oneOf('24h'),
    metadata: freeObject,
  }),
  read: readJob,
  encode: encodeBatch,
  notFound: (id) => `No batch found with id '${id}'.`,
});

/** Files and batches: https://platform.openai.com/docs/api-reference/batch. */
export const completionsBatchPaths: StorePaths = {
  '/v1/files': { GET: listFiles, POST: upload },
  '/v1/files/{id}': {
    GET: (request, batches) => jsonReply(encodeFile(findFile(request.pathId, batches))),
    DELETE({ pathId }, batches) {
      const { id } = findFile(pathId, batches);
      batches.files.remove(id);
      return jsonReply({ object: 'file', deleted: true, id });
    },
  },
  '/v1/files/{id}/content': {
    GET({ pathId }, batches) {
      const { bytes } = findFile(pathId, batches);
      return { status: 200, headers: { 'content-type': 'application/octet-stream' }, body: [bytes] };
    },
  },
  '/v1/batches': { GET: listBatches, POST: create },
  '/v1/batches/{id}': { GET: show },
  '/v1/batches/{id}/cancel': { POST: cancel },
};

async function upload(request: GatewayRequest, { files }: Batches): Promise<GatewayReply> {
  checkContentType(request, 'multipart/form-data');
  const form = await readForm(await request.readBody(), request.headers['content-type'] ?? '');
  const [file, purpose] = [form.get('file'), form.get('purpose')];
  if (!(file instanceof File)) throw requiredProperty('file');
  if (typeof purpose !== 'string') throw requiredProperty('purpose');
  const stored: StoredFile = {
    id: randomId('file-'),
    format: 'completions',
    name: file.name,
    purpose,
    mimeType: 'application/jsonl',
    created: Date.now(),
    bytes: Buffer.from(await file.arrayBuffer()),
  };
  files.add(stored);
  return jsonReply(encodeFile(stored));
}

function requiredProperty(name: string): Problem {
  return badParameter(name, null, `'${name}' is a required property`);
}

function encodeFile({ id, name, purpose, created, bytes }: StoredFile): JsonObject {
  const times = { created_at: Math.floor(created / 1000) };
  return { object: 'file', id, purpose, filename: name, bytes: bytes.length, ...times, status: 'processed' };
}

function findFile(id = '', { files }: Batches): StoredFile {
  const file = files.find(id);
  if (file?.format === 'completions') return file;
  throw new Problem(404, `No such File object: ${id.slice(0, 100)}`, { param: 'id' });
}

function listFiles({ query }: GatewayRequest, { files }: Batches): GatewayReply {
  const purpose = query.get('purpose');
  const all = listOf(files, 'completions').filter((file) => purpose === null || file.purpose === purpose);
  return jsonReply({ object: 'list', ...listPage(all.map(encodeFile)) });
}

/** Creates a batch from a file. If a line of the file cannot be taken, the batch fails as a whole. */
function readJob(body: JsonObject, _request: GatewayRequest, batches: Batches): Omit<BatchJob, 'request'> {
  const input = findFile(textAt(body, 'input_file_id'), batches);
  const endpoint = textAt(body, 'endpoint') ?? '';
  const handle = findOwn(handlers, endpoint);
  if (handle === undefined) throw badValue(['endpoint'], `Input should be ${Object.keys(handlers).join(' or ')}`);
  const lines = parseJsonLines(input.bytes);
  const fault = findFaultyLine(lines);
  return {
    about: { input_file_id: input.id, endpoint, metadata: valueAt(body, 'metadata') ?? null },
    model: textAt(objectAt(lines[0], 'body'), 'model') ?? '',
    path: endpoint,
    handle,
    lines: fault ? [] : lines.map(toLine),
    fault,
  };
}

function findFaultyLine(lines: readonly (JsonObject | undefined)[]): Problem | undefined {
  if (lines.length === 0) return new Problem(400, 'The input file is empty.', { errorCode: 'empty_file' });
  const ids = new Set<string>();
  for (const [index, line] of lines.entries()) {
    const id = textAt(line, 'custom_id');
    const isRepeated = id !== undefined && ids.has(id);
    if (id === undefined || isRepeated) {
      const message = isRepeated
        ? `The custom_id '${id}' is used more than once.`
        : 'The line is no JSON object with a custom_id.';
      return new Problem(400, message, {
        errorCode: isRepeated ? 'duplicate_custom_id' : 'invalid_json_line',
        param: String(index + 1),
      });
    }
    ids.add(id);
  }
  return undefined;
}

function toLine(line: JsonObject | undefined): BatchLine {
  const body = objectAt(line, 'body') ?? {};
  const refused = "Unsupported value: 'stream' must be false in a batch.";
  const problem = body['stream'] === true ? badParameter('stream', 'unsupported_value', refused) : undefined;
  return { label: { custom_id: textAt(line, 'custom_id') ?? '' }, body, problem };
}

const unsentErrors = {
  expired: {
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  },
  canceled: { code: 'batch_cancelled', message: 'This request was not executed because the batch was cancelled.' },
};

function encodeResult({ label, result: { end, status, body } }: StoredBatch['results'][number]): JsonObject {
  const id = randomId('batch_req_');
  if (end === 'expired' || end === 'canceled') return { id, ...label, response: null, error: unsentErrors[end] };
  return { id, ...label, response: { status_code: status, request_id: randomId('req_'), body }, error: null };
}

const words: StateWords = {
  running: 'in_progress',
  canceling: 'cancelling',
  canceled: 'cancelled',
  failed: 'failed',
  expired: 'expired',
  completed: 'completed',
};

function toUnixSeconds(time: number | undefined): number | null {
  return time === undefined ? null : Math.floor(time / 1000);
}

function encodeBatch(batch: StoredBatch, _request: GatewayRequest, batches: Batches): JsonObject {
  const { id, about, total, created, canceled, ended, failure } = batch;
  const counts = countEnds(batch);
  const status = words[stateOf(batch)];
  const { message = '', extra } = failure ?? {};
  const fault = { code: extra?.errorCode ?? 'server_error', line: Number(extra?.param) || null, message, param: null };
  return {
    id,
    object: 'batch',
    ...about,
    completion_window: '24h',
    errors: failure ? { object: 'list', data: [fault] } : null,
    status,
    output_file_id: resultsFile(batch, 'output', batches),
    error_file_id: resultsFile(batch, 'error', batches),
    created_at: Math.floor(created / 1000),
    in_progress_at: failure ? null : toUnixSeconds(created),
    expires_at: Math.floor(created / 1000) + daySeconds,
    cancelling_at: toUnixSeconds(canceled),
    ...(ended !== undefined && { [`${status}_at`]: toUnixSeconds(ended) }),
    request_counts: { total, completed: counts.succeeded, failed: counts.errored },
  };
}

/** The id of the file with the answers, or with the errors, of a batch that has ended. */
function resultsFile(batch: StoredBatch, part: 'output' | 'error', batches: Batches): string | null {
  const { id, ended } = batch;
  const results = batch.results.filter(({ result }) => (result.end === 'succeeded') === (part === 'output'));
  if (ended === undefined || results.length === 0) return null;
  const file = { id: `file-${id.replace('batch_', part)}`, name: `${id}_${part}.jsonl` };
  return keepResults(batch, { ...file, bytes: () => toLines(results.map(encodeResult)) }, batches);
}

function listBatches(request: GatewayRequest, batches: Batches): GatewayReply {
  const all = listOf(batches.all, 'completions').map((batch) => encodeBatch(batch, request, batches));
  return jsonReply({ object: 'list', ...listPage(all) });
}
