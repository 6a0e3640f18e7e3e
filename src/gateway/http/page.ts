/** A whole number of a query, or what counts without one. */
export function numberIn(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name) ?? '';
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : otherwise;
}

/** A page of a list after the item that `after` names, or before that of `before`. */
export function pageOf<T extends { id: string }>(
  items: readonly T[],
  { after, before, limit }: { after?: string | null; before?: string | null; limit: number },
): { page: T[]; first: string | null; last: string | null; hasMore: boolean } {
  const placeOf = (id: string | null | undefined): number => items.findIndex((item) => item.id === id);
  const end = placeOf(before);
  const start = end < 0 ? placeOf(after) + 1 : Math.max(0, end - limit);
  const page = items.slice(start, end < 0 ? start + limit : end);
  // In the direction of the request: otherwise a client that pages backwards would never stop.
  const hasMore = end < 0 ? start + limit < items.length : start > 0;
  return { page, first: page[0]?.id ?? null, last: page.at(-1)?.id ?? null, hasMore };
}
