/**
 * A string that matches a simple regular expression: literals, classes, groups, alternatives (the first is taken) and
 * counts (the fewest that fit). Undefined for look-around, back references and what else it does not know.
 * The expression is read, never run, so that none can make the gateway hang.
 */
export function patternInstance(pattern: string, minLength = 0): string | undefined {
  const bare = pattern.replace(/^\^/, '').replace(/(?<!\\)\$$/, '');
  if (pattern.length > 1000) return undefined;
  for (const spare of [0, minLength]) {
    const made = parse({ pattern: bare, at: 0, spare: Math.min(spare, 10_000), depth: 0 });
    if (made !== undefined && made.length >= minLength) return made;
  }
  return undefined;
}

interface Reader {
  pattern: string;
  at: number;
  /** Characters that an open-ended count may add. */
  spare: number;
  depth: number;
}

function parse(reader: Reader): string | undefined {
  const made = readAlternatives(reader);
  return reader.at === reader.pattern.length ? made : undefined;
}

function readAlternatives(reader: Reader): string | undefined {
  const first = readSequence(reader);
  if (first === undefined) return undefined;
  while (peek(reader) === '|') {
    reader.at++;
    if (readSequence(reader) === undefined) return undefined;
  }
  return first;
}

function readSequence(reader: Reader): string | undefined {
  let made = '';
  for (let next = peek(reader); next !== '' && next !== '|' && next !== ')'; next = peek(reader)) {
    const atom = readAtom(reader);
    const count = readCount(reader);
    if (atom === undefined || count === undefined) return undefined;
    made += atom.repeat(count);
    if (made.length > 20_000) return undefined;
  }
  return made;
}

function readAtom(reader: Reader): string | undefined {
  const character = take(reader);
  if (character === '(') return readGroup(reader);
  if (character === '[') return readClass(reader);
  if (character === '\\') return escaped(take(reader));
  if (character === '.') return 'a';
  return '*+?{}^$'.includes(character) ? undefined : character;
}

function readGroup(reader: Reader): string | undefined {
  if (peek(reader) === '?' && !skip(reader, '?:')) return undefined;
  if (reader.depth++ > 20) return undefined;
  const made = readAlternatives(reader);
  reader.depth--;
  return made !== undefined && skip(reader, ')') ? made : undefined;
}

/** The first character of a class; for a negated one a letter or digit that is not in it. */
function readClass(reader: Reader): string | undefined {
  const negated = skip(reader, '^');
  const members: string[] = [];
  while (peek(reader) !== ']' || members.length === 0) {
    const character = take(reader);
    const member = character === '\\' ? escaped(take(reader)) : character;
    if (member === undefined || member === '') return undefined;
    members.push(member);
  }
  reader.at++;
  if (!negated) return members[0];
  return [...'aA0_- '].find((candidate) => !inClass(members.join(''), candidate));
}

function inClass(members: string, candidate: string): boolean {
  for (let at = 0; at < members.length; at++) {
    if (members[at + 1] === '-' && at + 2 < members.length) {
      if (candidate >= members.charAt(at) && candidate <= members.charAt(at + 2)) return true;
      at += 2;
    } else if (members[at] === candidate) return true;
  }
  return false;
}

function escaped(character: string): string | undefined {
  const classes: Record<string, string> = { d: '7', w: 'a', s: ' ', D: 'a', W: '-', S: 'a', n: '\n', t: '\t', r: '\r' };
  if (/[\d\p{L}]/u.test(character)) return classes[character];
  return character === '' ? undefined : character;
}

/** How often the atom before is repeated: once, or the fewest its count allows, or more where there is room. */
function readCount(reader: Reader): number | undefined {
  const character = peek(reader);
  if (character === '{') return readBraces(reader);
  if (!'?*+'.includes(character) || character === '') return 1;
  reader.at++;
  skip(reader, '?');
  return character === '?' ? 1 : Math.max(1, reader.spare);
}

function readBraces(reader: Reader): number | undefined {
  const found = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(reader.pattern.slice(reader.at, reader.at + 12));
  if (!found) return undefined;
  reader.at += found[0].length;
  skip(reader, '?');
  const least = Number(found[1]);
  const open = found[2] !== undefined;
  const most = found[3] ? Number(found[3]) : Infinity;
  return open ? Math.max(least, Math.min(most, reader.spare)) : least;
}

function peek({ pattern, at }: Reader): string {
  return pattern.charAt(at);
}

function take(reader: Reader): string {
  return reader.pattern.charAt(reader.at++);
}

function skip(reader: Reader, text: string): boolean {
  if (!reader.pattern.startsWith(text, reader.at)) return false;
  reader.at += text.length;
  return true;
}
