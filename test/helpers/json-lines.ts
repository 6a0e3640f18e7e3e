/** The values of JSON Lines. */
export function jsonLines<Value = unknown>(text: string): Value[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Value);
}
