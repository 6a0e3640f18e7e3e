import { isObject } from '../../json.ts';
import type { Body } from '../../upload.ts';
import type { Encoded } from '../ask.ts';
import { countField, objectAt } from '../fields.ts';
import type { Format } from '../format-types.ts';
import { createContentDecoder, missingReason } from './reply.ts';
import { contentPath, encodeContentBody } from './request.ts';
import { contentTurns } from './turns.ts';

/** The content format: `POST /v1beta/models/{model}:generateContent` (formats 2). */
export const content: Format = {
  name: 'content',
  encode(ask, quirks): Encoded {
    const body = encodeContentBody(ask, quirks);
    if (!ask.stream) return { path: contentPath(ask.model), body };
    const path = contentPath(ask.model, 'streamGenerateContent');
    return { path, query: 'alt=sse', body, accept: 'text/event-stream', streamsContent: true };
  },
  append(body, turns, { service }) {
    const { contents, toolConfig } = body;
    const all = [...(Array.isArray(contents) ? contents : []), ...contentTurns(turns, service)];
    const longer: Body = { ...body, contents: all };
    // A mode that forces a call would force one after each result, for ever.
    const calling = isObject(toolConfig) ? toolConfig['functionCallingConfig'] : undefined;
    if (isObject(toolConfig) && isObject(calling) && calling['mode'] === 'ANY')
      longer['toolConfig'] = { ...toolConfig, functionCallingConfig: { mode: 'AUTO' } };
    return longer;
  },
  createDecoder: createContentDecoder,
  // Behind `[DONE]` the end of the body is only good for using the connection again (deviation 24).
  patience: { stopped: undefined, ended: 200 },
  missingEnd: missingReason,
  models(token) {
    const query = new URLSearchParams({ pageSize: '1000', ...(token !== undefined && { pageToken: token }) });
    return { path: '/v1beta/models', query: query.toString() };
  },
  toolNames(body) {
    const tools = Array.isArray(body['tools']) ? body['tools'] : [];
    return tools.flatMap((tool) => {
      const declared = isObject(tool) ? tool['functionDeclarations'] : undefined;
      return Array.isArray(declared) ? declared.flatMap(nameOf) : [];
    });
  },
  limits(body: Body) {
    const config = objectAt(body, 'generationConfig');
    return { maxTokens: countField(config, 'maxOutputTokens'), candidates: countField(config, 'candidateCount') ?? 1 };
  },
};

function nameOf(declaration: unknown): string[] {
  return isObject(declaration) && typeof declaration['name'] === 'string' ? [declaration['name']] : [];
}
