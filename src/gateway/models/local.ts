import type { JsonObject } from '../../json.ts';
import { Problem } from '../problem.ts';
import type { ServiceRules } from '../service.ts';
import type { Call, Format, Reply } from '../types.ts';

interface LocalModel {
  id: string;
  title: string;
  /** Whether it draws, for the content format alone; else it writes, for both. */
  draws: boolean;
}

/** Every offline model but the fault models, which are not for choosing. */
const models: readonly LocalModel[] = [
  { id: 'local-text', title: 'Local text', draws: false },
  { id: 'local-chat', title: 'Local chat', draws: false },
  { id: 'local-image', title: 'Local image', draws: true },
  { id: 'local-edit', title: 'Local edit', draws: true },
];

/** The offline model of a name. */
export function findLocalModel(id: string): LocalModel | undefined {
  return models.find((model) => model.id === id);
}

/** The names of the models of a format, for messages. */
export function listModels(format: Format): string {
  return modelsOf(format)
    .map(({ id }) => id)
    .join(', ');
}

function modelsOf(format: Format): readonly LocalModel[] {
  return format === 'content' ? models : models.filter(({ draws }) => !draws);
}

/** Whether a model is one that only a vendor has: the rest of its name is the vendor's to choose. A service has its own alone. */
export function isVendorModel(model: string, rules: ServiceRules | undefined): boolean {
  return (rules?.models ?? /^(?:claude|gemini|gemma|imagen)-./).test(model);
}

/** Whether a vendor's model draws: its name says so. */
export function drawsByName(model: string): boolean {
  return /^imagen-|-image\b/.test(model);
}

const textMethods = ['generateContent', 'streamGenerateContent', 'countTokens'];
const tokenLimit = 1_048_576;
/** The offline models do not age: a fixed date keeps replies equal. */
const created = '2025-01-01T00:00:00Z';

/** `GET /v1beta/models` and `GET /v1/models`, or one model of them. Throws Problem 404. */
export function answerModels(
  { format: pathFormat, keyForm, model: asked, query, target }: Call,
  rules?: ServiceRules,
): Reply {
  // `/v1/models` is a path of both formats: the caller's key says which it speaks.
  const format = keyForm === 'vendor-key' || keyForm === 'query' ? 'content' : pathFormat;
  const served = modelsOf(format);
  if (asked === undefined) return json(format === 'content' ? contentList(served, query) : messagesList(served, query));
  // What is answered for a vendor's model is told of it too: clients look a model up before they ask it.
  const vendors = isVendorModel(asked, rules) ? { id: asked, title: asked, draws: drawsByName(asked) } : undefined;
  const found = served.find(({ id }) => id === asked) ?? vendors;
  if (found) return json(format === 'content' ? contentModel(found) : messagesModel(found));
  const shown = asked.slice(0, 100);
  throw new Problem(
    404,
    rules?.unknownModel(shown, target) ?? `model: ${shown} (this gateway has ${listModels(format)})`,
  );
}

/** A page of 50 unless `pageSize` says so; its token is where the next one begins. */
function contentList(served: readonly LocalModel[], query: URLSearchParams): JsonObject {
  const start = numberIn(query, 'pageToken', 0);
  const end = start + numberIn(query, 'pageSize', 50);
  const models = served.slice(start, end).map(contentModel);
  return { models, ...(end < served.length && { nextPageToken: String(end) }) };
}

/** A page of 20 unless `limit` says so, behind the model that `after_id` names, or before that of `before_id`. */
function messagesList(served: readonly LocalModel[], query: URLSearchParams): JsonObject {
  const limit = numberIn(query, 'limit', 20);
  const placeOf = (name: string): number => served.findIndex(({ id }) => id === query.get(name));
  const before = placeOf('before_id');
  const start = before < 0 ? placeOf('after_id') + 1 : Math.max(0, before - limit);
  const end = before < 0 ? start + limit : before;
  const page = served.slice(start, end);
  const [first, last] = [page[0]?.id ?? null, page.at(-1)?.id ?? null];
  // In the direction that was asked for: a client that pages backwards would else never end.
  const more = before < 0 ? end < served.length : start > 0;
  return { data: page.map(messagesModel), has_more: more, first_id: first, last_id: last };
}

/** A whole number of a query, or what counts without one. */
function numberIn(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name) ?? '';
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : otherwise;
}

function contentModel({ id, title, draws }: LocalModel): JsonObject {
  return {
    name: `models/${id}`,
    version: '1',
    displayName: title,
    inputTokenLimit: tokenLimit,
    outputTokenLimit: tokenLimit,
    supportedGenerationMethods: draws ? textMethods.slice(0, 2) : textMethods,
  };
}

function messagesModel({ id, title }: LocalModel): JsonObject {
  return { type: 'model', id, display_name: title, created_at: created };
}

function json(body: JsonObject): Reply {
  return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}
