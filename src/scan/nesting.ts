/** The kind of a string value: any string, one that is Base64 as a whole, or prose that can contain a data URL. */
export type ValueKind = 'plain' | 'data' | 'text';

interface Frame {
  array: boolean;
  /** The key of this container in its parent object. */
  name: string | undefined;
  /** The key of the next value, in an object; only a key that the scanner knows. */
  key: string | undefined;
  expectsKey: boolean;
  /** In the payload of a tool, which is not changed. */
  inTool: boolean;
  inContent: boolean;
}

const blobKeys = new Set(['inlineData', 'inline_data', 'source']);
const textKeys = new Set(['text', 'content']);
/** Strings that are a picture in the completions format: its Base64, and the URL of `image_url`. */
const wholeKey = 'b64_json';
const urlHolder = 'image_url';
const contentKeys = new Set(['content', 'content_block']);
const toolKeys = new Set(
  'args arguments input functionCall function_call functionResponse function_response toolCall tool_call toolResponse tool_response'.split(
    ' ',
  ),
);

const knownKeys = new Set(['data', 'url', wholeKey, urlHolder, ...blobKeys, ...textKeys, ...contentKeys, ...toolKeys]);

/** Length of the longest key that the scanner knows. */
export const longestKey = Math.max(...[...knownKeys].map((key) => key.length));

/** The position of a value in the JSON: the containers around it and their keys. */
export class Nesting {
  readonly #frames: Frame[] = [];
  readonly #maxDepth: number;
  /** Levels below the deepest frame: no string in them is a picture. */
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
    // Blocks inside a block's content are results of server tools, which a later turn has to send back unchanged.
    const inTool =
      parent?.inTool === true ||
      (name !== undefined && toolKeys.has(name)) ||
      (isContent && parent?.inContent === true);
    const inContent = isContent || parent?.inContent === true;
    this.#frames.push({ array, name, key: undefined, expectsKey: !array, inTool, inContent });
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

  /** The kind of the string that begins here. */
  get valueKind(): ValueKind {
    const top = this.#top;
    if (!top || top.inTool || top.key === undefined) return 'plain';
    if (top.key === wholeKey) return 'data';
    if (top.key === 'data' && top.name !== undefined && blobKeys.has(top.name)) return 'data';
    // A reply in an array is the chunks of a stream, whose texts are joined: a data URL can continue in the next one.
    const whole = this.#frames[0]?.array === false;
    const isUrl = top.key === urlHolder || (top.key === 'url' && top.name === urlHolder);
    return whole && (isUrl || textKeys.has(top.key)) ? 'text' : 'plain';
  }
}
