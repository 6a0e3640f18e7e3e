import { isoTime, type JsonObject } from '../../library/index.ts';
import { objectAt, textAt } from '../fields/read.ts';
import { bearerToken, headerText } from '../http/guard.ts';
import { parseBody } from '../http/body.ts';
import { jsonReply, selectPage } from '../http/reply.ts';
import { Problem } from '../problem.ts';
import type { GatewayRequest, GatewayReply } from '../types.ts';
import { randomId } from './batch.ts';
import { type Batches, type BatchPaths, listOf, type StoredFile } from './store.ts';

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
    GET: ({ pathId = '' }, batches) => jsonReply(encodeContentFile(findContentFile(pathId, batches))),
    DELETE({ pathId = '' }, batches) {
      batches.files.remove(findContentFile(pathId, batches).id);
      return jsonReply({});
    },
  },
  '(?:/download)?/{version}/files/{id}:download': {
    GET({ pathId = '' }, batches) {
      const { bytes, mimeType } = findContentFile(pathId, batches);
      return { status: 200, headers: { 'content-type': mimeType }, body: [bytes] };
    },
  },
};

/** A file by its name, `files/…`, or its id. Throws Problem 403 for a missing file, as the service does. */
export function findContentFile(name: string, { files }: Batches): StoredFile {
  const id = name.replace(/^files\//, '');
  const file = files.find(id);
  if (file?.format === 'content' && file.purpose !== uploading) return file;
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
    bytes: Buffer.alloc(0),
  };
  if (files.find(file.id)) throw new Problem(409, `The file files/${file.id} exists already.`);
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
  const file = files.find(request.query.get('upload_id') ?? '');
  if (file?.purpose !== uploading) throw new Problem(404, 'The upload was not found, or has ended.');
  const commands = readUploadCommands(request);
  const size = file.bytes.length;
  const offset = Number(headerText(request.headers, 'x-goog-upload-offset') ?? 0);
  const isUpload = commands.includes('upload');
  if (isUpload && offset !== size) throw new Problem(400, `The offset must be ${size}, not ${offset}.`);
  const isFinal = commands.includes('finalize');
  const more = isUpload ? await request.readBody() : Buffer.alloc(0);
  const longer = { ...file, bytes: Buffer.concat([file.bytes, more]), ...(isFinal && { purpose: 'user_data' }) };
  files.add(longer);
  if (isFinal) return jsonReply({ file: encodeContentFile(longer) }, { 'x-goog-upload-status': 'final' });
  const received = { 'x-goog-upload-size-received': String(longer.bytes.length) };
  return jsonReply({}, { 'x-goog-upload-status': 'active', ...received });
}

function encodeContentFile({ id, name, purpose, mimeType, created, bytes }: StoredFile): JsonObject {
  return {
    name: `files/${id}`,
    ...(name !== '' && { displayName: name }),
    mimeType,
    sizeBytes: String(bytes.length),
    createTime: isoTime(created) ?? '',
    updateTime: isoTime(created) ?? '',
    expirationTime: isoTime(created + keptMs) ?? '',
    uri: `https://generativelanguage.googleapis.com/v1beta/files/${id}`,
    state: 'ACTIVE',
    source: purpose === 'user_data' ? 'UPLOADED' : 'GENERATED',
  };
}

function listContentFiles({ query }: GatewayRequest, { files }: Batches): GatewayReply {
  const ended = listOf(files, 'content').filter(({ purpose }) => purpose !== uploading);
  const { page, last, hasMore } = selectPage(ended, query, { after: 'pageToken', limit: ['pageSize', 10] });
  return jsonReply({ files: page.map(encodeContentFile), ...(hasMore && { nextPageToken: last }) });
}
