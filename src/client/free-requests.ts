import { GatewayError, withoutCost } from '../errors.ts';
import { authUseOf, loadFormat, type Post, type PostOrGet } from '../formats/format.ts';
import { parseReply } from '../formats/parse-reply.ts';
import type { FormatName } from '../formats/types.ts';
import { createMemoryStore } from '../images/store.ts';
import { field, isObject, type JsonValue, listField, numberField, textField } from '../json.ts';
import { readDiverted, withRequest } from './read-reply.ts';
import type { Answered } from '../transport/retry.ts';

/*
 * What a service says for free: the models that it has, how many tokens a request has, and how many a model takes.
 */

type Send = (request: PostOrGet) => Promise<Answered>;

/** The JSON of a reply. Throws GatewayError. */
async function readJson({ reply }: Answered, format: FormatName): Promise<JsonValue> {
  try {
    const { value, cut } = parseReply(await readDiverted(reply.body, createMemoryStore()), reply, format);
    if (cut) throw cut;
    return value as JsonValue;
  } catch (error) {
    throw withRequest(error, reply);
  }
}

/** Counts the input tokens of a request at the service. Undefined if the service or its format cannot. */
export async function countTokens(send: Send, post: Post, model: string): Promise<number | undefined> {
  const { counting } = await loadFormat(post.format);
  if (counting === undefined) return undefined;
  const { format, use } = post;
  const reply = await ask(send, { ...counting.tokens(post.body, model), format, use });
  return countIn(reply, ['totalTokens', 'inputTokens']);
}

/** How many input tokens a model takes, if the service says so. */
export async function readWindow(send: Send, post: Post, model: string): Promise<number | undefined> {
  const { counting } = await loadFormat(post.format);
  if (counting === undefined) return undefined;
  const { format, use } = post;
  // Without the window, the estimate says less: only a key that is refused ends it.
  const reply = await ask(send, { ...counting.model(model), format, use }).catch((error: unknown) => {
    const { status } = error instanceof GatewayError ? error.details : {};
    if (status === undefined || status === 401) throw error;
    return undefined;
  });
  return countIn(reply, ['inputTokenLimit', 'maxInputTokens']);
}

/** The reply; undefined if the service does not have the operation. */
async function ask(send: Send, request: PostOrGet): Promise<JsonValue | undefined> {
  const answered = await send(request).catch((error: unknown) => {
    if (!(error instanceof GatewayError) || ![404, 405, 501].includes(error.details.status ?? 0)) throw error;
    return undefined;
  });
  return answered && readJson(answered, request.format);
}

function countIn(reply: JsonValue | undefined, names: readonly string[]): number | undefined {
  if (!isObject(reply)) return undefined;
  const counts = names.map((name) => numberField(reply, name));
  return counts.find((count) => Number.isSafeInteger(count) && Number(count) >= 0);
}

/** A model that a service offers. */
export interface ListedModel {
  /** As `-m` takes it, without `models/`. */
  id: string;
  /** Its name for people. */
  title: string | undefined;
  /** The operations that it supports, if the list has them: `generateContent`. */
  operations: string[] | undefined;
}

/** The models of a list. */
export interface ModelList {
  models: ListedModel[];
  /** Why the rest of the list was not read. */
  cut?: string | undefined;
}

/** Bounds that the list of no service reaches. */
const maxPages = 100;
const maxModels = 10_000;

/** The models of one list, its pages followed. Throws GatewayError, and the reason of the caller's abort. */
export function readModelList(send: Send, name: FormatName): Promise<ModelList> {
  return readPages(send, name).catch((error: unknown) => {
    throw withoutCost(error, 'run the same command again: a list costs nothing');
  });
}

async function readPages(send: Send, name: FormatName): Promise<ModelList> {
  const format = await loadFormat(name);
  const use = authUseOf(name, 'text');
  const models: ListedModel[] = [];
  const seen = new Set<string | undefined>();
  for (let token: string | undefined; ;) {
    seen.add(token);
    const answered = await send({ ...format.models(token), format: name, use });
    const page = readModelPage(await readJson(answered, name));
    if (page === undefined) {
      const details = { reason: 'address', sent: 'yes' } as const;
      throw withRequest(new GatewayError('bad-reply', 'the reply is not a list of models', details), answered.reply);
    }
    models.push(...page.models.slice(0, maxModels + 1 - models.length));
    if (models.length > maxModels)
      return { models: models.slice(0, maxModels), cut: `it has more than ${maxModels} models` };
    const cut = cutOf(page, seen);
    if (!page.goesOn || cut !== undefined) return { models, cut };
    token = page.next;
  }
}

/** Why the next page of a list cannot be asked for, if it has one. */
function cutOf({ goesOn, next }: ModelPage, seen: ReadonlySet<string | undefined>): string | undefined {
  if (!goesOn) return undefined;
  if (next === undefined) return 'it does not say where it goes on';
  if (seen.has(next)) return 'its pages go in a circle';
  return seen.size < maxPages ? undefined : `it has more than ${maxPages} pages`;
}

/** One page of a list, and the token of the next one. */
interface ModelPage {
  models: ListedModel[];
  next: string | undefined;
  /** Whether there is a next page; a list may not say where. */
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
  // Beside an id, `name` is the name for people.
  const [id = '', name] = [textField(entry, 'id'), textField(entry, 'name')].filter((text) => text !== undefined);
  if (id === '') return [];
  const operations = listField(entry, 'supportedGenerationMethods')?.filter((name) => typeof name === 'string');
  return [{ id: id.replace(/^models\//, ''), title: textField(entry, 'displayName') ?? name, operations }];
}
