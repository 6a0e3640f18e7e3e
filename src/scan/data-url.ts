const opening = 'data:image/';
/** Characters of a media type with parameters. */
const typeChar = "[!#-'*+\\--;=?-Z^_a-~]";
const longestType = 200;
const ending = ';base64';
const head = `${opening}(${typeChar}{0,${longestType - ending.length}})${ending},`;
const longestAlt = 1000;
/** Limits the work for a text of nothing but `![`. */
const deepestAlt = 32;

/** `data:image/…;base64,` (deviations 1 and 4); case does not matter. */
export const dataUrlHead = new RegExp(head, 'i');
const headHere = new RegExp(head, 'iy');
const partialHead = new RegExp(`^${opening}${typeChar}{0,${longestType}}$`, 'i');
/** A text that can still become a head is not longer. */
export const longestPartialHead = opening.length + longestType;

/** Whether a text at a position matches, or could match with more text. */
export type HeadMatch = { kind: 'no' } | { kind: 'partial' } | { kind: 'match'; mimeType: string; end: number };

const no: HeadMatch = { kind: 'no' };
const partial: HeadMatch = { kind: 'partial' };

/** Matches `data:image/…;base64,` at a position of a text. `end` is where the Base64 begins. */
export function matchDataUrl(text: string, at: number): HeadMatch {
  headHere.lastIndex = at;
  const match = headHere.exec(text);
  if (match) {
    const mimeType = `image/${match[1]}`.toLowerCase().split(';', 1)[0] as string;
    return { kind: 'match', mimeType, end: headHere.lastIndex };
  }
  if (text.length - at > longestPartialHead) return no;
  const rest = text.slice(at);
  return opening.startsWith(rest.toLowerCase()) || partialHead.test(rest) ? partial : no;
}

/** Matches `![alt](data:image/…;base64,` at a position. Brackets in the alt text balance, as in CommonMark. */
export function matchMarkdownImage(text: string, at: number): HeadMatch {
  if (text[at + 1] === undefined) return partial;
  if (text[at + 1] !== '[') return no;
  const close = closingBracket(text, at + 2);
  if (close === 'cut') return partial;
  if (close === 'none') return no;
  if (text[close + 1] === undefined) return partial;
  if (text[close + 1] !== '(') return no;
  let url = close + 2;
  while (url - close < 16 && (text[url] === ' ' || text[url] === '\n' || text[url] === '<')) url++;
  return matchDataUrl(text, url);
}

function closingBracket(text: string, start: number): number | 'cut' | 'none' {
  let depth = 0;
  for (let i = start; i <= start + longestAlt; i++) {
    const char = text[i];
    if (char === undefined) return 'cut';
    if (char === '\\') i++;
    else if (char === '[' && ++depth > deepestAlt) return 'none';
    else if (char === '\n' && text[i + 1] === '\n') return 'none';
    else if (char === ']' && depth-- === 0) return i;
  }
  return 'none';
}
