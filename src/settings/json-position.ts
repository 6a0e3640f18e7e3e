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

const token =
  /[ \t\r\n]*(?:([{}[\]:,])|("(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?))/uy;

/** Walks the text with a stack of its own, so that deep nesting cannot overflow the program's. */
function faultOf(text: string): { at: number; expected: string } {
  const open: ('in-object' | 'in-list')[] = [];
  let state: State = 'value';
  token.lastIndex = 0;
  for (let at = 0; ; at = token.lastIndex) {
    const [found, sign, key] = token.exec(text) ?? [];
    const kind = sign ?? (key === undefined ? 'other' : 'string');
    const next: State | undefined = found === undefined ? undefined : follow(state, kind, open);
    if (next !== undefined) {
      state = next;
      continue;
    }
    while (' \t\r\n'.includes(text[at] ?? '-')) at++;
    const isCut = text[at] === '"' && found === undefined && (state === 'value' || state === 'first-item');
    return { at, expected: isCut ? 'a string without raw line breaks, and its end' : expected[state] };
  }
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
