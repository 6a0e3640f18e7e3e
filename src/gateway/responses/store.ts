import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { badParameter } from '../completions/reply.ts';
import { valueAt, textAt } from '../fields/read.ts';
import { jsonReply, selectPage } from '../http/reply.ts';
import { Problem } from '../problem.ts';
import type { GatewayReply, GatewayRequest, ModelRequest } from '../types.ts';
import { responseEvents, responsesStream, toUnfinished } from './reply.ts';

/** The number of responses that are kept, and their size in characters; the oldest are dropped. */
const most = { responses: 1000, characters: 64 * 2 ** 20 };

/** A response that is kept. */
interface KeptResponse {
  response: JsonObject;
  /** What it answers, with all that was said before. */
  items: readonly JsonValue[];
  /** Whether it runs in the background, and nobody has looked whether it is ready. */
  isPending: boolean;
  size: number;
}

/** The responses that a gateway keeps, for as long as it runs. */
export type ResponseStore = ReturnType<typeof createResponseStore>;

export function createResponseStore() {
  const kept = new Map<string, KeptResponse>();
  let size = 0;
  const remove = (id: string): void => {
    size -= kept.get(id)?.size ?? 0;
    kept.delete(id);
  };
  return {
    find: (id: string): KeptResponse | undefined => kept.get(id),
    /** An item that a response had; its id has that of the response in it. */
    findItem(id: string): JsonObject | undefined {
      const [, of = ''] = /^[a-z]+_([0-9a-f]{24})/.exec(id) ?? [];
      const { output = [] } = kept.get(`resp_${of}`)?.response ?? {};
      return Array.isArray(output) ? output.filter(isObject).find((item) => item['id'] === id) : undefined;
    },
    add(response: JsonObject, items: readonly JsonValue[], isPending: boolean): void {
      const id = textAt(response, 'id') ?? '';
      remove(id);
      const added = { response, items, isPending, size: JSON.stringify([response, items]).length };
      kept.set(id, added);
      size += added.size;
      for (const oldest of kept.keys()) {
        if (size <= most.characters && kept.size <= most.responses) break;
        remove(oldest);
      }
    },
    remove,
  };
}

/** Keeps a response, unless the request says otherwise. Returns what is answered: one in the background is only queued. */
export function keepResponse(
  response: JsonObject,
  { items = [], stream }: ModelRequest,
  store: ResponseStore,
): JsonObject {
  if (response['store'] !== true || response['id'] === undefined) return response;
  const isPending = response['background'] === true && !stream;
  store.add(response, items, isPending);
  return isPending ? toUnfinished(response, 'queued') : response;
}

/** An action on a response that is kept. Its request's `model` is the id in the path. Throws Problem. */
type ResponseAction = (request: GatewayRequest, store: ResponseStore) => GatewayReply;

/** The actions of a path by their method. */
export type ResponseActions = Readonly<Record<string, ResponseAction>>;

export const keptResponsePaths: Readonly<Record<string, ResponseActions>> = {
  '/v1/responses/{id}': {
    GET(request, store) {
      const kept = findKept(request, store);
      kept.isPending = false;
      return request.query.get('stream') === 'true' ? streamAgain(kept.response, request) : jsonReply(kept.response);
    },
    DELETE(request, store) {
      const { response } = findKept(request, store);
      const id = textAt(response, 'id') ?? '';
      store.remove(id);
      return jsonReply({ id, object: 'response', deleted: true });
    },
  },
  '/v1/responses/{id}/cancel': {
    POST(request, store) {
      const kept = findKept(request, store);
      if (kept.response['background'] !== true) throw new Problem(400, 'Cannot cancel a synchronous response.');
      if (kept.isPending) kept.response = toUnfinished(kept.response, 'cancelled');
      kept.isPending = false;
      return jsonReply(kept.response);
    },
  },
  '/v1/responses/{id}/input_items': {
    GET(request, store) {
      const { items } = findKept(request, store);
      const described = items.map((item, index) =>
        describeItem(item, `${request.model?.replace('resp_', '')}${index}`),
      );
      const ordered = request.query.get('order') === 'asc' ? described : described.toReversed();
      const page = selectPage(ordered, request.query, { after: 'after', limit: ['limit', 20] });
      const { first, last, hasMore } = page;
      return jsonReply({ object: 'list', data: page.page, first_id: first, last_id: last, has_more: hasMore });
    },
  },
};

function findKept({ model: id = '' }: GatewayRequest, store: ResponseStore): KeptResponse {
  const kept = store.find(id);
  if (kept) return kept;
  throw new Problem(404, `Response with id '${id.slice(0, 100)}' not found.`);
}

/** The events of a response after the one that the client has seen. */
function streamAgain(response: JsonObject, request: GatewayRequest): GatewayReply {
  const seen = Number(request.query.get('starting_after') ?? -1);
  const texts = [...responseEvents(response, {})].map((event, index) => responsesStream.encode(event, index, request));
  return {
    status: 200,
    headers: { 'content-type': responsesStream.contentType(request) },
    body: texts.slice(seen + 1),
  };
}

/** An item of the input with its id, as the service lists it. */
function describeItem(item: JsonValue, suffix: string): JsonObject & { id: string } {
  const given = isObject(item) ? item : {};
  const { type = 'message', content } = given;
  const id = textAt(given, 'id') ?? `${type === 'message' ? 'msg' : 'item'}_${suffix}`;
  const kind = given['role'] === 'assistant' ? 'output_text' : 'input_text';
  const said = typeof content === 'string' ? { content: [{ type: kind, text: content }] } : {};
  return { status: 'completed', ...given, ...said, type, id };
}

/** The items of a request: what came before, then its own, with those that it names by their id. Throws Problem. */
export function gatherItems(
  checked: JsonObject,
  own: readonly JsonValue[],
  store: ResponseStore,
): readonly JsonValue[] {
  const conversation = valueAt(checked, 'conversation');
  if (conversation !== undefined) {
    const id = textAt(conversation, 'id') ?? String(conversation);
    throw new Problem(404, `Conversation with id '${id.slice(0, 100)}' not found.`);
  }
  const before = textAt(checked, 'previous_response_id');
  const previous = before === undefined ? undefined : store.find(before);
  if (before !== undefined && previous === undefined) {
    const message = `Previous response with id '${before.slice(0, 100)}' not found.`;
    throw badParameter('previous_response_id', 'previous_response_not_found', message);
  }
  const { output = [] } = previous?.response ?? {};
  const named = own.map((item) => {
    if (textAt(item, 'type') !== 'item_reference') return item;
    const id = textAt(item, 'id') ?? '';
    const found = store.findItem(id);
    if (found) return found;
    throw itemNotFound(id, checked);
  });
  return [...(previous?.items ?? []), ...(Array.isArray(output) ? output : []), ...named];
}

/** The 404 reply to an item that is not there. */
export function itemNotFound(id: string, { store }: JsonObject): Problem {
  const rule =
    'Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.';
  return new Problem(404, `Item with id '${id.slice(0, 100)}' not found.${store === false ? ` ${rule}` : ''}`, {
    param: 'input',
  });
}
