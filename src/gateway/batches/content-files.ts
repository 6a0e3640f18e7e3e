import { isoTime } from '../../clock.ts';
import type { JsonObject } from '../../json.ts';
import { objectAt, textAt } from '../fields/read.ts';
import { bearerToken, headerText } from '../http/guard.ts';
import { parseBody } from '../http/body.ts';
import { jsonReply, selectPage } from '../http/reply.ts';
import { Problem } from '../problem.ts';
import type { GatewayRequest, GatewayReply } from '../types.ts';
import { randomId } from './batch.ts';
import { createSpool, spoolBody } from './spool.ts';
import type { Batches, BatchPaths, StoredFile } from './store.ts';

const largestFile = 2 * 2 ** 30;
const keptMs = 48 * 60 * 60 * 1000;

/** The purpose of a file whose upload has not ended. */
const uploading = 'uploading';

/** Files of the Gemini API, uploaded in the resumable way: https://ai.google.dev/api/files. */
export const contentFilePaths: BatchPaths = {
  '/upload/{version}/files': {
    POST: (request, batches) =>
      request.query.has('upload_id') ? takeBytes(request, batches) : startUpload(request, batches),
  },
  '/{version}/files': { GET: listContentFiles },
  '/{version}/files/{id}': {
    GET: ({ model = '' }, batches) => jsonReply(describeContentFile(findContentFile(model, batches))),
    DELETE({ model = '' }, batches) {
      batches.files.remove(findContentFile(model, batches).id);
      return jsonReply({});
    },
  },
  '(?:/download)?/{version}/files/{id}:download': {
    GET({ model = '' }, batches) {
      const { spool, mimeType, start, end } = findContentFile(model, batches);
      return { status: 200, headers: { 'content-type': mimeType }, body: spool.read(start, end) };
    },
  },
};

/** A file by its name, `files/…`, or its id. Throws Problem 403, as the service does where there is none. */
export function findContentFile(name: string, { files }: Batches): StoredFile {
  const id = name.replace(/^files\//, '');
  const file = files.find(id, 'content');
  if (file && file.purpose !== uploading) return file;
  const message = `You do not have permission to access the File ${id.slice(0, 100)} or it may not exist.`;
  throw new Problem(403, message);
}

async function startUpload(request: GatewayRequest, { files }: Batches): Promise<GatewayReply> {
  const { headers } = request;
  if (headers['x-goog-upload-protocol'] !== 'resumable' || readUploadCommands(request)[0] !== 'start') {
    throw new Problem(
      400,
      'files are uploaded with the header X-Goog-Upload-Protocol: resumable and the command start',
    );
  }
  const bytes = await request.readBody();
  const about = objectAt(bytes.length > 0 ? parseBody(bytes) : {}, 'file');
  const file: StoredFile = {
    id: (textAt(about, 'name') ?? '').replace(/^files\//, '') || randomId('', 12),
    format: 'content',
    name: textAt(about, 'displayName') ?? textAt(about, 'display_name') ?? '',
    purpose: uploading,
    mimeType: headerText(headers, 'x-goog-upload-header-content-type') ?? 'application/octet-stream',
    created: Date.now(),
    spool: createSpool(),
    start: 0,
    end: 0,
  };
  if (files.find(file.id, 'content')) throw new Problem(409, `The file files/${file.id} exists already.`);
  files.add(file);
  const query = new URLSearchParams({ upload_id: file.id, upload_protocol: 'resumable' });
  // Clients send the key only with the first request.
  const key = ['x-goog-api-key', 'x-vendor-a-api-key'].map((name) => headerText(headers, name)).find(Boolean);
  const shown = key ?? request.query.get('key') ?? bearerToken(headers.authorization);
  if (shown !== undefined) query.set('key', shown);
  return jsonReply(
    {},
    {
      'x-goog-upload-status': 'active',
      'x-goog-upload-url': `http://${headers.host ?? ''}/upload/v1beta/files?${query}`,
    },
  );
}

function readUploadCommands({ headers }: GatewayRequest): string[] {
  return (headerText(headers, 'x-goog-upload-command') ?? '').split(',').map((command) => command.trim());
}

async function takeBytes(request: GatewayRequest, { files }: Batches): Promise<GatewayReply> {
  const file = files.find(request.query.get('upload_id') ?? '', 'content');
  if (file?.purpose !== uploading) throw new Problem(404, 'The upload was not found, or has ended.');
  const commands = readUploadCommands(request);
  if (commands.includes('upload')) {
    const offset = Number(headerText(request.headers, 'x-goog-upload-offset') ?? 0);
    if (offset !== file.spool.size) throw new Problem(400, `The offset must be ${file.spool.size}, not ${offset}.`);
    await spoolBody(request, largestFile, { spool: file.spool });
  }
  file.end = file.spool.size;
  const isFinal = commands.includes('finalize');
  if (!isFinal) {
    const received = { 'x-goog-upload-size-received': String(file.end) };
    return jsonReply({}, { 'x-goog-upload-status': 'active', ...received });
  }
  file.purpose = 'user_data';
  return jsonReply({ file: describeContentFile(file) }, { 'x-goog-upload-status': 'final' });
}

function describeContentFile({ id, name, purpose, mimeType, created, start, end }: StoredFile): JsonObject {
  return {
    name: `files/${id}`,
    ...(name !== '' && { displayName: name }),
    mimeType,
    sizeBytes: String(end - start),
    createTime: isoTime(created) ?? '',
    updateTime: isoTime(created) ?? '',
    expirationTime: isoTime(created + keptMs) ?? '',
    uri: `https://generativelanguage.googleapis.com/v1beta/files/${id}`,
    state: 'ACTIVE',
    source: purpose === 'user_data' ? 'UPLOADED' : 'GENERATED',
  };
}

function listContentFiles({ query }: GatewayRequest, { files }: Batches): GatewayReply {
  const ended = files.list('content').filter(({ purpose }) => purpose !== uploading);
  const { page, last, hasMore } = selectPage(ended, query, { after: 'pageToken', limit: ['pageSize', 10] });
  return jsonReply({ files: page.map(describeContentFile), ...(hasMore && { nextPageToken: last }) });
}
