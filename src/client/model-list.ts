import { GatewayError, withoutCost } from '../errors.ts';
import { createMemoryStore } from '../images/store.ts';
import type { JsonValue } from '../json.ts';
import type { Answered } from './send.ts';
import { withRequest, readDiverted } from './read-reply.ts';
import { authUseOf, loadFormat, type PostOrGet } from '../formats/format.ts';
import { type ListedModel, type ModelPage, readModelPage } from '../formats/model-page.ts';
import { parseReply } from '../formats/parse-reply.ts';
import type { FormatName } from '../formats/types.ts';

/** No service has so many. */
const maxPages = 100;
const maxModels = 10_000;

/** The models of a list. */
export interface ModelList {
  models: ListedModel[];
  /** Why there are more that were not read. */
  cut?: string | undefined;
}

type Send = (get: PostOrGet) => Promise<Answered>;

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
    const page = await readPage(await send({ ...format.models(token), format: name, use }), name);
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

async function readPage({ reply }: Answered, format: FormatName) {
  try {
    const { value, cut } = parseReply(await readDiverted(reply.body, createMemoryStore()), reply, format);
    if (cut) throw cut;
    const page = readModelPage(value as JsonValue);
    if (page) return page;
    throw new GatewayError('bad-reply', 'the reply is not a list of models', {
      reason: 'address',
      sent: 'yes',
    });
  } catch (error) {
    throw withRequest(error, reply);
  }
}
