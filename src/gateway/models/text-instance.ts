import type { JsonObject } from '../../json.ts';
import { numberAt, textAt } from '../fields/read.ts';
import { patternInstance } from './pattern-instance.ts';
import { hashText } from './random.ts';

/** What a string is made from: the name of its property, the seed, and the prompt. */
export interface TextSource {
  name: string;
  seed: string;
  hint: string;
}

const formats: Readonly<Record<string, (seed: string) => string>> = {
  date: (seed) => `2024-0${digit(seed, 9)}-1${digit(seed, 9)}`,
  time: (seed) => `1${digit(seed, 9)}:30:00Z`,
  'date-time': (seed) => `2024-0${digit(seed, 9)}-15T12:00:00Z`,
  duration: (seed) => `PT${digit(seed, 9)}H`,
  email: (seed) => `offline${digit(seed, 9)}@example.com`,
  'idn-email': (seed) => `offline${digit(seed, 9)}@example.com`,
  hostname: (seed) => `host${digit(seed, 9)}.example.com`,
  uri: (seed) => `https://example.com/${digit(seed, 9)}`,
  url: (seed) => `https://example.com/${digit(seed, 9)}`,
  'uri-reference': (seed) => `/${digit(seed, 9)}`,
  ipv4: (seed) => `192.0.2.${digit(seed, 9)}`,
  ipv6: (seed) => `2001:db8::${digit(seed, 9)}`,
  uuid: (seed) => `00000000-0000-4000-8000-${hashText(seed).toString(16).padStart(12, '0')}`,
  byte: () => 'b2ZmbGluZQ==',
};

/** A string that keeps a schema's format, pattern and lengths; a capitalised word of the prompt where there are none. */
export function textInstance(schema: JsonObject, { name, seed, hint }: TextSource): string {
  const format = formats[textAt(schema, 'format') ?? ''];
  if (format !== undefined) return format(seed);
  const pattern = textAt(schema, 'pattern');
  const least = numberOf(schema, 'minLength') ?? 0;
  const most = numberOf(schema, 'maxLength') ?? Infinity;
  const made = pattern === undefined ? undefined : patternInstance(pattern, least);
  return made ?? fitLength(properNoun(hint) ?? `offline ${name}`, least, most);
}

/** Bounds may be written as strings in the OpenAPI form (int64). */
function numberOf(schema: JsonObject, name: string): number | undefined {
  const value = numberAt(schema, name) ?? Number(textAt(schema, name) ?? Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}

function fitLength(text: string, least: number, most: number): string {
  const characters = Array.from(text.slice(0, 1000));
  const wanted = Math.min(Math.max(characters.length, least), most, 100_000);
  return characters.slice(0, wanted).join('').padEnd(wanted, ' offline');
}

/** A word that is written large and is not the first: Paris in "the weather in Paris?". */
function properNoun(hint: string): string | undefined {
  const words = hint.slice(0, 1000).split(/\s+/).slice(1);
  const noun = words.findLast((word) => /^\p{Lu}\p{Ll}/u.test(word));
  return noun?.replace(/[^\p{L}\p{N}]+$/u, '');
}

function digit(seed: string, choices: number): number {
  return 1 + (hashText(seed) % choices);
}
