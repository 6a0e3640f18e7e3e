/** The place of the fault in a JSON text, counted from 1, and the token that is expected there. */
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
  const { at, expected } = locateFault(text);
  const lines = text.slice(0, at).split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1, expected };
}

/** The fault of a JSON text in words: `a value is expected at line 1, column 2`. */
export function jsonFaultWords(text: string): string {
  const { line, column, expected } = findJsonFault(text);
  return `${expected} is expected at line ${line}, column ${column}`;
}

type ParserState = 'value' | 'first-key' | 'key' | 'colon' | 'first-item' | 'in-object' | 'in-list' | 'end';

/** The words for the token that a state expects, and the next states after tokens that are neither values nor ends. */
const states: { [state in ParserState]: { expected: string; next?: Readonly<Record<string, ParserState>> } } = {
  value: { expected: 'a value' },
  'first-key': { expected: 'a key in double quotes', next: { string: 'colon' } },
  key: { expected: 'a key in double quotes', next: { string: 'colon' } },
  colon: { expected: "':' after the key", next: { ':': 'value' } },
  'first-item': { expected: 'a value' },
  'in-object': { expected: "',' or '}'", next: { ',': 'key' } },
  'in-list': { expected: "',' or ']'", next: { ',': 'value' } },
  end: { expected: 'the end of the file' },
};

/** The states in which an object or a list can end. */
const ends: { [state in ParserState]?: string } = {
  'first-key': '}',
  'in-object': '}',
  'first-item': ']',
  'in-list': ']',
};

const blank = ' \t\r\n';
const plainToken = /[{}[\]:,]|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const escaped = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Walks the text with its own stack, so that deep nesting cannot overflow that of the program. */
function locateFault(text: string): { at: number; expected: string } {
  const open: ('in-object' | 'in-list')[] = [];
  let state: ParserState = 'value';
  for (let at = 0; ;) {
    while (at < text.length && blank.includes(text[at] as string)) at++;
    const isString = text[at] === '"';
    const end = isString ? skipStringToken(text, at) : findMatchEnd(plainToken, text, at);
    const token = isString ? 'string' : '{}[]:,'.includes(text[at] ?? '-') ? (text[at] as string) : 'other';
    const next: ParserState | undefined = end === undefined ? undefined : nextParserState(state, token, open);
    if (next === undefined || end === undefined) {
      const isCut = isString && end === undefined && (state === 'value' || state === 'first-item');
      return { at, expected: isCut ? 'a string without raw line breaks, and its end' : states[state].expected };
    }
    state = next;
    at = end;
  }
}

/** The state after a token; undefined if the token is wrong. `open` are the objects and lists around it. */
function nextParserState(
  state: ParserState,
  token: string,
  open: ('in-object' | 'in-list')[],
): ParserState | undefined {
  if (token === ends[state]) {
    open.pop();
    return open.at(-1) ?? 'end';
  }
  if (state !== 'value' && state !== 'first-item') return states[state].next?.[token];
  if (token === 'string' || token === 'other') return open.at(-1) ?? 'end';
  if (token !== '{' && token !== '[') return undefined;
  open.push(token === '{' ? 'in-object' : 'in-list');
  return token === '{' ? 'first-key' : 'first-item';
}

function findMatchEnd(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** Skips a string with a loop: a regular expression would need stack for each character of a long string. */
function skipStringToken(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length;) {
    const char = text[at] as string;
    if (char === '"') return at + 1;
    if (char < ' ') return undefined;
    const next = char === '\\' ? findMatchEnd(escaped, text, at) : at + 1;
    if (next === undefined) return undefined;
    at = next;
  }
  return undefined;
}
