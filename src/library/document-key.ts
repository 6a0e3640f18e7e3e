import * as v from 'valibot';

/** A required key of a document that the program prints. */
export function key<T extends v.GenericSchema>(schema: T, description: string) {
  return v.pipe(schema, v.description(description));
}

/** A key that is absent if its value is unknown. */
export function optionalKey<T extends v.GenericSchema>(schema: T, description: string) {
  return v.optional(key(schema, description));
}

export const text = v.string();
export const flag = v.boolean();
export const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** The values of a document, which can have been edited, that fit their keys: of a list, the items that do. */
export function readKeys<Entries extends v.ObjectEntries>(
  entries: Entries,
  document: Readonly<Record<string, unknown>>,
): { [Name in keyof Entries]?: v.InferOutput<Entries[Name]> } {
  const read = Object.entries(entries).flatMap(([name, schema]) => {
    const value = document[name];
    if (value === undefined) return [];
    const fits: boolean = v.is(schema, value);
    if (fits) return [[name, value]];
    return Array.isArray(value) ? [[name, value.filter((item) => v.is(schema, [item]))]] : [];
  });
  return Object.fromEntries(read) as ReturnType<typeof readKeys<Entries>>;
}
