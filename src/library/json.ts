/** Any value of JSON. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object. Objects made from foreign input have no prototype worth trusting: pick known keys, never merge deeply. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/** Narrows a parsed value to an object (not null, not an array). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Levels of brackets in a value that comes from outside. Code that walks a value recurses: the stack holds some thousands. */
const maxLevels = 200;

/**
 * Parses JSON of a reply. A number that would be Infinity, and a value nested deeper than `maxLevels`, become their own text:
 * nothing is lost, and code that walks the value does not exhaust the stack. Throws SyntaxError.
 */
export function parseFlat(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // Walking the value takes a sixth of the time of a search through its text.
  return isFlat(value) ? value : JSON.parse(withHugeAsText(withDeepAsText(text)));
}

/** Whether a value has no number that is too large for a JavaScript number, and at most this number of levels. */
function isFlat(value: unknown, levels = maxLevels): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (!isFlat(item, levels - 1)) return false;
    return true;
  }
  for (const key in value) if (!isFlat((value as JsonObject)[key], levels - 1)) return false;
  return true;
}

const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Makes a string of each number that would become Infinity: JSON.stringify would write null for it. */
function withHugeAsText(json: string): string {
  return json.replaceAll(stringOrNumber, (found) =>
    found.startsWith('"') || Number.isFinite(Number(found)) ? found : `"${found}"`,
  );
}

/** The words for JSON that is too deep. */
export const tooDeepWords = `nested deeper than ${maxLevels} levels`;

/**
 * Calls `see` for each bracket and comma outside of the strings of a JSON text, from a position on, until it returns true. The text
 * need not be whole.
 */
export function eachMark(json: string, see: (mark: string, at: number) => boolean | void, from = 0): void {
  for (let at = from; at < json.length; at++) {
    const mark = json[at] as string;
    if (mark === '"') at = findClosingQuote(json, at + 1);
    else if ((mark === ',' || levelsOf(mark) !== 0) && see(mark, at) === true) return;
  }
}

/** 1 for a bracket that opens, -1 for one that closes, 0 for another character. */
export function levelsOf(mark: string): number {
  if (mark === '{' || mark === '[') return 1;
  return mark === '}' || mark === ']' ? -1 : 0;
}

/** The position of the closing quote of a string in a JSON text; its content begins at `start`. `indexOf` is fast, and strings can be long. */
function findClosingQuote(json: string, start: number): number {
  for (let end = json.indexOf('"', start); end >= 0; end = json.indexOf('"', end + 1)) {
    let before = end;
    while (before > start && json[before - 1] === '\\') before--;
    if ((end - before) % 2 === 0) return end;
  }
  return json.length;
}

/** Whether a text is nested deeper than `maxLevels`, before it is parsed: a value of millions of levels takes minutes and all memory. */
export function isTooDeep(json: string): boolean {
  if (json.length <= maxLevels) return false;
  let level = 0;
  eachMark(json, (mark) => {
    level += levelsOf(mark);
    return level > maxLevels;
  });
  return level > maxLevels;
}

function withDeepAsText(json: string): string {
  let [flat, copied, start, level] = ['', 0, 0, 0];
  eachMark(json, (mark, at) => {
    const step = levelsOf(mark);
    level += step;
    if (step > 0 && level === maxLevels + 1) start = at;
    if (step >= 0 || level !== maxLevels) return;
    flat += json.slice(copied, start) + JSON.stringify(json.slice(start, at + 1));
    copied = at + 1;
  });
  return copied === 0 ? json : flat + json.slice(copied);
}

/** The object of a JSON text; an empty one if the text is anything else. */
export function parseObject(text: string): JsonObject {
  try {
    const value = parseFlat(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** About as many bytes of memory as a value of JSON takes: a list of empty lists takes ten times its text. */
export const valueCost = 64;

/** The highest possible number of values in a JSON text: its brackets and commas outside of strings. */
export function countValues(text: string): number {
  let values = 1;
  eachMark(text, (mark) => {
    if (levelsOf(mark) >= 0) values++;
  });
  return values;
}

/** A field of a foreign object under its name in camelCase or snake_case; null is absent (deviations 6 and 9). `name` is camelCase. */
export function field(object: JsonObject, name: string): JsonValue | undefined {
  return object[name] ?? object[knownSnakeCase(name)] ?? undefined;
}

/** The field, if it is a string. */
export function textField(object: JsonObject, name: string): string | undefined {
  const value = field(object, name);
  return typeof value === 'string' ? value : undefined;
}

/** The field, if it is a number. */
export function numberField(object: JsonObject, name: string): number | undefined {
  const value = field(object, name);
  return typeof value === 'number' ? value : undefined;
}

/** The field, if it is an object. */
export function objectField(object: JsonObject, name: string): JsonObject | undefined {
  const value = field(object, name);
  return isObject(value) ? value : undefined;
}

/** The field, if it is an array. */
export function listField(object: JsonObject, name: string): JsonValue[] | undefined {
  const value = field(object, name);
  return Array.isArray(value) ? value : undefined;
}

/** The spellings are kept: the names are few, and every reply is searched for them. */
const snakeCased = new Map<string, string>();

function knownSnakeCase(name: string): string {
  const known = snakeCased.get(name);
  if (known !== undefined) return known;
  const made = toSnakeCase(name);
  snakeCased.set(name, made);
  return made;
}

/** `aspect_ratio` of `aspectRatio`. */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
