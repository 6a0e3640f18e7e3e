import { field, isObject, type JsonObject, listField, textField } from '../json.ts';
import type { BatchFormat } from './batch-types.ts';

/** A time in ms since 1970: a text as in `2026-11-25T01:00:00Z`, or seconds. */
export function timeField(object: JsonObject, name: string): number | undefined {
  const value = field(object, name);
  if (typeof value === 'number') return value * 1000;
  const time = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** A count, which proto3 JSON writes as a text. */
export function countOf(object: JsonObject, name: string): number | undefined {
  const value = field(object, name);
  const count = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/** The sum of counts; undefined if none of them is there. */
export function sumOf(object: JsonObject, ...names: string[]): number | undefined {
  const counts = names.map((name) => countOf(object, name)).filter((count) => count !== undefined);
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
}

/** Whether an id of a reply can be a segment of a path, as `segment` writes it. */
export function isPlainId(id: string): boolean {
  return /^(?!\.{1,2}$)[\x21-\x7e]{1,500}$/.test(id);
}

/** An id as a segment of a path and nothing more. */
export const segment = encodeURIComponent;

/** The operations of an API that lists its batches in pages, each after the last one of the page before. */
export function pagedBatches(
  base: string,
  after: string,
  readBatch: BatchFormat['readBatch'],
): Pick<BatchFormat, 'retrieve' | 'cancel' | 'list' | 'readBatch' | 'readPage'> {
  return {
    retrieve: (id) => ({ path: `${base}/${segment(id)}` }),
    cancel: (id) => ({ path: `${base}/${segment(id)}/cancel`, body: {} }),
    list(page) {
      const query = new URLSearchParams({ limit: '100', ...(page !== undefined && { [after]: page }) });
      return { path: base, query: query.toString() };
    },
    readBatch,
    readPage(reply) {
      const data = listField(reply, 'data');
      if (data === undefined) return undefined;
      const batches = data.flatMap((item) => (isObject(item) && readBatch(item)) || []);
      const hasMore = reply['has_more'] === true;
      const next = hasMore ? (textField(reply, 'lastId') ?? batches.at(-1)?.id) : undefined;
      return { batches, next, isWhole: batches.length === data.length && hasMore === (next !== undefined) };
    },
  };
}
