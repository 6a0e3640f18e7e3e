import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { Effort } from '../vendors/effort.ts';
import { getTurnBlocks, type PlainRequest, type Turn } from './plain-request.ts';

/** The plain fields of a request that was read from the wire. `turns` has all turns, the last one too. */
export type DecodedRequest = Omit<PlainRequest, 'use' | 'model' | 'stream'>;

/** Turns that change between user and assistant: several turns of the same role become one. */
export function joinTurns(turns: readonly Turn[] = []): Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (last?.role !== turn.role) joined.push(turn);
    else joined[joined.length - 1] = { ...last, content: [...getTurnBlocks(last), ...getTurnBlocks(turn)] };
  }
  return joined;
}

/** The stop words of a field that holds one word or a list. */
export function decodeStops(value: JsonValue | undefined): string[] | undefined {
  return value === undefined ? undefined : [value].flat().filter((word) => typeof word === 'string');
}

/** An effort. The words of the formats are the same; an unknown one is refused where it is encoded. */
export function decodeEffort(word: string | undefined): Effort | undefined {
  return word?.toLowerCase() as Effort | undefined;
}

/** The schema of an answer. A description beside it goes into it: not every format has another place. */
export function decodeSchema(format: JsonObject | undefined): JsonValue | undefined {
  const { schema, description } = format ?? {};
  return isObject(schema) && typeof description === 'string' ? { description, ...schema } : schema;
}

/** The JSON of a text, otherwise the text. */
export function decodeInput(json: string): JsonValue {
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    return json;
  }
}
