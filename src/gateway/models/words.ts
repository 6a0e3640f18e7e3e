/** A text as the pieces a stream sends it in: words with the blanks behind them. Joined they are the text again. */
export function splitWords(text: string): string[] {
  return text.match(/\s*\S+\s*/g) ?? (text === '' ? [] : [text]);
}
