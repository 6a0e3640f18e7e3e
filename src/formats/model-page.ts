import { field, isObject, type JsonValue, listField, textField } from '../json.ts';

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

/** Reads a page of any format; undefined if it is not a list. An empty list may be `{}`, and of Ollama `"data": null`. */
export function readModelPage(page: JsonValue | undefined): ModelPage | undefined {
  if (!isObject(page)) return undefined;
  const entries = listField(page, 'models') ?? listField(page, 'data');
  if (entries === undefined && Object.keys(page).length > 0 && page['data'] !== null) return undefined;
  const hasMore = field(page, 'hasMore') === true;
  const next = textField(page, 'nextPageToken') || (hasMore && textField(page, 'lastId')) || undefined;
  return { models: (entries ?? []).flatMap(readModel), next, goesOn: hasMore || next !== undefined };
}

/** An entry without a name is left out: it cannot be requested. */
function readModel(entry: JsonValue): ListedModel[] {
  if (!isObject(entry)) return [];
  // Where there is an id beside it, a name is what people call it.
  const [id = '', name] = [textField(entry, 'id'), textField(entry, 'name')].filter((text) => text !== undefined);
  if (id === '') return [];
  const operations = listField(entry, 'supportedGenerationMethods')?.filter((name) => typeof name === 'string');
  return [{ id: id.replace(/^models\//, ''), title: textField(entry, 'displayName') ?? name, operations }];
}
