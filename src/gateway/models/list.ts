import type { JsonObject } from '../../json.ts';
import { Problem } from '../problem.ts';
import type { Call, Reply } from '../types.ts';

const textActions = ['generateContent', 'streamGenerateContent', 'countTokens'];

/** What a list says of each model; the fault models are not for choosing. */
const models = [
  { id: 'local-text', title: 'Local text', chats: true },
  { id: 'local-chat', title: 'Local chat', chats: true },
  { id: 'local-image', title: 'Local image', chats: false },
  { id: 'local-edit', title: 'Local edit', chats: false },
] as const;
type Model = (typeof models)[number];

const tokenLimit = 1_048_576;
/** The offline models do not age: a fixed date keeps replies equal. */
const created = '2025-01-01T00:00:00Z';

/** `GET /v1beta/models` and `GET /v1/models`, or one model of them. Throws Problem 404. */
export function answerModels(call: Call): Reply {
  const asContent = isContentList(call);
  const served = asContent ? models : models.filter(({ chats }) => chats);
  const shape = asContent ? contentModel : messagesModel;
  if (call.model !== undefined) return json(shape(findModel(served, call.model)));
  const list = served.map(shape);
  return json(asContent ? { models: list } : messagesList(list));
}

/** `/v1/models` is a path of both formats: the caller's key says which it speaks. */
function isContentList({ format, keyForm }: Call): boolean {
  return format === 'content' || keyForm === 'vendor-key' || keyForm === 'query';
}

function findModel(served: readonly Model[], id: string): Model {
  const found = served.find((model) => model.id === id);
  if (found) return found;
  const known = served.map((model) => model.id).join(', ');
  throw new Problem(404, `model: ${id.slice(0, 100)} (this gateway has ${known})`);
}

function contentModel({ id, title, chats }: Model): JsonObject {
  return {
    name: `models/${id}`,
    version: '1',
    displayName: title,
    inputTokenLimit: tokenLimit,
    outputTokenLimit: tokenLimit,
    supportedGenerationMethods: chats ? textActions : textActions.slice(0, 2),
  };
}

function messagesModel({ id, title }: Model): JsonObject {
  return { type: 'model', id, display_name: title, created_at: created };
}

function messagesList(data: JsonObject[]): JsonObject {
  return { data, has_more: false, first_id: data[0]?.['id'] ?? null, last_id: data.at(-1)?.['id'] ?? null };
}

function json(body: JsonObject): Reply {
  return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}
