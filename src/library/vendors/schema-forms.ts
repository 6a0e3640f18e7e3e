/**
 * The form of a JSON Schema for a service that does not take every schema as it is: with closed objects and few keywords, or in
 * words, because the service has only JSON mode.
 */
export type SchemaForm = 'closed' | 'words';

/** The keywords of JSON Schema that a form keeps; the description has all others in words. */
export interface KeptWords {
  keywords: ReadonlySet<string>;
  /** The values of `format`. */
  formats: ReadonlySet<unknown>;
  /** The largest `minItems`. */
  minItems: number;
}

const keywords =
  'type properties required items minItems anyOf $ref $defs definitions enum const title description format';
const formats = 'date-time time date duration email hostname ipv4 ipv6 uuid';
const setOf = (words: string): ReadonlySet<string> => new Set(words.split(' '));

/** npm @anthropic-ai/sdk 1.14.0, lib/transform-json-schema.js. */
export const closedForm: KeptWords = {
  keywords: setOf(`${keywords} allOf`),
  formats: setOf(`${formats} uri`),
  minItems: 1,
};

/** OpenAI's with `strict`: developers.openai.com, structured outputs, supported properties (November 2026). */
export const strictForm: KeptWords = {
  keywords: setOf(`${keywords} pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum maxItems`),
  formats: setOf(formats),
  minItems: Infinity,
};
