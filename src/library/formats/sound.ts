import type { JsonValue } from '../json.ts';
import type { ReplyEvent } from './events.ts';

/**
 * OpenAI's samples without a header have 16 bits and this rate; all streamed sound is of this type. Every other type that can be
 * requested has a header, which says its type (formats 7).
 */
const mimeType = 'audio/pcm;rate=24000';

/** A sound, or a piece of one, in the completions and the responses format. An empty value counts as absent, like null. */
export function soundEvents(data: JsonValue | undefined, candidate?: number): ReplyEvent[] {
  return typeof data === 'string' && data !== '' ? [{ type: 'blob', mimeType, data, candidate }] : [];
}
