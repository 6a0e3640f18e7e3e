/** A position in a pattern. */
interface Scan {
  pattern: string;
  at: number;
}

/** The maximum length of made texts, however often a pattern repeats, and of the patterns that are read. */
const maxCharacters = 1000;

/** One character of each class. */
const classes: Readonly<Record<string, string>> = {
  d: '0',
  w: 'a',
  s: ' ',
  D: 'a',
  W: '-',
  S: 'a',
  t: '\t',
  n: '\n',
  r: '\r',
};

/**
 * A short text that fits a regular expression: the first choice of each group, the first character of each class, the fewest
 * repetitions. Undefined if the pattern has parts that are not supported: look-arounds, references, negated classes.
 */
export function makePatternText(pattern: string | undefined): string | undefined {
  if (pattern === undefined || pattern.length > maxCharacters) return undefined;
  const scan = { pattern, at: 0 };
  const text = readChoices(scan);
  return scan.at === pattern.length ? text : undefined;
}

function readChoices(scan: Scan): string | undefined {
  const first = readSequence(scan);
  while (scan.pattern[scan.at] === '|') {
    scan.at++;
    if (readSequence(scan) === undefined) return undefined;
  }
  return first;
}

function readSequence(scan: Scan): string | undefined {
  let text = '';
  while (scan.at < scan.pattern.length && !'|)'.includes(scan.pattern[scan.at] ?? '')) {
    const atom = readAtom(scan);
    if (atom === undefined) return undefined;
    text += atom.repeat(Math.min(readFewest(scan), maxCharacters));
    if (text.length > maxCharacters) return undefined;
  }
  return text;
}

/** A text for one element of the pattern; the scan moves past it. */
function readAtom(scan: Scan): string | undefined {
  const character = scan.pattern[scan.at++] ?? '';
  if (character === '(') return readPatternGroup(scan);
  if (character === '[') return readClass(scan);
  if (character === '\\') return readEscape(scan);
  if (character === '^' || character === '$') return '';
  if ('?*+{'.includes(character)) return undefined;
  return character === '.' ? 'a' : character;
}

function readPatternGroup(scan: Scan): string | undefined {
  const [opening = '', kind] = /^(\?(?::|<\w+>|.)?)?/.exec(scan.pattern.slice(scan.at)) ?? [];
  if (kind !== undefined && !/^\?(?::|<\w+>)$/.test(kind)) return undefined;
  scan.at += opening.length;
  const text = readChoices(scan);
  return scan.pattern[scan.at++] === ')' ? text : undefined;
}

function readClass(scan: Scan): string | undefined {
  const end = /^(?:\\.|[^\]\\])+\]/s.exec(scan.pattern.slice(scan.at))?.[0];
  if (end === undefined || end.startsWith('^')) return undefined;
  const inside = { pattern: scan.pattern, at: scan.at };
  scan.at += end.length;
  return end.startsWith('\\') ? readAtom(inside) : end.slice(0, 1);
}

function readEscape(scan: Scan): string | undefined {
  const character = scan.pattern[scan.at++] ?? '';
  if (Object.hasOwn(classes, character)) return classes[character];
  return /[a-z0-9]/i.test(character) ? undefined : character;
}

/** The minimum number of repetitions of the element before; the scan moves past the quantifier. */
function readFewest(scan: Scan): number {
  const [quantifier = '', least] = /^(?:[?*+]|\{(\d+)(?:,\d*)?\})?\??/.exec(scan.pattern.slice(scan.at)) ?? [];
  scan.at += quantifier.length;
  if (quantifier === '') return 1;
  return least === undefined ? Number(quantifier.startsWith('+')) : Number(least);
}
