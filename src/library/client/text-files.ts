import type { DivertedString } from '../scan/json-scan.ts';
import type { ImageStore } from './image-store.ts';
import type { ResultImage } from './result.ts';
import { type HeadMatch, matchDataUrl, matchLinkTarget, matchMarkdownImage } from '../scan/data-url.ts';
import { isBase64Byte } from '../scan/json-bytes.ts';

/** Takes files that are data URLs in the text of one block out of it, streamed or whole (deviations 1, 2 and 4). */
export interface TextFilter {
  /** The part of the text that may be kept now. */
  take(text: string): string;
  /** Returns the text that was held back, at the end of the block. */
  flush(): string;
}

interface OpenFile {
  mimeType: string;
  /** The beginning of its Base64, or the placeholder of all of it: the scanner may have taken it out of its event. */
  head: string;
  taken: DivertedString | undefined;
}

/** Longer than any placeholder. */
const headLength = 256;

/** Work on files in the order in which they came, and the files; files that were cut are dropped. */
interface FoundFiles {
  waiting: (() => Promise<void>)[];
  files: ResultImage[];
}

/** `![`, `](` or `data:`, or the beginning of one at the end of the text. */
const fileBeginning = /!(?:\[|$)|\](?:\(|$)|d(?:$|a(?:$|t(?:$|a(?:$|:))))/i;

/** Whether a text can hold the beginning of a file: a filter takes any other text unchanged. */
export function mayBeginFile(text: string): boolean {
  return fileBeginning.test(text);
}

/** A data URL may span deltas, never blocks. */
export function createTextFilter(store: ImageStore, candidate: number, { waiting, files }: FoundFiles): TextFilter {
  const splitter = new DataUrlSplitter();
  let open: OpenFile | undefined;

  async function addPiece(base64: string): Promise<void> {
    if (!open) return;
    open.head += base64;
    if (!open.taken && open.head.length < headLength) return;
    open.taken ??= await store.open();
    await open.taken.sink.write(Buffer.from(open.head, 'latin1'));
    open.head = '';
  }

  async function closeFile(): Promise<void> {
    if (!open) return;
    const { mimeType, head, taken } = open;
    open = undefined;
    await taken?.sink.end();
    const blob = await store.resolve(taken?.placeholder ?? head);
    if (blob) files.push({ declaredType: mimeType, candidate, draft: false, blob });
  }

  async function keepPiece(piece: TextPiece): Promise<void> {
    if (piece.type === 'file-start') open = { mimeType: piece.mimeType, head: '', taken: undefined };
    else if (piece.type === 'file-end') await closeFile();
    else if (piece.type === 'base64') await addPiece(piece.text);
  }

  function joinTextPieces(pieces: readonly TextPiece[]): string {
    let text = '';
    for (const piece of pieces) {
      if (piece.type === 'text') text += piece.text;
      else waiting.push(() => keepPiece(piece));
    }
    return text;
  }

  return { take: (text) => joinTextPieces(splitter.feed(text)), flush: () => joinTextPieces(splitter.finish()) };
}

/** A piece of text that can contain files as data URLs (deviations 1, 2 and 4). */
export type TextPiece =
  | { type: 'text'; text: string }
  | { type: 'file-start'; mimeType: string }
  | { type: 'base64'; text: string }
  | { type: 'file-end' };

const longestTitle = 300;

/**
 * Separates files from a text that arrives in pieces of any length. `![…](data:…)` and an image's bare URL go out of it; of
 * `[name](data:…)` the `[name]` stays. It holds back only text that can still become a data URL; Base64 is never `text`.
 */
export class DataUrlSplitter {
  #state: 'text' | 'base64' | 'closing' = 'text';
  #undecided = '';
  /** Inside `![…](…)` or `[…](…)`, which end with `)`; a bare URL ends with its Base64. */
  #inParens = false;
  #padded = false;
  #pieces: TextPiece[] = [];

  feed(text: string): TextPiece[] {
    this.#pieces = [];
    this.#split(this.#undecided + text, false);
    return this.#pieces;
  }

  /** Returns the text that was held back at the end. A file link without its `)` was cut and has no file-end. */
  finish(): TextPiece[] {
    this.#pieces = [];
    this.#split(this.#undecided, true);
    const ended = this.#state === 'closing' || (this.#state === 'base64' && !this.#inParens);
    if (ended) this.#pieces.push({ type: 'file-end' });
    this.#pushText(this.#undecided);
    this.#undecided = '';
    this.#state = 'text';
    return this.#pieces;
  }

  #split(text: string, last: boolean): void {
    let at = 0;
    while (at < text.length) {
      const next = this.#step(text, at, last);
      if (next === undefined) break;
      at = next;
    }
    this.#undecided = text.slice(at);
  }

  /** Advances by one token; undefined if more text is needed. */
  #step(text: string, at: number, last: boolean): number | undefined {
    if (this.#state === 'base64') return this.#base64(text, at);
    return this.#state === 'closing' ? this.#closing(text, at) : this.#text(text, at, last);
  }

  #pushText(text: string): void {
    if (text !== '') this.#pieces.push({ type: 'text', text });
  }

  #text(text: string, from: number, last: boolean): number | undefined {
    let at = from;
    for (; at < text.length; at++) {
      const match = matchAt(text, at);
      if (match.kind === 'no' || (match.kind === 'partial' && last)) continue;
      const isLink = text[at] === ']';
      this.#pushText(text.slice(from, match.kind === 'match' && isLink ? at + 1 : at));
      if (match.kind === 'partial') return at === from ? undefined : at;
      this.#pieces.push({ type: 'file-start', mimeType: match.mimeType });
      this.#state = 'base64';
      this.#inParens = isLink || text[at] === '!';
      this.#padded = false;
      return match.end;
    }
    this.#pushText(text.slice(from));
    return text.length;
  }

  #base64(text: string, from: number): number {
    let at = from;
    while (at < text.length && this.#isBase64(text.charCodeAt(at))) at++;
    if (at > from) this.#pieces.push({ type: 'base64', text: text.slice(from, at) });
    if (at < text.length) {
      if (this.#inParens && '\r\n'.includes(text.charAt(at))) return at + 1;
      this.#state = this.#inParens ? 'closing' : 'text';
      if (!this.#inParens) this.#pieces.push({ type: 'file-end' });
    }
    return at;
  }

  #isBase64(code: number): boolean {
    if (code === 0x3d) this.#padded = true;
    else if (this.#padded || !isBase64Byte(code)) return false;
    return true;
  }

  /** Skips an optional title and the `)` after the Base64 of an image or a link. Without `)` the rest is text again. */
  #closing(text: string, at: number): number | undefined {
    const rest = text.slice(at, at + longestTitle);
    const first = rest.trimStart()[0];
    const canClose = first === undefined || '>"\'()'.includes(first);
    const close = canClose ? rest.indexOf(')') : -1;
    if (canClose && close < 0 && rest.length < longestTitle) return undefined;
    this.#pieces.push({ type: 'file-end' });
    this.#state = 'text';
    return at + close + 1;
  }
}

function matchAt(text: string, at: number): HeadMatch {
  const code = text.charCodeAt(at);
  if (code === 0x21) return matchMarkdownImage(text, at);
  if (code === 0x5d) return matchLinkTarget(text, at);
  return code === 0x64 || code === 0x44 ? matchDataUrl(text, at) : { kind: 'no' };
}
