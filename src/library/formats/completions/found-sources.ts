import { isObject, type JsonObject, listField, textField } from '../../json.ts';
import type { FoundSource, ReplyEvent } from '../events.ts';

/** The most numbers that a text is searched for. */
const mostMarked = 200;

/**
 * Reads the sources beside the choices of a reply: a list of addresses, as xAI has it, and the results of a search, as Perplexity had them.
 * `[1]` in the text is the first of the list. Chunks of a stream repeat them.
 */
export function createSourcesReader(): (json: JsonObject) => ReplyEvent[] {
  let last = '';
  return (json) => {
    const citations = listField(json, 'citations');
    const results = listField(json, 'searchResults');
    if (citations === undefined && results === undefined) return [];
    const same = JSON.stringify([citations, results]);
    if (same === last) return [];
    last = same;
    const urls = (citations ?? []).map((url): FoundSource => ({
      kind: 'web',
      url: typeof url === 'string' ? url : undefined,
    }));
    const found = (results ?? []).map((result): FoundSource => {
      if (!isObject(result)) return { kind: 'web' };
      const [url, title, snippet] = ['url', 'title', 'snippet'].map((name) => textField(result, name) || undefined);
      return { kind: 'web', url, title, snippet };
    });
    return [urls, found].flatMap((list) =>
      list.map(
        (source, at) =>
          ({ type: 'source', source: at < mostMarked ? { ...source, mark: `[${at + 1}]` } : source }) as const,
      ),
    );
  };
}
