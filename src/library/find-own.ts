/**
 * The value that a table has for a word of a user or of a service; undefined if it has none. `table[word]` alone also finds the
 * members that every object has, such as `constructor`.
 */
export function findOwn<Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}
