/** The offline models' token rule: four UTF-16 units are one token, a rest counts as one. */
const unitsPerToken = 4;

/** Tokens of an image in a request, whatever its size. */
export const tokensPerImage = 258;

export function countTokens(text: string): number {
  return Math.ceil(text.length / unitsPerToken);
}

/** As much of a text as the tokens allow; a character is never split. */
export function cutToTokens(text: string, tokens: number): string {
  const end = tokens * unitsPerToken;
  if (text.length <= end) return text;
  const splitsPair = /[\uD800-\uDBFF]/.test(text.charAt(end - 1));
  return text.slice(0, splitsPair ? end - 1 : end);
}

/** A text as the pieces a stream sends it in: words with the blanks behind them. Joined they are the text again. */
export function splitWords(text: string): string[] {
  return text.match(/\s*\S+\s*/g) ?? (text === '' ? [] : [text]);
}
