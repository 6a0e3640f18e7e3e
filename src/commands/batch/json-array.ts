/** One item of a JSON array, as it is written. */
export interface ArrayItem {
  text: string;
  /** Where it begins, from 1. */
  line: number;
}

/** Why a text is no JSON array. */
export interface ArrayFault {
  line: number;
  fault: string;
}

const blank = /^[ \t\r\n]*$/;
/** A longer item would not fit into memory beside the others. */
const mostCharacters = 256 * 1024 * 1024;

/** Cuts the text of a JSON array into its items while it comes; each item is still to be parsed. A fault is the last that comes. */
export async function* splitArray(texts: AsyncIterable<string>): AsyncGenerator<ArrayItem | ArrayFault, void> {
  const scan = createScan();
  let [item, line, start, count] = ['', 1, 1, 0];
  for await (const text of texts) {
    let from = scan.isInside() ? 0 : text.length;
    for (let at = 0; at < text.length; at++) {
      if (text[at] === '\n') line++;
      const found = scan.take(text[at] as string);
      if (found === undefined) continue;
      if (found.kind === 'fault') return yield { line, fault: found.fault };
      if (found.kind !== 'begin') {
        item += text.slice(from, at);
        if (found.kind === 'item' || count > 0 || !blank.test(item)) yield trimmed(item, start);
        count++;
      }
      [item, start] = ['', line];
      from = found.kind === 'end' ? text.length : at + 1;
    }
    item += text.slice(from);
    if (item.length > mostCharacters) return yield { line: start, fault: 'an item is longer than 256 MiB' };
  }
  const fault = scan.missing();
  if (fault !== undefined) yield { line, fault };
}

/** What a sign of the text means for the array. */
type Found = { kind: 'begin' | 'item' | 'end' } | { kind: 'fault'; fault: string };

interface Scan {
  take(sign: string): Found | undefined;
  isInside(): boolean;
  /** What is wrong if the text ends here. */
  missing(): string | undefined;
}

function createScan(): Scan {
  let state: 'before' | 'inside' | 'behind' = 'before';
  let depth = 0;
  let string: 'none' | 'inside' | 'escaped' = 'none';

  function outside(sign: string): Found | undefined {
    if (' \t\r\n'.includes(sign)) return undefined;
    if (state === 'behind') return { kind: 'fault', fault: 'there is more behind the end of the array' };
    if (sign !== '[') return { kind: 'fault', fault: 'a JSON array is needed: it begins with [' };
    state = 'inside';
    return { kind: 'begin' };
  }

  function inString(sign: string): undefined {
    if (string === 'escaped') string = 'inside';
    else if (sign === '\\') string = 'escaped';
    else if (sign === '"') string = 'none';
  }

  return {
    isInside: () => state === 'inside',
    missing() {
      if (state === 'behind') return undefined;
      return state === 'before' ? 'the file is empty' : 'the array does not end with ]';
    },
    take(sign) {
      if (state !== 'inside') return outside(sign);
      if (string !== 'none') return inString(sign);
      if (sign === '"') string = 'inside';
      else if (sign === '{' || sign === '[') depth++;
      else if (depth > 0 && (sign === '}' || sign === ']')) depth--;
      else if (depth === 0 && sign === ',') return { kind: 'item' };
      else if (depth === 0 && sign === ']') {
        state = 'behind';
        return { kind: 'end' };
      }
      return undefined;
    },
  };
}

function trimmed(item: string, line: number): ArrayItem {
  const before = /^[ \t\r\n]*/.exec(item)?.[0] ?? '';
  return { text: item.slice(before.length), line: line + before.split('\n').length - 1 };
}
