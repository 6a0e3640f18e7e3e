import { isoTime, type JsonObject } from '../../library/index.ts';
import { objectAt, textAt } from '../fields/read.ts';
import { bearerToken, headerText } from '../http/guard.ts';
import { parseBody } from '../http/body.ts';
import { jsonReply } from '../http/reply.ts';
import { Problem } from '../problem.ts';
import type { GatewayRequest, GatewayReply } from '../types.ts';
import { randomId } from './batch.ts';
import { type Batches, type StorePaths, listOf, type StoredFile } from './store.ts';

const keptMs = 48 * 60 * 60 * 1000;

/** Files of the Gemini API, uploaded in the resumable way: https://ai.google.dev/api/files. */
export const contentFilePaths: StorePaths = {
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
  if (file?.format === 'content') return file;
  const message = `You do not have permission to access the File ${id.slice(0, 100)} or it may not exist.`;
  throw new Problem(403, message);
}

async function startUpload(request: GatewayRequest, { files }: Batches): Promise<GatewayReply> {
  const { headers } = request;
  if (headers['x-goog-upload-protocol'] !== 'resumable')
    throw new Problem(400, 'files are uploaded with the header X-Goog-Upload-Protocol: resumable');
  const bytes = await request.readBody();
  const about = objectAt(bytes.length > 0 ? parseBody(bytes) : {}, 'file');
  const file: StoredFile = {
    id: (textAt(about, 'name') ?? '').replace(/^files\//, '') || randomId('', 12),
    format: 'content',
    name: textAt(about, 'displayName') ?? textAt(about, 'display_name') ?? '',
    purpose: 'user_data',
    mimeType: headerText(headers, 'x-goog-upload-header-content-type') ?? 'application/octet-stream',
    created: Date.now(),
    bytes: Buffer.alloc(0),
  };
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

/** Adds a piece to a file; with the command `finalize` it is the last one. */
async function takeBytes(request: GatewayRequest, { files }: Batches): Promise<GatewayReply> {
  const file = files.find(request.query.get('upload_id') ?? '');
  if (file === undefined) throw new Problem(404, 'The upload was not found.');
  const longer = { ...file, bytes: Buffer.concat([file.bytes, await request.readBody()]) };
  files.add(longer);
  const isFinal = headerText(request.headers, 'x-goog-upload-command')?.includes('finalize') === true;
  return jsonReply(isFinal ? { file: encodeContentFile(longer) } : {}, {
    'x-goog-upload-status': isFinal ? 'final' : 'active',
  });
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

function listContentFiles(_request: GatewayRequest, { files }: Batches): GatewayReply {
  return jsonReply({ files: listOf(files, 'content').map(encodeContentFile) });
}
