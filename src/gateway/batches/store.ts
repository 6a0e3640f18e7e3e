import type { JsonObject } from '../../library/index.ts';
import type { ObjectRule } from '../fields/rule.ts';
import { checkContentType, parseBody } from '../http/body.ts';
import { jsonReply } from '../http/reply.ts';
import { Problem } from '../problem.ts';
import type { ResponseStore } from '../responses/store.ts';
import { createShelf, type Shelf } from '../shelf.ts';
import type { GatewayFormatName, GatewayRequest, GatewayReply } from '../types.ts';
import { type StoredBatch, type BatchJob, type BatchOptions, cancelBatch, startBatch } from './batch.ts';

/** An uploaded file, or the results of a batch as a file. */
export interface StoredFile {
  id: string;
  format: GatewayFormatName;
  name: string;
  purpose: string;
  mimeType: string;
  /** ms since 1970. */
  created: number;
  bytes: Buffer;
}

/** The batches, files and responses of a gateway, for as long as it runs. */
export interface Batches {
  all: Shelf<StoredBatch>;
  files: Shelf<StoredFile>;
  responses: ResponseStore;
  options: BatchOptions;
}

export function createBatches(options: BatchOptions): Batches {
  return { all: createShelf(), files: createShelf(), responses: createShelf(), options };
}

/** The batches or files of a format, the newest first. */
export function listOf<T extends { format: GatewayFormatName }>(
  { list }: { list(): T[] },
  format: GatewayFormatName,
): T[] {
  return list().filter((item) => item.format === format);
}

/** An action on what is kept. Throws Problem and Violation. */
type StoreAction = (request: GatewayRequest, batches: Batches) => GatewayReply | Promise<GatewayReply>;

/** The actions of a path by their method. */
export type StoreActions = Readonly<Record<string, StoreAction>>;

/** The paths of an API for what is kept. */
export type StorePaths = Readonly<Record<string, StoreActions>>;

/** The differences between the batch APIs of the vendors. */
interface VendorBatchApi {
  format: GatewayFormatName;
  newId(): string;
  /** The rule of the body that creates a batch. */
  body: ObjectRule;
  /** Reads a checked body. Throws Problem and Violation. */
  read(body: JsonObject, request: GatewayRequest, batches: Batches): Omit<BatchJob, 'request'>;
  /** The batch as the API shows it. */
  encode(batch: StoredBatch, request: GatewayRequest, batches: Batches): JsonObject;
  /** The message if there is no such batch. */
  notFound(id: string): string;
}

/** The actions that are the same in all batch APIs. */
export function batchActions({ format, newId, body, read, encode, notFound }: VendorBatchApi) {
  /** The batch in the path, as a client sees it: some are not found at first. Throws Problem 404. */
  const find = ({ pathId: id = '' }: GatewayRequest, batches: Batches): StoredBatch => {
    const batch = batches.all.find(id);
    if (batch?.format === format && batch.hidden === 0) return batch;
    if (batch) batch.hidden--;
    throw new Problem(404, notFound(id.slice(0, 100)));
  };
  return {
    find,
    async create(request: GatewayRequest, batches: Batches): Promise<GatewayReply> {
      checkContentType(request, 'application/json');
      const checked = body(parseBody(await request.readBody()), [], { isStrict: false, leftOut() {} });
      const batch = startBatch(newId(), { request, ...read(checked, request, batches) }, batches.options);
      batches.all.add(batch);
      const reply = { ...jsonReply(encode(batch, request, batches)), model: batch.model };
      return batch.fault.losesReply ? { ...reply, head: false, ending: 'reset' } : reply;
    },
    cancel(request: GatewayRequest, batches: Batches): GatewayReply {
      const batch = find(request, batches);
      cancelBatch(batch);
      return jsonReply(encode(batch, request, batches));
    },
    show: (request: GatewayRequest, batches: Batches): GatewayReply =>
      jsonReply(encode(find(request, batches), request, batches)),
  };
}

/** The file of the results of a batch that has ended, which is made when it is first asked for. Returns its id. */
export function keepResults(
  { format, ended = 0 }: StoredBatch,
  { id, name, bytes }: { id: string; name: string; bytes: () => Buffer },
  { files }: Batches,
): string {
  const about = { id, format, name, purpose: 'batch_output', mimeType: 'application/jsonl', created: ended };
  if (!files.find(id)) files.add({ ...about, bytes: bytes() });
  return id;
}
