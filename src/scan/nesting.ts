/** What a string value is to the scanner: nothing special, Base64 as a whole, or prose that may hold a data URL. */
export type ValueKind = 'plain' | 'data' | 'text';

interface Frame {
  array: boolean;
  /** The key under which this container stands in its parent object. */
  name: string | undefined;
  /** The key whose value comes next, in an object; only keys that matter here. */
  key: string | undefined;
  expectsKey: boolean;
  /** Below a tool's payload, which stays whole. */
  foreign: boolean;
  inContent: boolean;
}

const blobKeys = new Set(['inlineData', 'inline_data', 'source']);
const textKeys = new Set(['text', 'content']);
const contentKeys = new Set(['content', 'content_block']);
const toolKeys = new Set(
  'args arguments input functionCall function_call functionResponse function_response toolCall tool_call toolResponse tool_response'.split(
    ' ',
  ),
);

const knownKeys = new Set(['data', ...blobKeys, ...textKeys, ...contentKeys, ...toolKeys]);

/** No key that the scanner knows is longer. */
export const longestKey = Math.max(...[...knownKeys].map((key) => key.length));

/** Where in the JSON a value stands: the containers around it and their keys. */
export class Nesting {
  readonly #frames: Frame[] = [];
  readonly #maxDepth: number;
  /** Levels beyond the deepest that is known by its frame: no string in them is a picture. */
  #beyond = 0;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  get expectsKey(): boolean {
    return this.#top?.expectsKey === true;
  }

  setKey(key: string | undefined): void {
    const top = this.#top;
    if (!top) return;
    top.key = key !== undefined && knownKeys.has(key) ? key : undefined;
    top.expectsKey = false;
  }

  comma(): void {
    const top = this.#top;
    if (!top) return;
    top.key = undefined;
    top.expectsKey = !top.array;
  }

  open(array: boolean): void {
    if (this.#frames.length >= this.#maxDepth) {
      this.#beyond++;
      return;
    }
    const parent = this.#frames.at(-1);
    const name = parent?.key;
    const isContent = name !== undefined && contentKeys.has(name);
    // Blocks inside a block's content are results of server tools: a later turn wants them back as they came.
    const foreign =
      parent?.foreign === true ||
      (name !== undefined && toolKeys.has(name)) ||
      (isContent && parent?.inContent === true);
    const inContent = isContent || parent?.inContent === true;
    this.#frames.push({ array, name, key: undefined, expectsKey: !array, foreign, inContent });
  }

  close(): void {
    if (this.#beyond > 0) this.#beyond--;
    else this.#frames.pop();
  }

  reset(): void {
    this.#frames.length = 0;
    this.#beyond = 0;
  }

  get #top(): Frame | undefined {
    return this.#beyond > 0 ? undefined : this.#frames.at(-1);
  }

  /** What the string that begins here is. */
  get valueKind(): ValueKind {
    const top = this.#top;
    if (!top || top.foreign || top.key === undefined) return 'plain';
    if (top.key === 'data' && top.name !== undefined && blobKeys.has(top.name)) return 'data';
    // A reply in an array is a stream's chunks, whose texts are joined: a data URL may go on in the next one.
    const whole = this.#frames[0]?.array === false;
    return whole && textKeys.has(top.key) ? 'text' : 'plain';
  }
}
