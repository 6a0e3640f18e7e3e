import { formatFacts } from '../formats/format.ts';
import type { Body, BodyValue } from '../body.ts';
import type { FormatName } from '../formats/types.ts';
import { isObject } from '../json.ts';
import { type ServiceName, services } from '../vendors/services.ts';

/** Whether a count of tokens is a window: windows of servers are multiples of this number, and no window of today is smaller. */
const windowStep = 1024;
const smallestWindow = 2 * windowStep;

/** More characters than a token has in a text of any language. */
const charactersPerToken = 8;

/** The warning about a service that cuts a prompt in silence and answers the rest as if it were all, if its count of tokens says so. */
export function describeCutPrompt(
  { body, format }: { body: Body; format: FormatName },
  tokens: number | undefined,
  service: ServiceName,
): string | undefined {
  const { title, cutsPrompts: command } = services[service];
  if (command === undefined || tokens === undefined) return undefined;
  const characters = countCharacters(body[formatFacts[format].turnsField]);
  // A text alone is cut to the window; of a conversation, whole messages are left out.
  const isFull = tokens >= smallestWindow && tokens % windowStep === 0;
  const isShort = characters > charactersPerToken * Math.max(tokens, windowStep);
  if (!isFull && !isShort) return undefined;
  // A token of most texts has three characters or more.
  const window = 2 ** Math.ceil(Math.log2(Math.max(characters / 2, 2 * smallestWindow)));
  const counted = `${title} took ${tokens} tokens of ${characters} characters, and cuts what its window does not hold`;
  return `the prompt may be cut: ${counted}; for a larger window: ${command.replace('{tokens}', String(window))}`;
}

/** The characters of the texts in the turns of a request. */
function countCharacters(value: BodyValue | undefined): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value)) return value.reduce<number>((sum, part) => sum + countCharacters(part), 0);
  return isObject(value) ? countCharacters(value['content'] ?? value['text']) : 0;
}
