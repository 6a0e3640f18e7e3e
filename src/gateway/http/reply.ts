import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayRequest, GatewayReply } from '../types.ts';

/** A reply of JSON. */
export function jsonReply(body: object, headers: Record<string, string> = {}): GatewayReply {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(body),
  };
}

/** A whole number of a query, or what counts without one. */
export function numberIn(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name) ?? '';
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : otherwise;
}

/** The fields of a query that ask for a page: after an item, or before one; `limit` with what counts without it. */
interface PageFields {
  after: string;
  before?: string;
  limit: readonly [name: string, usual: number];
}

/** The page of a list that a query asks for. */
export function selectPage<T extends { id: string }>(
  items: readonly T[],
  query: URLSearchParams,
  { after, before = '', limit: [name, usual] }: PageFields,
): { page: T[]; first: string | null; last: string | null; hasMore: boolean } {
  const limit = numberIn(query, name, usual);
  const findPlace = (field: string): number => items.findIndex((item) => item.id === query.get(field));
  const end = findPlace(before);
  const start = end < 0 ? findPlace(after) + 1 : Math.max(0, end - limit);
  const page = items.slice(start, end < 0 ? start + limit : end);
  // In the direction of the request: otherwise a client that pages backwards would never stop.
  const hasMore = end < 0 ? start + limit < items.length : start > 0;
  return { page, first: page[0]?.id ?? null, last: page.at(-1)?.id ?? null, hasMore };
}

/** A piece of a stream, and the wait before it, ms. */
export interface Piece {
  text: string;
  waitMs: number;
}

/** A stream as a reply; `paced` where a piece may wait. */
export function streamReply(
  contentType: string,
  pieces: Iterable<Piece>,
  { paced, left }: { paced: boolean; left: GatewayRequest['left'] },
): GatewayReply {
  const head = { status: 200, headers: { 'content-type': contentType } };
  if (!paced) return { ...head, body: joinPieces(pieces) };
  const all = [...pieces];
  // A paced body cannot be measured before it is sent, so its length is passed along.
  const length = all.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  return { ...head, body: delayed(all, left.signal), length };
}

function* joinPieces(pieces: Iterable<Piece>): Generator<string> {
  for (const { text } of pieces) yield text;
}

async function* delayed(pieces: readonly Piece[], signal: AbortSignal): AsyncGenerator<string> {
  for (const { text, waitMs } of pieces) {
    if (waitMs > 0) await sleep(waitMs, undefined, { signal });
    yield text;
  }
}
