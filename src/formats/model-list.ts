import { isObject, type JsonValue } from '../json.ts';
import { field, listField, textField } from './fields.ts';

/** A model that a service offers. */
export interface ListedModel {
  /** As `-m` takes it, without `models/`. */
  id: string;
  /** What people call it. */
  title: string | undefined;
  /** What it can be asked for, where the list says so: `generateContent`. */
  operations: string[] | undefined;
}

/** One page of a list, and the token of the next one. */
export interface ModelPage {
  models: ListedModel[];
  next: string | undefined;
  /** Whether there is a next one: a list may not say where. */
  goesOn: boolean;
}

/** Path and query of a page, each format's largest; without a token the first page. */
export function modelListAddress(format: 'content' | 'messages', token?: string): { path: string; query: string } {
  const [path, size, after] =
    format === 'content' ? ['/v1beta/models', 'pageSize', 'pageToken'] : ['/v1/models', 'limit', 'after_id'];
  const query = new URLSearchParams({ [size]: '1000', ...(token !== undefined && { [after]: token }) });
  return { path, query: query.toString() };
}

/** Reads a page of either format, or of an OpenAI-like relay; undefined where it is no list. An empty list may be `{}`. */
export function readModelPage(page: JsonValue | undefined): ModelPage | undefined {
  if (!isObject(page)) return undefined;
  const entries = listField(page, 'models') ?? listField(page, 'data');
  if (entries === undefined && Object.keys(page).length > 0) return undefined;
  const hasMore = field(page, 'hasMore') === true;
  const next = textField(page, 'nextPageToken') || (hasMore && textField(page, 'lastId')) || undefined;
  return { models: (entries ?? []).flatMap(readModel), next, goesOn: hasMore || next !== undefined };
}

/** An entry without a name is left out: nobody could ask for it. */
function readModel(entry: JsonValue): ListedModel[] {
  if (!isObject(entry)) return [];
  // Where there is an id beside it, a name is what people call it.
  const [id = '', name] = [textField(entry, 'id'), textField(entry, 'name')].filter((text) => text !== undefined);
  if (id === '') return [];
  const operations = listField(entry, 'supportedGenerationMethods')?.filter((name) => typeof name === 'string');
  return [{ id: id.replace(/^models\//, ''), title: textField(entry, 'displayName') ?? name, operations }];
}
