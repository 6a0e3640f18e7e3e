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
  const scan = new JsonScan(text);
  const expected = scan.run();
  const before = text.slice(0, scan.at);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: scan.at - lineStart + 1, expected };
}

/** The same in words: `a value is expected at line 1, column 2`. */
export function jsonFaultWords(text: string): string {
  const { line, column, expected } = findJsonFault(text);
  return `${expected} is expected at line ${line}, column ${column}`;
}

type State = 'value' | 'first-key' | 'key' | 'first-item' | 'after';

const literals = ['true', 'false', 'null'];
const numberForm = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const stringForm = /"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/uy;

/** Walks the text with a stack of its own, so that deep nesting cannot overflow the program's. */
class JsonScan {
  at = 0;
  readonly #text: string;
  readonly #open: ('{' | '[')[] = [];
  #state: State = 'value';

  constructor(text: string) {
    this.#text = text;
  }

  /** Runs to the first fault, leaves `at` on it, and says what was expected. */
  run(): string {
    for (;;) {
      this.#skipBlanks();
      const fault = this.#state === 'after' ? this.#afterValue() : this.#beforeValue();
      if (fault !== undefined) return fault;
    }
  }

  #skipBlanks(): void {
    while (' \t\r\n'.includes(this.#text[this.at] ?? '-')) this.at++;
  }

  #take(character: string): boolean {
    if (this.#text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  #takeForm(form: RegExp): boolean {
    form.lastIndex = this.at;
    if (!form.test(this.#text)) return false;
    this.at = form.lastIndex;
    return true;
  }

  #beforeValue(): string | undefined {
    if (this.#state === 'first-key' && this.#take('}')) return this.#close();
    if (this.#state === 'first-item' && this.#take(']')) return this.#close();
    if (this.#state === 'first-key' || this.#state === 'key') {
      const key = this.#takeKey();
      if (key !== undefined) return key;
    }
    return this.#value();
  }

  #takeKey(): string | undefined {
    if (!this.#takeForm(stringForm)) return 'a key in double quotes';
    this.#skipBlanks();
    if (!this.#take(':')) return "':' after the key";
    this.#skipBlanks();
    return undefined;
  }

  #value(): string | undefined {
    if (this.#take('{')) return this.#enter('{', 'first-key');
    if (this.#take('[')) return this.#enter('[', 'first-item');
    this.#state = 'after';
    if (this.#takeForm(stringForm) || this.#takeForm(numberForm)) return undefined;
    const literal = literals.find((word) => this.#text.startsWith(word, this.at));
    if (literal === undefined)
      return this.#text[this.at] === '"' ? 'a string without raw line breaks, and its end' : 'a value';
    this.at += literal.length;
    return undefined;
  }

  #enter(bracket: '{' | '[', state: State): undefined {
    this.#open.push(bracket);
    this.#state = state;
  }

  #close(): undefined {
    this.#open.pop();
    this.#state = 'after';
  }

  #afterValue(): string | undefined {
    const bracket = this.#open.at(-1);
    if (bracket === undefined) return 'the end of the file';
    if (this.#take(bracket === '{' ? '}' : ']')) return this.#close();
    if (!this.#take(',')) return bracket === '{' ? "',' or '}'" : "',' or ']'";
    this.#state = bracket === '{' ? 'key' : 'value';
    return undefined;
  }
}
