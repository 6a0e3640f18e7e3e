import type { JsonObject } from '../../json.ts';
import { Problem } from '../problem.ts';
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

/** Whether a model is one that only a vendor has: the rest of its name is the vendor's to choose. */
export function isVendorModel(model: string): boolean {
  return /^(?:claude|gemini|gemma|imagen)-./.test(model);
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
export function answerModels({ format: pathFormat, keyForm, model: asked }: Call): Reply {
  // `/v1/models` is a path of both formats: the caller's key says which it speaks.
  const format = keyForm === 'vendor-key' || keyForm === 'query' ? 'content' : pathFormat;
  const describe = format === 'content' ? contentModel : messagesModel;
  const served = modelsOf(format);
  if (asked === undefined) {
    const list = served.map(describe);
    return json(format === 'content' ? { models: list } : messagesList(list));
  }
  const found = served.find(({ id }) => id === asked);
  if (!found) throw new Problem(404, `model: ${asked.slice(0, 100)} (this gateway has ${listModels(format)})`);
  return json(describe(found));
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

function messagesList(data: JsonObject[]): JsonObject {
  return { data, has_more: false, first_id: data[0]?.['id'] ?? null, last_id: data.at(-1)?.['id'] ?? null };
}

function json(body: JsonObject): Reply {
  return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}
