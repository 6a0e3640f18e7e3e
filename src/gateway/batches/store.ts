import type { JsonObject } from '../../json.ts';
import type { ObjectRule } from '../fields/rule.ts';
import { checkContentType, parseBody } from '../http/body.ts';
import { jsonReply } from '../http/reply.ts';
import { Problem } from '../problem.ts';
import type { GatewayFormatName, GatewayRequest, GatewayReply } from '../types.ts';
import { type StoredBatch, type BatchJob, type BatchOptions, dropBatch, startBatch } from './batch.ts';
import type { Spool } from './spool.ts';

/** An uploaded file, or the results of a batch as one. */
export interface StoredFile {
  id: string;
  format: GatewayFormatName;
  name: string;
  purpose: string;
  mimeType: string;
  /** ms since 1970. */
  created: number;
  spool: Spool;
  /** The part of the spool that is the file. */
  start: number;
  end: number;
}

/** The number of batches, and of files, that are kept; the oldest are dropped. */
const kept = 1000;

/** Things by their id. */
function createShelf<T extends { id: string; format: GatewayFormatName }>(drop: (item: T) => void) {
  const items = new Map<string, T>();
  const remove = (id: string): void => {
    const item = items.get(id);
    if (item && items.delete(id)) drop(item);
  };
  return {
    add(item: T): void {
      items.set(item.id, item);
      if (items.size > kept) remove(items.keys().next().value ?? '');
    },
    find(id: string, format: GatewayFormatName): T | undefined {
      const item = items.get(id);
      return item?.format === format ? item : undefined;
    },
    /** The newest first. */
    list: (format: GatewayFormatName): T[] => [...items.values()].filter((item) => item.format === format).toReversed(),
    remove,
    clear(): void {
      for (const id of items.keys()) remove(id);
    },
  };
}

/** The purpose of files that belong to a batch. */
const outputPurpose = 'batch_output';

/** The batches and files of a gateway, for as long as it runs. */
export type Batches = ReturnType<typeof createBatches>;

export function createBatches(options: BatchOptions) {
  const all = createShelf<StoredBatch>(dropBatch);
  const files = createShelf<StoredFile>(({ purpose, spool }) => {
    if (purpose !== outputPurpose) spool.close();
  });
  return {
    all,
    files,
    start(id: string, job: BatchJob): StoredBatch {
      const batch = startBatch(id, job, options);
      all.add(batch);
      return batch;
    },
    /** Drops everything, so that no work goes on when the gateway has closed. */
    close(): void {
      all.clear();
      files.clear();
    },
  };
}

/** An action on batches or files. Its request's `model` is the group in its path. Throws Problem and Violation. */
type BatchAction = (request: GatewayRequest, batches: Batches) => GatewayReply | Promise<GatewayReply>;

/** The actions of a path by their method. */
export type BatchActions = Readonly<Record<string, BatchAction>>;

/** The paths of a batch API. */
export type BatchPaths = Readonly<Record<string, BatchActions>>;

/** A batch as a body asks for it. */
export type BatchDraft = Omit<BatchJob, 'request'>;

/** What differs between the batch APIs of the vendors. */
interface VendorBatchApi {
  format: GatewayFormatName;
  newId(): string;
  /** The rule of the body that creates a batch. */
  body: ObjectRule;
  /** Reads a checked body. Throws Problem and Violation. */
  read(body: JsonObject, request: GatewayRequest, batches: Batches): BatchDraft | Promise<BatchDraft>;
  describe(batch: StoredBatch, request: GatewayRequest, batches: Batches): JsonObject;
  /** The message if there is no such batch. */
  notFound(id: string): string;
}

/** What all batch APIs do in the same way. */
export function batchActions({ format, newId, body, read, describe, notFound }: VendorBatchApi) {
  /** The batch in the path, as a client sees it: some are not found at first. Throws Problem 404. */
  const find = ({ model: id = '' }: GatewayRequest, batches: Batches): StoredBatch => {
    const batch = batches.all.find(id, format);
    if (batch?.hidden === 0) return batch;
    if (batch) batch.hidden--;
    throw new Problem(404, notFound(id.slice(0, 100)));
  };
  return {
    find,
    async create(request: GatewayRequest, batches: Batches): Promise<GatewayReply> {
      checkContentType(request, 'application/json');
      const checked = body(parseBody(await request.readBody()), [], { isStrict: false, leftOut() {} });
      const batch = batches.start(newId(), { request, ...(await read(checked, request, batches)) });
      const reply = { ...jsonReply(describe(batch, request, batches)), model: batch.model };
      return batch.fault.losesReply ? { ...reply, head: false, ending: 'reset' } : reply;
    },
    show: (request: GatewayRequest, batches: Batches): GatewayReply =>
      jsonReply(describe(find(request, batches), request, batches)),
  };
}

/** Makes a file of the results of a batch that has ended, unless it exists. Returns its id. */
export function makeResultsFile(
  { format, ended = 0 }: StoredBatch,
  spool: Spool,
  { id, name }: Pick<StoredFile, 'id' | 'name'>,
  { files }: Batches,
): string {
  const about = { id, format, name, purpose: outputPurpose, mimeType: 'application/jsonl', created: ended };
  if (!files.find(id, format)) files.add({ ...about, spool, start: 0, end: spool.size });
  return id;
}
