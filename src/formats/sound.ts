import type { JsonValue } from '../json.ts';
import type { ReplyEvent } from './events.ts';

/**
 * OpenAI's samples without a header, all that it streams, are of 16 bits and this rate; what else can be asked for has a header, which
 * says what it is (formats 7).
 */
const mimeType = 'audio/pcm;rate=24000';

/** A sound, or a piece of one, in the completions and the responses format. Empty is absent, as null is. */
export function soundEvents(data: JsonValue | undefined, candidate?: number): ReplyEvent[] {
  return typeof data === 'string' && data !== '' ? [{ type: 'blob', mimeType, data, candidate }] : [];
}
