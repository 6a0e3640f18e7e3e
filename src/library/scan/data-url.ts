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

/** Less Base64 than this is no file, but an example in a text about data URLs. */
const leastBase64 = 64;
const base64Char = String.raw`[A-Za-z0-9+/_\r\n-]`;
const fileHead = new RegExp(
  `data:(${typeChar}{1,${longestType - ending.length}})${ending},(?=${base64Char}{${leastBase64}})`,
  'iy',
);
const partialFileHead = new RegExp(
  `^data:${typeChar}{0,${longestType}}(?:(?<=${ending}),${base64Char}{0,${leastBase64 - 1}})?$`,
  'i',
);
const longestPartialFileHead = longestPartialHead + leastBase64;

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

/** Matches `](data:…;base64,` at a position: the target of a link, or of an image, that is a file of any type. */
export function matchLinkTarget(text: string, at: number): HeadMatch {
  if (text[at + 1] === undefined) return partial;
  if (text[at + 1] !== '(') return no;
  let url = at + 2;
  while (url - at < 16 && (text[url] === ' ' || text[url] === '\n' || text[url] === '<')) url++;
  const picture = matchDataUrl(text, url);
  return picture.kind === 'match' ? picture : matchFile(text, url);
}

function matchFile(text: string, at: number): HeadMatch {
  fileHead.lastIndex = at;
  const match = fileHead.exec(text);
  if (match) {
    const mimeType = (match[1] as string).toLowerCase().split(';', 1)[0] as string;
    return { kind: 'match', mimeType, end: fileHead.lastIndex };
  }
  if (text.length - at > longestPartialFileHead) return no;
  const rest = text.slice(at);
  return 'data:'.startsWith(rest.toLowerCase()) || partialFileHead.test(rest) ? partial : no;
}

/** Matches `![alt](data:…;base64,` at a position. Brackets in the alt text balance, as in CommonMark. */
export function matchMarkdownImage(text: string, at: number): HeadMatch {
  if (text[at + 1] === undefined) return partial;
  if (text[at + 1] !== '[') return no;
  const close = closingBracket(text, at + 2);
  if (close === 'cut') return partial;
  return close === 'none' ? no : matchLinkTarget(text, close);
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
