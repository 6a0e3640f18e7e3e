import type { Job } from '../../batch/types.ts';
import type { Settings } from '../../settings/settings.ts';
import type { BuiltRequest } from '../built-request.ts';
import { chatRequest } from '../chat/request.ts';
import { imageRequest } from '../image/request.ts';
import { textRequest } from '../text-request.ts';

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
 * The request of a job that names no file, at once: thousands are made before the first one is sent. Undefined where
 * something must be read, or the prompt is missing. Throws GatewayError usage.
 */
export function plainRequest({ command, values }: Job, settings: Settings): BuiltRequest | undefined {
  const { prompt, system } = values as { prompt?: string; system?: string };
  if (command === 'image edit' || prompt === undefined || prompt.trim() === '') return undefined;
  for (const key of Object.keys(values)) if (!plainKeys.has(key)) return undefined;
  const parts = plainParts(prompt, system);
  if (command === 'chat') return chatRequest(values, parts, settings);
  return command === 'text' ? textRequest(values, parts, settings) : imageRequest(values, parts, settings);
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
