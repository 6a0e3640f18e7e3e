import type { Body, BodyValue } from '../body.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { PlainRequest } from './plain-request.ts';

/** The tools of a request. If it asks for a search, the service's own tool for it is added, unless it is there. */
export function withSearch(
  tools: readonly BodyValue[] | undefined,
  { search, body }: Pick<PlainRequest, 'search' | 'body'>,
  own: JsonObject,
): BodyValue[] | undefined {
  if (!search) return tools && [...tools];
  const ofBody = body?.['tools'];
  const given = tools ?? (Array.isArray(ofBody) ? ofBody : []);
  return given.some((tool) => isObject(tool) && isSearch(tool)) ? [...given] : [...given, own];
}

/** Whether one of the tools of a request is the own tool of a service for a search, in any version of any format. */
export function asksForSearch(tools: readonly JsonValue[]): true | undefined {
  return tools.some((tool) => isObject(tool) && isSearch(tool)) || undefined;
}

/** A tool of the user can have the same name: only the service's own has the type, or in the content format the key. */
function isSearch(tool: Body): boolean {
  return 'googleSearch' in tool || /^(?:openrouter:)?web_search(?:_|$)/.test(String(tool['type']));
}
