import { stringEnd } from '../json.ts';

/** What a value of JSON takes in memory, about: a list of empty lists takes ten times its text. */
export const valueCost = 64;

const quote = 0x22;

/** How many values a JSON text holds at most: its brackets and commas outside of strings. */
export function countValues(text: string): number {
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = stringEnd(text, at + 1);
    else if (code === 0x2c || code === 0x5b || code === 0x7b) values++;
  }
  return values;
}
