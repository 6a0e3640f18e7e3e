import { type JsonObject, parseObject } from '../../json.ts';
import { objectAt, textAt, valueAt } from '../fields/read.ts';
import { badValue, freeObject, object, oneOf, oneOfList, text } from '../fields/rule.ts';
import { completionsOperation } from '../completions/format.ts';
import { editsOperation, imagesOperation } from '../completions/images.ts';
import { badParameter } from '../completions/reply.ts';
import { responsesOperation } from '../responses/format.ts';
import { checkContentType } from '../http/body.ts';
import { jsonReply, selectPage } from '../http/reply.ts';
import { answerOperation } from '../operation.ts';
import { Problem } from '../problem.ts';
import type { BodyHandler, GatewayRequest, GatewayReply } from '../types.ts';
import { type StoredBatch, cancelBatch, type LineResult, type OpenedLine, parseBatchLine, randomId } from './batch.ts';
import { readSpoolLines, spoolForm } from './spool.ts';
import {
  batchActions,
  type BatchDraft,
  type Batches,
  type BatchPaths,
  makeResultsFile,
  type StoredFile,
} from './store.ts';

const maxRequests = 50_000;
const maxBytes = 200 * 2 ** 20;
const largestFile = 512 * 2 ** 20;
const daySeconds = 24 * 60 * 60;

const handlers: Readonly<Record<string, BodyHandler>> = {
  '/v1/chat/completions': answerOperation(completionsOperation),
  '/v1/responses': answerOperation(responsesOperation),
  '/v1/images/generations': answerOperation(imagesOperation),
  '/v1/images/edits': answerOperation(editsOperation),
};

const batchBody = object({
  'input_file_id!': text,
  'endpoint!': oneOfList(Object.keys(handlers)),
  'completion_window!': oneOf('24h'),
  metadata: freeObject,
  output_expires_after: freeObject,
});

const { find, create, show } = batchActions({
  format: 'completions',
  newId: () => randomId('batch_'),
  body: batchBody,
  read,
  describe,
  notFound: (id) => `No batch found with id '${id}'.`,
});

/** Files and batches: https://platform.openai.com/docs/api-reference/batch. */
export const completionsBatchPaths: BatchPaths = {
  '/v1/files': { GET: listCompletionsFiles, POST: upload },
  '/v1/files/{id}': {
    GET: ({ model }, batches) => jsonReply(describeCompletionsFile(findCompletionsFile(model, batches))),
    DELETE({ model }, batches) {
      const { id } = findCompletionsFile(model, batches);
      batches.files.remove(id);
      return jsonReply({ object: 'file', deleted: true, id });
    },
  },
  '/v1/files/{id}/content': {
    GET({ model }, batches) {
      const { spool, start, end } = findCompletionsFile(model, batches);
      return { status: 200, headers: { 'content-type': 'application/octet-stream' }, body: spool.read(start, end) };
    },
  },
  '/v1/batches': { GET: listBatches, POST: create },
  '/v1/batches/{id}': { GET: show },
  '/v1/batches/{id}/cancel': {
    POST(request, batches) {
      const batch = find(request, batches);
      if (batch.ended !== undefined) {
        throw new Problem(409, `Cannot cancel a batch with status '${describeStatus(batch)}'.`);
      }
      cancelBatch(batch);
      return jsonReply(describe(batch, request, batches));
    },
  },
};

async function upload(request: GatewayRequest, { files }: Batches): Promise<GatewayReply> {
  checkContentType(request, 'multipart/form-data');
  const { spool, file, fields } = await spoolForm(request, request.headers['content-type'] ?? '', largestFile);
  const { purpose } = fields;
  if (!file || purpose === undefined) {
    spool.close();
    throw badParameter(file ? 'purpose' : 'file', null, `'${file ? 'purpose' : 'file'}' is a required property`);
  }
  const { filename: name = '', start, end } = file;
  const stored: StoredFile = {
    id: randomId('file-'),
    format: 'completions',
    name,
    purpose,
    mimeType: 'application/jsonl',
    created: Date.now(),
    spool,
    start,
    end,
  };
  files.add(stored);
  return jsonReply(describeCompletionsFile(stored));
}

function describeCompletionsFile({ id, name, purpose, created, start, end }: StoredFile): JsonObject {
  const times = { created_at: Math.floor(created / 1000) };
  return { object: 'file', id, purpose, filename: name, bytes: end - start, ...times, status: 'processed' };
}

function findCompletionsFile(id = '', { files }: Batches): StoredFile {
  const file = files.find(id, 'completions');
  if (file) return file;
  throw new Problem(404, `No such File object: ${id.slice(0, 100)}`, { param: 'id' });
}

function listCompletionsFiles({ query }: GatewayRequest, { files }: Batches): GatewayReply {
  const purpose = query.get('purpose');
  const all = files.list('completions').filter((file) => purpose === null || file.purpose === purpose);
  const page = selectPage(all, query, { after: 'after', limit: ['limit', 10_000] });
  return listReply(page, page.page.map(describeCompletionsFile));
}

function listReply(
  { first, last, hasMore }: Omit<ReturnType<typeof selectPage>, 'page'>,
  data: JsonObject[],
): GatewayReply {
  return jsonReply({ object: 'list', data, first_id: first, last_id: last, has_more: hasMore });
}

async function read(body: JsonObject, _request: GatewayRequest, batches: Batches): Promise<BatchDraft> {
  const input = findCompletionsFile(textAt(body, 'input_file_id'), batches);
  if (input.purpose !== 'batch') throw badValue(['input_file_id'], 'the file must have the purpose "batch".');
  const endpoint = textAt(body, 'endpoint') ?? '';
  const lines = (): AsyncGenerator<string> => readSpoolLines(input.spool.read(input.start, input.end));
  return {
    about: { input_file_id: input.id, endpoint, metadata: valueAt(body, 'metadata') ?? null },
    model: await firstModel(lines()),
    total: 0,
    path: endpoint,
    handle: handlers[endpoint] ?? answerOperation(completionsOperation),
    lines,
    validate: () => checkLines(input, endpoint),
    open,
    write,
    splitsErrors: true,
  };
}

async function firstModel(lines: AsyncIterable<string, undefined>): Promise<string> {
  const { value } = await lines[Symbol.asyncIterator]().next();
  return textAt(objectAt(parseObject(value ?? ''), 'body'), 'model') ?? '';
}

/** The number of lines. Throws Problem if one of them would not be taken. */
async function checkLines({ spool, start, end }: StoredFile, endpoint: string): Promise<number> {
  if (end - start > maxBytes) throw lineProblem(0, `The file is larger than ${maxBytes} bytes.`, 'file_too_large');
  const ids = new Set<string>();
  for await (const line of readSpoolLines(spool.read(start, end))) {
    const number = ids.size + 1;
    const json = parseBatchLine(line, { errorCode: 'invalid_json_line', param: String(number) });
    const id = textAt(json, 'custom_id');
    if (id === undefined) throw lineProblem(number, "Missing required parameter: 'custom_id'.", 'missing_field');
    if (ids.has(id)) throw lineProblem(number, `The custom_id '${id}' is used more than once.`, 'duplicate_custom_id');
    if (textAt(json, 'method') !== 'POST') throw lineProblem(number, "The method must be 'POST'.", 'invalid_method');
    if (textAt(json, 'url') !== endpoint) {
      throw lineProblem(number, `The URL must match the endpoint of the batch, ${endpoint}.`, 'mismatched_url');
    }
    if (!objectAt(json, 'body')) throw lineProblem(number, "Missing required parameter: 'body'.", 'missing_field');
    if (ids.add(id).size > maxRequests) {
      throw lineProblem(number, `A batch has at most ${maxRequests} requests.`, 'too_many_tasks');
    }
  }
  if (ids.size === 0) throw lineProblem(0, 'The input file is empty.', 'empty_file');
  return ids.size;
}

function lineProblem(line: number, message: string, errorCode: string): Problem {
  return new Problem(400, message, { errorCode, ...(line > 0 && { param: String(line) }) });
}

function open(line: string): OpenedLine {
  const json = parseBatchLine(line);
  const body = objectAt(json, 'body') ?? {};
  const refused = "Unsupported value: 'stream' must be false in a batch.";
  const problem = body['stream'] === true ? badParameter('stream', 'unsupported_value', refused) : undefined;
  return { label: { custom_id: textAt(json, 'custom_id') ?? '' }, body, problem };
}

const unsentErrors = {
  expired: {
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  },
  canceled: { code: 'batch_cancelled', message: 'This request was not executed because the batch was cancelled.' },
};

function write(label: JsonObject, { end, status, body }: LineResult): JsonObject {
  const id = randomId('batch_req_');
  if (end === 'expired' || end === 'canceled') return { id, ...label, response: null, error: unsentErrors[end] };
  return { id, ...label, response: { status_code: status, request_id: randomId('req_'), body }, error: null };
}

function describeStatus({ state, canceled, ended, counts }: StoredBatch): string {
  if (state === 'failed') return 'failed';
  if (canceled !== undefined) return ended === undefined ? 'cancelling' : 'cancelled';
  if (ended !== undefined) return counts.expired > 0 ? 'expired' : 'completed';
  return state === 'waiting' ? 'validating' : 'in_progress';
}

function toUnixSeconds(time: number | undefined): number | null {
  return time === undefined ? null : Math.floor(time / 1000);
}

function describe(batch: StoredBatch, _request: GatewayRequest, batches: Batches): JsonObject {
  const { id, about, total, counts, created, canceled, ended, failure } = batch;
  const status = describeStatus(batch);
  const endedAs = (name: string): number | null => (status === name ? toUnixSeconds(ended) : null);
  const { code: _code, message = '', extra } = failure ?? {};
  const fault = { code: extra?.errorCode ?? 'server_error', line: Number(extra?.param) || null, message, param: null };
  return {
    id,
    object: 'batch',
    ...about,
    completion_window: '24h',
    errors: failure ? { object: 'list', data: [fault] } : null,
    status,
    output_file_id: resultsFile(batch, 'results', batches),
    error_file_id: resultsFile(batch, 'errors', batches),
    created_at: Math.floor(created / 1000),
    in_progress_at: status === 'validating' || failure ? null : toUnixSeconds(created),
    expires_at: Math.floor(created / 1000) + daySeconds,
    finalizing_at: endedAs('completed'),
    completed_at: endedAs('completed'),
    failed_at: endedAs('failed'),
    expired_at: endedAs('expired'),
    cancelling_at: toUnixSeconds(canceled),
    cancelled_at: endedAs('cancelled'),
    request_counts: { total, completed: counts.succeeded, failed: counts.errored },
  };
}

/** The id of the file with the results of a batch that has ended. */
function resultsFile(batch: StoredBatch, part: 'results' | 'errors', batches: Batches): string | null {
  const { id, ended, [part]: spool } = batch;
  if (ended === undefined || spool.size === 0) return null;
  const [mark, suffix] = part === 'results' ? ['out', 'output'] : ['err', 'error'];
  const file = { id: `file-${id.replace('batch_', mark)}`, name: `${id}_${suffix}.jsonl` };
  return makeResultsFile(batch, spool, file, batches);
}

function listBatches(request: GatewayRequest, batches: Batches): GatewayReply {
  const page = selectPage(batches.all.list('completions'), request.query, { after: 'after', limit: ['limit', 20] });
  return listReply(
    page,
    page.page.map((batch) => describe(batch, request, batches)),
  );
}
