import type { Job } from '../../batch/types.ts';
import type { Settings } from '../../settings/settings.ts';
import type { BuiltRequest } from '../../cli/request/built-request.ts';
import { chatRequest } from '../../cli/request/chat-request.ts';
import { contentRequest } from '../../cli/request/content-input.ts';

/** Keys whose values are the request itself: nothing is read for them. */
const plainKeys = new Set([
  'prompt',
  'system',
  'model',
  'maxTokens',
  'temperature',
  'topP',
  'topK',
  'stop',
  'set',
  'candidates',
  'seed',
  'safety',
  'cachedContent',
  'responseMime',
  'aspect',
  'size',
  'toolChoice',
  'metadata',
  'stream',
]);

/**
 * What a job has in common with those that differ from it in their words alone: one of them can be sent where another can.
 * Undefined where something must be read, or the prompt is missing.
 */
export function shapeOf({ command, values }: Job): string | undefined {
  const prompt = values['prompt'];
  if (command === 'image edit' || typeof prompt !== 'string' || prompt.trim() === '') return undefined;
  let shape: string = command;
  for (const key of Object.keys(values)) {
    if (!plainKeys.has(key)) return undefined;
    shape += key === 'prompt' || key === 'system' ? `\n${key}` : `\n${key}=${JSON.stringify(values[key])}`;
  }
  return shape;
}

/** The request of a job that has a shape, at once: a batch has thousands. Throws GatewayError usage. */
export function plainRequest({ command, values }: Job, settings: Settings): BuiltRequest {
  const { prompt, system } = values as { prompt: string; system?: string };
  const parts = plainParts(prompt, system);
  if (command === 'chat') return chatRequest(values, parts, settings);
  return contentRequest(command === 'text' ? 'text' : 'image', values, parts, settings);
}

/** What a request is made of where nothing was read. */
function plainParts(prompt: string, system: string | undefined) {
  return {
    prompt,
    system,
    tools: undefined,
    body: undefined,
    schema: undefined,
    contents: undefined,
    toolConfig: undefined,
    messages: undefined,
    inline: [],
  };
}
