import type { JsonObject } from '../../library/index.ts';
import type { GatewayReply } from '../types.ts';

export function jsonReply(body: object, headers: Record<string, string> = {}): GatewayReply {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(body),
  };
}

/** A list as the messages and the completions format have it: all at once, whatever page is asked for. */
export function listPage(data: readonly JsonObject[]): JsonObject {
  return { data: [...data], has_more: false, first_id: data[0]?.['id'] ?? null, last_id: data.at(-1)?.['id'] ?? null };
}
