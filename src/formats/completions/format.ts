import { isObject, type JsonObject } from '../../json.ts';
import type { Body, BodyValue } from '../../upload.ts';
import { objectField, textField } from '../fields.ts';
import type { Format } from '../format-types.ts';
import { encodeImages } from './images.ts';
import { appendTurns, encodeChat } from './request.ts';
import { createCompletionsDecoder } from './stream.ts';

/** The format of OpenAI's chat completions, and of its operations for images (formats 7). */
export const completions: Format = {
  name: 'completions',
  encode: (ask, quirks) => {
    const isPicture = ask.use === 'image' || ask.use === 'edit';
    return isPicture && quirks.imagesOperation ? encodeImages(ask) : encodeChat(ask, quirks);
  },
  append: appendTurns,
  createDecoder: createCompletionsDecoder,
  patience: { stopped: 5000, ended: 200 },
  missingEnd: 'the stream ended without a finish reason',
  models: () => ({ path: '/v1/models', query: '' }),
  toolNames: ({ tools }) => (Array.isArray(tools) ? tools.flatMap(nameOf) : []),
  limits: limitsOf,
};

function nameOf(tool: BodyValue): string[] {
  if (!isObject(tool)) return [];
  const held: JsonObject = objectField(tool, 'function') ?? objectField(tool, 'custom') ?? tool;
  const name = textField(held, 'name');
  return name === undefined ? [] : [name];
}

function limitsOf(body: Body): ReturnType<Format['limits']> {
  const { max_completion_tokens: newer, max_tokens: older, n } = body;
  const maxTokens = newer ?? older;
  return {
    maxTokens: typeof maxTokens === 'number' ? maxTokens : undefined,
    candidates: typeof n === 'number' ? n : 1,
  };
}
