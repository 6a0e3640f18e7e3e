import { formatFacts } from '../formats/format.ts';
import type { Body, BodyValue } from '../body.ts';
import type { FormatName } from '../formats/types.ts';
import { isObject } from '../json.ts';

/** A count of tokens that is a window, as servers have them, and what no window of today is below. */
const windowStep = 1024;
const smallestWindow = 2 * windowStep;

/** More characters than a token holds in a text of any language. */
const charactersPerToken = 8;

/** For a service that cuts a prompt in silence: the characters that were sent, if the tokens that it counts say that it did. */
export function findCutPrompt(
  { body, format }: { body: Body; format: FormatName },
  tokens: number | undefined,
): number | undefined {
  if (tokens === undefined) return undefined;
  const characters = countCharacters(body[formatFacts[format].turnsField]);
  // A text alone is cut to the window; of a conversation, whole messages are left out.
  const isFull = tokens >= smallestWindow && tokens % windowStep === 0;
  const isShort = characters > charactersPerToken * Math.max(tokens, windowStep);
  return isFull || isShort ? characters : undefined;
}

/** The characters of the texts in the turns of a request. */
function countCharacters(value: BodyValue | undefined): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value)) return value.reduce<number>((sum, part) => sum + countCharacters(part), 0);
  return isObject(value) ? countCharacters(value['content'] ?? value['text']) : 0;
}
