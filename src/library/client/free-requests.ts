import { GatewayError, withoutCost } from '../errors.ts';
import { chooseAuthUse, type Format, loadFormat, type AnyApiRequest } from '../formats/format.ts';
import { parseReply } from '../formats/parse-reply.ts';
import type { FormatName } from '../formats/types.ts';
import { createMemoryStore } from '../images/store.ts';
import { field, isObject, type JsonValue, listField, numberField, textField } from '../json.ts';
import { type ListedModel, readListedModel } from './listed-model.ts';
import { withRequest } from './read-reply.ts';
import { readDiverted } from './reply-body.ts';
import type { Answered } from '../transport/types.ts';
import type { Sender } from './client-types.ts';
import type { PreparedRequest } from './ask.ts';
import type { SendOptions } from './send.ts';
import { append } from '../long-lists.ts';

/* Free requests to a service: for its models, for the number of tokens of a request, and for the number that a model takes. */

/** The options for reading a list. */
export interface ListOptions extends SendOptions {
  /** The query in place of the format's own, on each page. */
  query?: string | undefined;
  /** The path in place of the format's own: another list of models, without a query. */
  path?: string | undefined;
}

/** The JSON of a reply. Throws GatewayError. */
async function readFreeReply({ reply }: Answered, format: FormatName): Promise<JsonValue> {
  try {
    const { value, cut } = parseReply(
      await readDiverted(reply.body[Symbol.asyncIterator](), createMemoryStore()),
      reply,
      format,
    );
    if (cut) throw cut;
    return value as JsonValue;
  } catch (error) {
    throw withRequest(error, reply);
  }
}

/** Counts the input tokens of a request at the service. Undefined if the service or its format cannot. */
export async function countTokens(
  client: Pick<Sender, 'send'>,
  { post, model }: PreparedRequest,
  options: SendOptions = {},
): Promise<number | undefined> {
  const reply = await sendIfOffered(client, post, (counting) => counting.tokens(post.body, model), options);
  return countIn(reply, ['totalTokens', 'inputTokens']);
}

/** The most input tokens of a model, if the service says so. */
export async function readWindow(
  client: Pick<Sender, 'send'>,
  { post, model }: PreparedRequest,
  options: SendOptions = {},
): Promise<number | undefined> {
  const asking = sendIfOffered(client, post, (counting) => counting.model(model), options);
  // Without the window, the estimate says less: only a refused key ends the command.
  const reply = await asking.catch((error: unknown) => {
    const { status } = error instanceof GatewayError ? error.details : {};
    if (status === undefined || status === 401) throw error;
    return undefined;
  });
  return countIn(reply, ['inputTokenLimit', 'maxInputTokens']);
}

/** The reply; undefined if the format or the service does not have the operation. */
async function sendIfOffered(
  client: Pick<Sender, 'send'>,
  { format, use }: Pick<AnyApiRequest, 'format' | 'use'>,
  toRequest: (counting: NonNullable<Format['counting']>) => Pick<AnyApiRequest, 'path' | 'body'>,
  options: SendOptions,
): Promise<JsonValue | undefined> {
  const { counting } = await loadFormat(format);
  if (counting === undefined) return undefined;
  const answered = await client.send({ ...toRequest(counting), format, use }, options).catch((error: unknown) => {
    if (!(error instanceof GatewayError) || ![404, 405, 501].includes(error.details.status ?? 0)) throw error;
    return undefined;
  });
  return answered && readFreeReply(answered, format);
}

function countIn(reply: JsonValue | undefined, names: readonly string[]): number | undefined {
  if (!isObject(reply)) return undefined;
  const counts = names.map((name) => numberField(reply, name));
  return counts.find((count) => Number.isSafeInteger(count) && Number(count) >= 0);
}

/** The models of a list. */
export interface ModelList {
  models: ListedModel[];
  /** The reason that the rest of the list was not read. */
  cut?: string | undefined;
}

/** Bounds that the list of no service reaches. */
const maxPages = 100;
const maxModels = 10_000;

/** The models of one list, its pages followed. Throws GatewayError, and the reason of the caller's abort. */
export function readModelList(
  client: Pick<Sender, 'send'>,
  name: FormatName,
  options: ListOptions = {},
): Promise<ModelList> {
  return readPages(client, name, options).catch((error: unknown) => {
    throw withoutCost(error, 'run the same command again: a list costs nothing');
  });
}

async function readPages(
  client: Pick<Sender, 'send'>,
  name: FormatName,
  { query, path, ...options }: ListOptions,
): Promise<ModelList> {
  const format = await loadFormat(name);
  const use = chooseAuthUse(name, 'text');
  const models: ListedModel[] = [];
  const seen = new Set<string | undefined>();
  for (let token: string | undefined; ;) {
    seen.add(token);
    const asked = { ...format.models(token), ...(query !== undefined && { query }), ...(path && { path, query: '' }) };
    const answered = await client.send({ ...asked, format: name, use }, options);
    const page = readModelPage(await readFreeReply(answered, name));
    if (page === undefined) {
      const details = { reason: 'address', sent: 'yes' } as const;
      throw withRequest(new GatewayError('bad-reply', 'the reply is not a list of models', details), answered.reply);
    }
    append(models, page.models.slice(0, maxModels + 1 - models.length));
    if (models.length > maxModels)
      return { models: models.slice(0, maxModels), cut: `it has more than ${maxModels} models` };
    const cut = explainMissingPage(page, seen);
    if (!page.goesOn || cut !== undefined) return { models, cut };
    token = page.next;
  }
}

/** The reason that the next page of a list cannot be requested, if the list has one. */
function explainMissingPage({ goesOn, next }: ModelPage, seen: ReadonlySet<string | undefined>): string | undefined {
  if (!goesOn) return undefined;
  if (next === undefined) return 'it does not say where it goes on';
  if (seen.has(next)) return 'its pages go in a circle';
  return seen.size < maxPages ? undefined : `it has more than ${maxPages} pages`;
}

/** One page of a list, and the token of the next page. */
interface ModelPage {
  models: ListedModel[];
  next: string | undefined;
  /** Whether there is a next page; a list may not say where. */
  goesOn: boolean;
}

/**
 * Reads a page of any format; undefined if it is not a list. An empty list may be `{}`, and of Ollama `"data": null`; Together's is
 * a bare array.
 */
export function readModelPage(page: JsonValue | undefined): ModelPage | undefined {
  if (Array.isArray(page)) return { models: page.flatMap(readListedModel), next: undefined, goesOn: false };
  if (!isObject(page)) return undefined;
  const entries = listField(page, 'models') ?? listField(page, 'data');
  if (entries === undefined && Object.keys(page).length > 0 && page['data'] !== null) return undefined;
  const hasMore = field(page, 'hasMore') === true;
  const next = textField(page, 'nextPageToken') || (hasMore && textField(page, 'lastId')) || undefined;
  return { models: (entries ?? []).flatMap(readListedModel), next, goesOn: hasMore || next !== undefined };
}
