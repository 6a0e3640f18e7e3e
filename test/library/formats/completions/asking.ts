import type { PlainRequest } from '../../../../src/library/formats/plain-request.ts';
import { completions } from '../../../../src/library/formats/completions/format.ts';
import type { Quirks } from '../../../../src/library/formats/types.ts';
import type { JsonObject, JsonValue } from '../../../../src/library/json.ts';
import { createUpload, isUpload } from '../../../../src/library/body.ts';

export const data = createUpload(new Uint8Array([1, 2, 3]));
export const base: PlainRequest = { use: 'text', model: 'm', stream: undefined };
export const local: Quirks = { service: 'local' };
export const openai: Quirks = {
  service: 'openai',
  maxTokensField: 'max_completion_tokens',
  includeUsage: true,
  imagesOperation: 'openai',
};

export const openrouter: Quirks = { service: 'openrouter', includeUsage: true, imagesOperation: 'openrouter' };

/** The body of a request as it is written, with `AQID` for the upload. */
export function bodyOf(ask: Partial<PlainRequest>, quirks: Quirks = local): unknown {
  const { body } = completions.encode({ ...base, ...ask }, quirks);
  const json = JSON.stringify(body, (_, value: unknown) => (isUpload(value) ? `${value.prefix ?? ''}AQID` : value));
  return JSON.parse(json) as unknown;
}

export const user = (content: JsonValue): JsonObject => ({ role: 'user', content });
export const said = (text: string): JsonObject => ({ type: 'text', text });
