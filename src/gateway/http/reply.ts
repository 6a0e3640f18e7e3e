import type { GatewayReply } from '../types.ts';

export function jsonReply(body: object, headers: Record<string, string> = {}): GatewayReply {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(body),
  };
}

/** A whole number in a query, or the default. */
export function numberIn(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name) ?? '';
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : otherwise;
}

/** The fields of a query that ask for a page: after an item, or before one; `limit` with its default. */
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
  // More items are counted in the direction of the request: otherwise a client that pages backwards would never stop.
  const hasMore = end < 0 ? start + limit < items.length : start > 0;
  return { page, first: page[0]?.id ?? null, last: page.at(-1)?.id ?? null, hasMore };
}
