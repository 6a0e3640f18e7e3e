import { quoteForeign } from '../errors.ts';
import { isObject, type JsonObject, type JsonValue, listField, numberField, objectField, textField } from '../json.ts';
import type { FoundSource, ReplyEvent } from './events.ts';

/** The source that a citation of a text names, in the words of the messages format or of OpenAI's; undefined for other kinds. */
function readCitation(citation: JsonObject): FoundSource | undefined {
  // Nested in completions, flat in responses.
  const page = objectField(citation, 'urlCitation') ?? (citation['type'] === 'url_citation' ? citation : undefined);
  if (page) {
    const [start, end] = [numberField(page, 'startIndex'), numberField(page, 'endIndex')];
    const places = start === undefined || end === undefined ? [] : [{ unit: 'character', start, end } as const];
    return { ...named(page, 'url'), snippet: textField(page, 'content') || undefined, places };
  }
  const snippet = textField(citation, 'citedText') || undefined;
  const cited = { snippet, places: [{ unit: 'block' } as const] };
  switch (citation['type']) {
    case 'web_search_result_location':
      return { ...named(citation, 'url'), ...cited };
    case 'search_result_location':
      return { ...named(citation, 'source'), ...cited };
    case 'page_location':
    case 'char_location':
    case 'content_block_location':
      return {
        kind: 'document',
        title: textField(citation, 'documentTitle') || undefined,
        page: numberField(citation, 'startPageNumber'),
        ...cited,
      };
    case 'file_citation':
    case 'container_file_citation':
      return { kind: 'document', title: textField(citation, 'filename') || undefined, places: [] };
    default:
      return undefined;
  }
}

/** A page by its address and title. A source with another address, such as that of a file, is a document. */
function named(page: JsonObject, field: string): Pick<FoundSource, 'url' | 'title' | 'kind'> {
  const address = textField(page, field) || undefined;
  const title = textField(page, 'title') || undefined;
  if (address === undefined || /^https?:/i.test(address)) return { kind: 'web', url: address, title };
  return { kind: 'document', title: title ?? address };
}

/** The events of citations, with the index of their block. */
export function sourceEvents(citations: readonly JsonValue[], index?: number): ReplyEvent[] {
  return citations.flatMap((citation) => {
    const source = isObject(citation) ? readCitation(citation) : undefined;
    return source ? [{ type: 'source', source, index } as const] : [];
  });
}

/** The pages that a search result block found, or its failure. */
export function searchResultEvents(block: JsonObject): ReplyEvent[] {
  const [, tool] = /^(web_search|web_fetch)_tool_result$/.exec(textField(block, 'type') ?? '') ?? [];
  if (tool === undefined) return [];
  const failed = objectField(block, 'content');
  const code = failed && textField(failed, 'errorCode');
  if (failed && textField(failed, 'type') === `${tool}_tool_result_error`)
    return [
      {
        type: 'warning',
        text: `${tool} failed at the service${code === undefined ? '' : `: ${quoteForeign(code, 60)}`}`,
      },
    ];
  return (listField(block, 'content') ?? []).filter(isObject).flatMap((hit): ReplyEvent[] => {
    if (hit['type'] !== 'web_search_result') return [];
    return [{ type: 'source', source: named(hit, 'url') }];
  });
}
