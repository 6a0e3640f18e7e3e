import { GatewayError } from '../errors.ts';
import { loadFormat, type Post, type PostOrGet } from '../formats/format.ts';
import { parseReply } from '../formats/parse-reply.ts';
import { createMemoryStore } from '../images/store.ts';
import { isObject, numberField, type JsonValue } from '../json.ts';
import { readDiverted, withRequest } from './read-reply.ts';
import type { Answered } from './send.ts';

type Send = (request: PostOrGet) => Promise<Answered>;

/** Counts the input tokens of a request at the service, which is free. Undefined if the service or its format cannot. */
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
  });
  return countIn(reply ?? undefined, ['inputTokenLimit', 'maxInputTokens']);
}

/** The reply; undefined if the service does not have the operation. */
async function ask(send: Send, request: PostOrGet): Promise<JsonValue | undefined> {
  let answered: Answered;
  try {
    answered = await send(request);
  } catch (error) {
    if (error instanceof GatewayError && noOperation.has(error.details.status ?? 0)) return undefined;
    throw error;
  }
  const { reply } = answered;
  try {
    const { value, cut } = parseReply(await readDiverted(reply.body, createMemoryStore()), reply, request.format);
    if (cut) throw cut;
    return value as JsonValue;
  } catch (error) {
    throw withRequest(error, reply);
  }
}

const noOperation = new Set([404, 405, 501]);

function countIn(reply: JsonValue | undefined, names: readonly string[]): number | undefined {
  if (!isObject(reply)) return undefined;
  return names
    .map((name) => numberField(reply, name))
    .find((count) => Number.isSafeInteger(count) && Number(count) >= 0);
}
