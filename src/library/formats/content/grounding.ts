import { quoteForeign } from '../../errors.ts';
import { isObject, type JsonObject, listField, numberField, objectField, textField } from '../../json.ts';
import type { FoundSource, ReplyEvent } from '../events.ts';

/** Reads the facts of a candidate's search; pieces of a stream repeat them, and have them late. */
export function createGroundingReader(): (candidate: JsonObject) => ReplyEvent[] {
  let chunks: readonly unknown[] = [];
  let last = '';
  const queries = new Set<unknown>();
  return (candidate) => {
    const metadata = objectField(candidate, 'groundingMetadata');
    const pages = objectField(candidate, 'urlContextMetadata');
    if (metadata === undefined && pages === undefined) return [];
    const same = JSON.stringify([metadata, pages]);
    if (same === last) return [];
    last = same;
    const own = (metadata && listField(metadata, 'groundingChunks')) ?? [];
    if (own.length > 0) chunks = own;
    for (const query of (metadata && listField(metadata, 'webSearchQueries')) ?? []) queries.add(query);
    const supports = (metadata && listField(metadata, 'groundingSupports')) ?? [];
    return [
      ...supports.filter(isObject).flatMap((support) => supportEvents(support, chunks)),
      ...own.flatMap((chunk): ReplyEvent[] => foundEvents(readGroundingChunk(chunk))),
      ...((pages && listField(pages, 'urlMetadata')) ?? []).filter(isObject).flatMap(pageEvents),
      ...(queries.size > 0 ? [{ type: 'facts', facts: { usage: { searches: queries.size } } } as const] : []),
    ];
  };
}

/** The source of a piece of the text: its place is counted in bytes of UTF-8, and an absent beginning is 0. */
function supportEvents(support: JsonObject, chunks: readonly unknown[]): ReplyEvent[] {
  const segment = objectField(support, 'segment');
  const end = segment && numberField(segment, 'endIndex');
  const start = (segment && numberField(segment, 'startIndex')) ?? 0;
  const text = segment && textField(segment, 'text');
  const places = end === undefined ? [] : [{ unit: 'byte', start, end, text } as const];
  return (listField(support, 'groundingChunkIndices') ?? []).flatMap((at): ReplyEvent[] => {
    const source = typeof at === 'number' ? readGroundingChunk(chunks[at]) : undefined;
    return foundEvents(source && { ...source, places });
  });
}

function foundEvents(source: FoundSource | undefined): ReplyEvent[] {
  return source ? [{ type: 'source', source }] : [];
}

function readGroundingChunk(chunk: unknown): FoundSource | undefined {
  if (!isObject(chunk)) return undefined;
  const kinds = { web: 'web', maps: 'map', image: 'image', retrievedContext: 'document' } as const;
  for (const [name, kind] of Object.entries(kinds) as [keyof typeof kinds, FoundSource['kind']][]) {
    const source = objectField(chunk, name);
    if (source === undefined) continue;
    const url = textField(source, 'uri') || textField(source, 'sourceUri') || undefined;
    return { kind, url, title: textField(source, 'title') || undefined };
  }
  return undefined;
}

/** A page whose address was in the prompt. */
function pageEvents(page: JsonObject): ReplyEvent[] {
  const url = textField(page, 'retrievedUrl') || undefined;
  const status = textField(page, 'urlRetrievalStatus') ?? '';
  if (url === undefined) return [];
  if (/(?:_SUCCESS|_UNSPECIFIED|^)$/.test(status)) return [{ type: 'source', source: { kind: 'web', url } }];
  return [
    { type: 'warning', text: `the service could not read ${quoteForeign(url, 200)}: ${quoteForeign(status, 60)}` },
  ];
}
