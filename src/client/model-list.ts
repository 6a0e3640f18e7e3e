import { GatewayError } from '../errors.ts';
import { type ListedModel, modelListAddress, readModelPage } from '../formats/model-list.ts';
import { createMemoryStore } from '../images/store.ts';
import type { JsonValue } from '../json.ts';
import type { Answered } from './connection.ts';
import { located } from './located.ts';
import { parseReply, readDiverted } from './read-json.ts';
import type { PostOrGet } from './target.ts';

/** No service has so many: a list that goes on is one that goes in a circle. */
const mostPages = 100;

/** The models of one list, its pages followed. Throws GatewayError, and the reason of the caller's abort. */
export async function readModelList(
  send: (get: PostOrGet) => Promise<Answered>,
  format: 'content' | 'messages',
): Promise<ListedModel[]> {
  const models: ListedModel[] = [];
  const seen = new Set<string | undefined>();
  let token: string | undefined;
  while (!seen.has(token) && seen.size < mostPages) {
    seen.add(token);
    const use = format === 'messages' ? 'messages' : 'text';
    const page = await readPage(await send({ ...modelListAddress(format, token), use }), format);
    models.push(...page.models);
    if (page.next === undefined) break;
    token = page.next;
  }
  return models;
}

async function readPage({ reply }: Answered, format: 'content' | 'messages') {
  try {
    const { value, cut } = parseReply(await readDiverted(reply.body, createMemoryStore()), reply, format);
    if (cut) throw cut;
    const page = readModelPage(value as JsonValue);
    if (page) return page;
    throw new GatewayError('bad-reply', 'the reply is not a list of models', {
      hint: 'check the base URL',
      reason: 'address',
      sent: 'yes',
    });
  } catch (error) {
    throw located(error, reply);
  }
}
