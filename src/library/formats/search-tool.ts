import type { BodyValue } from '../body.ts';
import { isObject, type JsonObject, type JsonValue, textField } from '../json.ts';
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
  return given.some((tool) => isAlike(tool, own)) ? [...given] : [...given, own];
}

/** Whether one of the tools of a request is the own tool of a service for a search, in any version of any format. */
export function asksForSearch(tools: readonly JsonValue[]): true | undefined {
  return tools.some((tool) => isObject(tool) && isSearch(tool)) || undefined;
}

function isSearch(tool: JsonObject): boolean {
  return 'googleSearch' in tool || /^(?:openrouter:)?web_search(?:_|$)/.test(textField(tool, 'type') ?? '');
}

/** Whether both tools have the same name, type or, in the content format, key. */
function isAlike(tool: BodyValue, own: JsonObject): boolean {
  if (!isObject(tool)) return false;
  const [key = 'type'] = Object.keys(own);
  if (key !== 'type') return key in tool;
  return tool['type'] === own['type'] || (own['name'] !== undefined && tool['name'] === own['name']);
}
