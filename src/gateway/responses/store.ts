import { isObject, type JsonObject, type JsonValue } from '../../library/index.ts';
import { badParameter } from '../completions/reply.ts';
import { listAt, valueAt, textAt } from '../fields/read.ts';
import { jsonReply } from '../http/reply.ts';
import { Problem } from '../problem.ts';
import type { Shelf } from '../shelf.ts';
import type { StorePaths } from '../batches/store.ts';
import type { GatewayRequest, ModelRequest } from '../types.ts';

/** A response that is kept. */
interface KeptResponse {
  id: string;
  response: JsonObject;
  /** The items of the request and its answer, with all earlier ones. */
  items: readonly JsonValue[];
}

/** The responses that a gateway keeps, for as long as it runs. */
export type ResponseStore = Shelf<KeptResponse>;

/** An item that a response had; its id has that of the response in it. */
function findItem(id: string, store: ResponseStore): JsonObject | undefined {
  const [, of = ''] = /^[a-z]+_([0-9a-f]{24})/.exec(id) ?? [];
  return listAt(store.find(`resp_${of}`)?.response, 'output')
    .filter(isObject)
    .find((item) => item['id'] === id);
}

/** Keeps a response, unless the request says otherwise. A response in the background is ready at once, too. */
export function keepResponse(response: JsonObject, { items = [] }: ModelRequest, store: ResponseStore): void {
  const { id } = response;
  if (response['store'] !== true || typeof id !== 'string') return;
  store.add({ id, response, items });
}

export const keptResponsePaths: StorePaths = {
  '/v1/responses/{id}': {
    GET: (request, { responses }) => jsonReply(findKept(request, responses).response),
    DELETE(request, { responses }) {
      const { id } = findKept(request, responses);
      responses.remove(id);
      return jsonReply({ id, object: 'response', deleted: true });
    },
  },
};

function findKept({ pathId: id = '' }: GatewayRequest, store: ResponseStore): KeptResponse {
  const kept = store.find(id);
  if (kept) return kept;
  throw new Problem(404, `Response with id '${id.slice(0, 100)}' not found.`);
}

/** The items of a request: the items of earlier responses, then its own, with the items that it refers to by id. Throws Problem. */
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
  const named = own.map((item) => {
    if (textAt(item, 'type') !== 'item_reference') return item;
    const id = textAt(item, 'id') ?? '';
    const found = findItem(id, store);
    if (found) return found;
    throw new Problem(404, `Item with id '${id.slice(0, 100)}' not found.`, { param: 'input' });
  });
  return [...(previous?.items ?? []), ...listAt(previous?.response, 'output'), ...named];
}
