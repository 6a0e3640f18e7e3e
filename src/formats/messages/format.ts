import { isObject } from '../../json.ts';
import type { Body } from '../../upload.ts';
import { countField } from '../fields.ts';
import type { Format } from '../format-types.ts';
import { encodeMessagesBody, messagesTurns } from './request.ts';
import { createMessagesDecoder } from './stream.ts';
import { readTextRun } from './text-run.ts';

/** The messages format: `POST /v1/messages` (formats 3 and 4). */
export const messages: Format = {
  name: 'messages',
  encode(ask, quirks) {
    const body = encodeMessagesBody(ask, quirks);
    if (ask.stream === false) delete body['stream'];
    return { path: '/v1/messages', body, ...(body['stream'] === true && { accept: 'text/event-stream' }) };
  },
  append(body, turns, { service }) {
    const { tool_choice: choice, messages: earlier } = body;
    const all = [...(Array.isArray(earlier) ? earlier : []), ...messagesTurns(turns, service)];
    const longer: Body = { ...body, messages: all };
    // A choice that forces a call would force one after each result, for ever.
    if (isObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool')) delete longer['tool_choice'];
    return longer;
  },
  createDecoder: createMessagesDecoder,
  shortcut: readTextRun,
  // After message_stop the end of the body is only good for using the connection again (deviation 24).
  patience: { stopped: 5000, ended: 200 },
  missingEnd: 'the stream ended without its end marker',
  models(token) {
    const query = new URLSearchParams({ limit: '1000', ...(token !== undefined && { after_id: token }) });
    return { path: '/v1/models', query: query.toString() };
  },
  toolNames({ tools }) {
    if (!Array.isArray(tools)) return [];
    return tools.flatMap((tool) => (isObject(tool) && typeof tool['name'] === 'string' ? tool['name'] : []));
  },
  limits: (body) => ({ maxTokens: countField(body, 'max_tokens'), candidates: 1, images: 0 }),
};
