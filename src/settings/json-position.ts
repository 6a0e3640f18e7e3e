/** Where a JSON text breaks, counted from 1, and what would have been right there. */
export interface JsonFault {
  line: number;
  column: number;
  expected: string;
}

/**
 * Finds the first syntax error of a JSON text. Messages of JSON.parse give no position for every error on Node 20,
 * and quote the text, which may hold a key. Only called for text that JSON.parse refused.
 */
export function findJsonFault(text: string): JsonFault {
  const { at, expected } = faultOf(text);
  const lines = text.slice(0, at).split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1, expected };
}

/** The same in words: `a value is expected at line 1, column 2`. */
export function jsonFaultWords(text: string): string {
  const { line, column, expected } = findJsonFault(text);
  return `${expected} is expected at line ${line}, column ${column}`;
}

type State = 'value' | 'first-key' | 'key' | 'colon' | 'first-item' | 'in-object' | 'in-list' | 'end';

const expected: Record<State, string> = {
  value: 'a value',
  'first-key': 'a key in double quotes',
  key: 'a key in double quotes',
  colon: "':' after the key",
  'first-item': 'a value',
  'in-object': "',' or '}'",
  'in-list': "',' or ']'",
  end: 'the end of the file',
};

const blank = ' \t\r\n';
const plainToken = /[{}[\]:,]|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const escaped = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Walks the text with a stack of its own, so that deep nesting cannot overflow the program's. */
function faultOf(text: string): { at: number; expected: string } {
  const open: ('in-object' | 'in-list')[] = [];
  let state: State = 'value';
  for (let at = 0; ;) {
    while (at < text.length && blank.includes(text[at] as string)) at++;
    const isString = text[at] === '"';
    const end = isString ? endOfString(text, at) : endOfMatch(plainToken, text, at);
    const kind = isString ? 'string' : '{}[]:,'.includes(text[at] ?? '-') ? (text[at] as string) : 'other';
    const next: State | undefined = end === undefined ? undefined : follow(state, kind, open);
    if (next === undefined || end === undefined) {
      const isCut = isString && end === undefined && (state === 'value' || state === 'first-item');
      return { at, expected: isCut ? 'a string without raw line breaks, and its end' : expected[state] };
    }
    state = next;
    at = end;
  }
}

function endOfMatch(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** By a loop: a regular expression would need stack for each character of a long string. */
function endOfString(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length;) {
    const char = text[at] as string;
    if (char === '"') return at + 1;
    if (char < ' ') return undefined;
    const next = char === '\\' ? endOfMatch(escaped, text, at) : at + 1;
    if (next === undefined) return undefined;
    at = next;
  }
  return undefined;
}

/** What state a token leads to; undefined where it cannot stand. `open` is what is not closed yet. */
function follow(state: State, kind: string, open: ('in-object' | 'in-list')[]): State | undefined {
  const isClosing =
    (kind === '}' && /^(?:first-key|in-object)$/.test(state)) ||
    (kind === ']' && /^(?:first-item|in-list)$/.test(state));
  if (isClosing) {
    open.pop();
    return open.at(-1) ?? 'end';
  }
  switch (state) {
    case 'value':
    case 'first-item':
      if (kind === '{' || kind === '[') open.push(kind === '{' ? 'in-object' : 'in-list');
      if (kind === '{') return 'first-key';
      if (kind === '[') return 'first-item';
      return kind === 'string' || kind === 'other' ? (open.at(-1) ?? 'end') : undefined;
    case 'first-key':
    case 'key':
      return kind === 'string' ? 'colon' : undefined;
    case 'colon':
      return kind === ':' ? 'value' : undefined;
    case 'in-object':
      return kind === ',' ? 'key' : undefined;
    case 'in-list':
      return kind === ',' ? 'value' : undefined;
    case 'end':
      return undefined;
  }
}
