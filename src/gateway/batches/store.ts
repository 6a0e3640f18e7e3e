import type { FormatName, GatewayRequest, Reply } from '../types.ts';
import { type Batch, type BatchJob, type BatchOptions, dropBatch, startBatch } from './batch.ts';
import type { Spool } from './spool.ts';

/** An uploaded file, or the results of a batch as one. */
export interface StoredFile {
  id: string;
  format: FormatName;
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

/** Things by their id, the newest first. */
interface Shelf<T> {
  add(item: T): void;
  find(id: string, format: FormatName): T | undefined;
  list(format: FormatName): T[];
  remove(id: string): void;
  clear(): void;
}

/** The batches and files of a gateway, for as long as it runs. */
export interface Batches {
  start(id: string, job: BatchJob): Batch;
  all: Shelf<Batch>;
  files: Shelf<StoredFile>;
  /** Drops everything, so that no work goes on when the gateway has closed. */
  close(): void;
}

/** An action on batches or files. Its request's `model` is the group in its path. Throws Problem and Violation. */
type BatchAction = (request: GatewayRequest, batches: Batches) => Reply | Promise<Reply>;

/** The actions of a path by their method. */
export type BatchActions = Readonly<Record<string, BatchAction>>;

/** The paths of a batch API. */
export type BatchPaths = Readonly<Record<string, BatchActions>>;

/** The number of batches, and of files, that are kept; the oldest are dropped. */
const kept = 1000;

export function createBatches(options: BatchOptions): Batches {
  const all = createShelf<Batch>(dropBatch);
  const files = createShelf<StoredFile>(({ purpose, spool }) => {
    if (purpose !== outputPurpose) spool.close();
  });
  return {
    start(id, job) {
      const batch = startBatch(id, job, options);
      all.add(batch);
      return batch;
    },
    all,
    files,
    close() {
      all.clear();
      files.clear();
    },
  };
}

/** The purpose of files that belong to a batch. */
export const outputPurpose = 'batch_output';

function createShelf<T extends { id: string; format: FormatName }>(drop: (item: T) => void): Shelf<T> {
  const items = new Map<string, T>();
  const remove = (id: string): void => {
    const item = items.get(id);
    if (item && items.delete(id)) drop(item);
  };
  return {
    add(item) {
      items.set(item.id, item);
      if (items.size > kept) remove(items.keys().next().value ?? '');
    },
    find(id, format) {
      const item = items.get(id);
      return item?.format === format ? item : undefined;
    },
    list: (format) => [...items.values()].filter((item) => item.format === format).toReversed(),
    remove,
    clear() {
      for (const id of items.keys()) remove(id);
    },
  };
}

/** A reply of JSON. */
export function jsonReply(body: object, headers: Record<string, string> = {}): Reply {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(body),
  };
}

/** The reply to the creation of a batch, which is lost where the fault says so. */
export function createdReply(batch: Batch, body: object): Reply {
  const reply = { ...jsonReply(body), model: batch.model };
  return batch.fault.losesReply ? { ...reply, head: false, ending: 'reset' } : reply;
}

/** The batch of an id, as a client sees it: some are not found at first. */
export function visibleBatch(batches: Batches, id: string, format: FormatName): Batch | undefined {
  const batch = batches.all.find(id, format);
  if (batch === undefined || batch.hidden === 0) return batch;
  batch.hidden--;
  return undefined;
}
