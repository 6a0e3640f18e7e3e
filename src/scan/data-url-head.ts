/** How the text at a position relates to something that is looked for there. */
export type HeadMatch =
  | { kind: 'no' }
  | { kind: 'partial' }
  | { kind: 'match'; mimeType: string; alt: string; end: number };

const no: HeadMatch = { kind: 'no' };
const partial: HeadMatch = { kind: 'partial' };
const scheme = 'data:image/';
const ending = ';base64';
const longestType = 200;
const longestAlt = 1000;
/** A text of nothing but `![` must not be read a thousand times over. */
const deepestAlt = 32;

/** Reads `data:image/…;base64,` at a position; any case. `end` is where the Base64 begins. */
export function matchDataUrl(text: string, at: number, alt = ''): HeadMatch {
  const start = text.slice(at, at + scheme.length).toLowerCase();
  if (start !== scheme) return scheme.startsWith(start) ? partial : no;
  for (let i = at + scheme.length; i <= at + scheme.length + longestType; i++) {
    const char = text[i];
    if (char === undefined) return partial;
    if (char === ',') return endOfType(text, { at, alt, comma: i });
    if (!isTypeChar(char)) return no;
  }
  return no;
}

function endOfType(text: string, { at, alt, comma }: { at: number; alt: string; comma: number }): HeadMatch {
  const type = text.slice(at + 'data:'.length, comma).toLowerCase();
  if (!type.endsWith(ending)) return no;
  return { kind: 'match', mimeType: type.split(';', 1)[0] as string, alt, end: comma + 1 };
}

/** Reads `![alt](data:image/…;base64,` at a position. Brackets in the alt text balance, as in CommonMark. */
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
  return text[url] === undefined ? partial : matchDataUrl(text, url, text.slice(at + 2, close));
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

function isTypeChar(char: string): boolean {
  return char > ' ' && char < '\x7f' && !'"()<>[]\\`'.includes(char);
}
