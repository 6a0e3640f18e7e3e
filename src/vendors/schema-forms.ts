/**
 * How a service wants a JSON Schema that it does not take as it is: with closed objects and few keywords, or in words, because it has
 * only JSON mode.
 */
export type SchemaForm = 'closed' | 'words';

/** Keywords that the closed form keeps. npm @anthropic-ai/sdk 1.14.0, lib/transform-json-schema.js. */
export const closedKeywords: ReadonlySet<string> = new Set(
  'type properties required items anyOf allOf $ref $defs definitions enum const title description'.split(' '),
);

/** The values of `format` that it keeps, from the same file. */
export const closedFormats: ReadonlySet<unknown> = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '),
);

/** The values of `minItems` that it keeps, from the same file. */
export const closedMinItems: ReadonlySet<unknown> = new Set([0, 1]);
