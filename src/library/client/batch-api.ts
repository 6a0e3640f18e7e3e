import { badReply, GatewayError } from '../errors.ts';
import type { BatchFormat, BatchInfo, BatchPage, BatchParts } from '../formats/batch-format.ts';
import type { AnyApiRequest } from '../formats/format.ts';
import { isObject, type JsonObject, parseFlat } from '../json.ts';
import { arrivingLines } from '../files/lines.ts';
import type { DivertedString } from '../scan/json-scan.ts';
import type { HttpReply } from '../transport/types.ts';
import { createUpload } from '../body.ts';
import type { Answered } from '../transport/types.ts';
import { readDiverted } from './reply-body.ts';
import type { SendOptions } from './send.ts';
import type { Deadline } from './deadline.ts';
import type { AuthUse } from '../formats/types.ts';

/** Of the events, `sent` comes before the first bytes: from then on the batch may exist. */
type CreateOptions = Pick<SendOptions, 'onEvent'> & { deadline: Deadline };

/** Sends one request, with retries. */
type SendApiRequest = (apiRequest: AnyApiRequest, options: SendOptions) => Promise<Answered>;

/** The batch API of one service. Every method throws GatewayError, or the reason of the caller's abort. */
export interface BatchApi {
  /** Uploads the lines of a batch. Returns the name of the file at the service; undefined if it takes no file. */
  upload(lines: SentFile, deadline: Deadline): Promise<string | undefined>;
  /** Creates a batch of an uploaded file, by its name, or by the body of the request. The request is never repeated if the batch may exist. */
  create(content: string | SentFile, parts: BatchParts, options: CreateOptions): Promise<BatchInfo>;
  retrieve(id: string, deadline: Deadline): Promise<BatchInfo>;
  cancel(id: string, deadline: Deadline): Promise<void>;
  page(deadline: Deadline, page?: string): Promise<BatchPage>;
  /** The results of a batch that has ended, each as JSON. The error for a missing file is thrown after the results of the other files. */
  results(info: Pick<BatchInfo, 'results'>, deadline: Deadline): AsyncGenerator<string, void>;
}

/** A file that is sent as it is. */
export interface SentFile {
  path: string;
  bytes: number;
  name: string;
}

/** A larger result is invalid: no model writes so much. */
const maxBytes = 256 * 1024 * 1024;

export function openBatchApi(format: BatchFormat, send: SendApiRequest, use: AuthUse): BatchApi {
  const { byFile, inline } = format;

  const request = (call: Call, options: Parameters<SendApiRequest>[1]): Promise<Answered> =>
    send({ format: format.name, use, ...call }, options);

  async function requestJson(call: Call, options: Parameters<SendApiRequest>[1]): Promise<JsonReply> {
    const { reply } = await request(call, options);
    return { reply, json: await readJsonObject(reply) };
  }

  async function requestBatch(call: Call, options: Parameters<SendApiRequest>[1]): Promise<BatchInfo> {
    const { reply, json } = await requestJson(call, options);
    const info = format.readBatch(json);
    if (info === undefined) throw badBatchReply(reply, 'the reply is not a batch');
    return info;
  }

  return {
    async upload(lines, deadline) {
      if (byFile === undefined) return undefined;
      const upload = byFile.upload === 'form' ? uploadForm : uploadResumable;
      const { json } = await upload(lines, byFile.files, (call, more) => requestJson(call, { deadline, ...more }));
      const name = byFile.fileOf(json);
      if (name !== undefined) return name;
      throw new GatewayError('bad-reply', 'the reply to the upload names no file', { sent: 'yes', billed: 'no' });
    },
    create(content, parts, options) {
      const call =
        typeof content === 'string' ? byFile?.create(parts, content) : inline && createInline(content, inline.path);
      if (call === undefined) throw new Error(`${format.name} creates no batch of that`);
      return requestBatch(call, { ...options, policy: createOnce });
    },
    retrieve: (id, deadline) => requestBatch(format.retrieve(id), { deadline }),
    async cancel(id, deadline) {
      await requestJson(format.cancel(id), { deadline });
    },
    async page(deadline, page) {
      const { reply, json } = await requestJson(format.list(page), { deadline });
      const found = format.readPage(json);
      if (found === undefined) throw badBatchReply(reply, 'the reply is not a list of batches');
      return found;
    },
    async *results({ results }, deadline) {
      let gone: unknown;
      for (const place of results)
        try {
          const { reply } = await request(place, { deadline });
          yield* readResultLines(reply);
        } catch (error) {
          if (!(error instanceof GatewayError) || error.details.status !== 404) throw error;
          gone ??= error;
        }
      if (gone !== undefined) throw gone;
    },
  };
}

/** A request without the members that are the same for all calls. */
type Call = Omit<AnyApiRequest, 'format' | 'use'>;

interface JsonReply {
  reply: HttpReply;
  json: JsonObject;
}

const jsonLines = 'application/jsonl';

const createOnce = { undoneOnly: true };

function createInline({ path: source, bytes, name }: SentFile, path: string): Call {
  return { path, file: createUpload(source, bytes, { file: { name, mimeType: 'application/json' } }) };
}

type UploadLines = (
  lines: SentFile,
  path: string,
  requestJson: (call: Call, more?: Partial<SendOptions>) => Promise<JsonReply>,
) => Promise<JsonReply>;

const uploadForm: UploadLines = ({ path: source, bytes, name }, path, requestJson) => {
  const file = createUpload(source, bytes, { file: { name, mimeType: jsonLines } });
  return requestJson({ path, form: true, body: { purpose: 'batch', file } });
};

/** Google's resumable upload, in one piece: a header of the first reply has the URL for the bytes. */
const uploadResumable: UploadLines = async ({ path: source, bytes, name }, path, requestJson) => {
  const head = { 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' };
  const facts = {
    'x-goog-upload-header-content-length': String(bytes),
    'x-goog-upload-header-content-type': jsonLines,
  };
  const body = { file: { displayName: name, mimeType: jsonLines } };
  const { reply } = await requestJson({ path, headers: { ...head, ...facts }, body });
  const file = createUpload(source, bytes, { file: { name, mimeType: jsonLines } });
  const headers = { 'x-goog-upload-offset': '0', 'x-goog-upload-command': 'upload, finalize' };
  return requestJson({ ...uploadPlace(reply, path), headers, file }, { policy: { safeOnly: true } });
};

/** The key and the requests go to the service that was named, and to no other. */
function uploadPlace(reply: HttpReply, start: string): Pick<AnyApiRequest, 'path' | 'query'> {
  const requestUrl = new URL((reply.request ?? '').replace(/^\w+ /, ''));
  const prefix = requestUrl.pathname.slice(0, -start.length);
  const uploadUrl = reply.headers['x-goog-upload-url'] ?? '';
  const url = URL.canParse(uploadUrl) ? new URL(uploadUrl) : undefined;
  if (url?.origin !== requestUrl.origin || !url.pathname.startsWith(prefix))
    throw badBatchReply(reply, "the upload would go to a host other than the service's");
  return { path: url.pathname.slice(prefix.length), query: url.search.slice(1) };
}

/** A JSON object about batches. Those of other programs can have their results in it, of which the pictures are left out. */
async function readJsonObject(reply: HttpReply): Promise<JsonObject> {
  const { text, cut } = await readDiverted(reply.body[Symbol.asyncIterator](), { open: async () => nowhere });
  if (cut) throw cut;
  if (text.trim() === '') return {};
  try {
    const value = parseFlat(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw badBatchReply(reply, 'the reply is not a JSON object');
}

const nowhere: DivertedString = { placeholder: '', sink: { write: () => undefined, end: () => undefined } };

/** The lines of a body that are not empty. A file can begin with a byte order mark. */
async function* readResultLines(reply: HttpReply): AsyncGenerator<string, void> {
  for await (const { text, isTooLong } of arrivingLines(reply.body, maxBytes)) {
    if (isTooLong) throw badBatchReply(reply, 'a result is too large');
    const json = text.replace(/^\uFEFF/, '');
    if (json.trim() !== '') yield json;
  }
}

function badBatchReply({ request, status }: HttpReply, what: string): GatewayError {
  return badReply(what, { request, status, retryable: true });
}
