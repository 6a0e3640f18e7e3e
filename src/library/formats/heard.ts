import { type BodyValue, isUpload } from '../body.ts';

/*
 * A refusal can quote what it refuses. Words of the user's own prompt say nothing about the service: they teach nothing, and no advice
 * follows from them.
 */

/** A run of so many words that is in both the refusal and the request is a quote: it is too long to be chance. */
const quotedWords = 4;

/** A shorter text of the request counts as quoted when all of it is in the refusal, if it has at least so many words. */
const leastWords = 3;

/** In scripts without upper and lower case each letter is a word, since most of them write no blanks between words. */
const word = /\p{Lo}|[\p{LC}\p{Lm}\p{N}_]+/gu;

/** The service's own words in a message, without runs of words that the texts of the request have, too. */
export function withoutQuotes(message: string, texts: Iterable<string>): string {
  const said = [...message.matchAll(word)];
  const words = said.map(([one]) => one.toLowerCase());
  const placesOf = new Map<string, number[]>();
  for (const length of [leastWords, quotedWords])
    for (let at = 0; at + length <= words.length; at++) {
      const run = words.slice(at, at + length).join(' ');
      const places = placesOf.get(run);
      if (places === undefined) placesOf.set(run, [at]);
      else places.push(at);
    }
  if (placesOf.size === 0) return message;
  const quoted = new Set<number>();
  for (const text of texts) {
    for (const run of listRuns(text)) {
      const key = run.join(' ');
      for (const at of placesOf.get(key) ?? [])
        for (let place = at; place < at + run.length; place++) quoted.add(place);
      // Each run is searched once: texts can repeat it many times.
      placesOf.delete(key);
    }
  }
  if (quoted.size === 0) return message;
  let heard = '';
  let end = 0;
  for (const [at, { 0: own, index }] of said.entries()) {
    if (!quoted.has(at)) heard += message.slice(end, index) + own;
    else if (!quoted.has(at - 1)) heard += `${message.slice(end, index)}…`;
    end = index + own.length;
  }
  return heard + message.slice(end);
}

/** The runs of words in a text, each of the length that counts as a quote, each once. */
function* listRuns(text: string): Generator<readonly string[], void> {
  let run: string[] = [];
  let count = 0;
  for (const [one] of text.matchAll(word)) {
    count++;
    run = [...run.slice(1 - quotedWords), one.toLowerCase()];
    if (run.length === quotedWords) yield run;
  }
  if (count >= leastWords && count < quotedWords) yield run;
}

/** All texts in the body of a request that can be a sentence. A text of ASCII without blanks is a name, not a sentence. */
export function* listTexts(value: BodyValue | undefined): Generator<string, void> {
  if (typeof value === 'string' && /[\s\P{ASCII}]/u.test(value)) yield value;
  if (typeof value !== 'object' || value === null || isUpload(value)) return;
  for (const item of Object.values(value)) yield* listTexts(item);
}
