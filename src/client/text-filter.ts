import { createMarkdownImageSplitter, type MarkdownPiece } from '../images/markdown.ts';
import type { DivertedString } from '../scan/json-scan.ts';
import type { PictureStore } from './picture-store.ts';
import type { ResultImage } from './result.ts';

/** Takes pictures that are data URLs in the text of one block out of it, streamed or whole (deviations 1, 2 and 4). */
export interface TextFilter {
  /** The part of the text that may be kept now. */
  take(text: string): string;
  /** What was held back, when the block is over. */
  flush(): string;
}

interface OpenPicture {
  mimeType: string;
  /** The beginning of its Base64, or the placeholder of all of it: the scanner may have taken it out of its event. */
  head: string;
  taken: DivertedString | undefined;
}

/** Longer than any placeholder. */
const headLength = 256;

/** Where the work on pictures goes, and the pictures: those that were cut are dropped. */
interface Found {
  waiting: (() => Promise<void>)[];
  images: ResultImage[];
}

/** A data URL may span deltas, never blocks. */
export function createTextFilter(store: PictureStore, candidate: number, { waiting, images }: Found): TextFilter {
  const splitter = createMarkdownImageSplitter();
  let open: OpenPicture | undefined;

  async function add(base64: string): Promise<void> {
    if (!open) return;
    open.head += base64;
    if (!open.taken && open.head.length < headLength) return;
    open.taken ??= await store.open();
    await open.taken.sink.write(Buffer.from(open.head, 'latin1'));
    open.head = '';
  }

  async function close(): Promise<void> {
    if (!open) return;
    const { mimeType, head, taken } = open;
    open = undefined;
    await taken?.sink.end();
    const blob = await store.resolve(taken?.placeholder ?? head);
    if (blob) images.push({ declaredType: mimeType, candidate, draft: false, blob });
  }

  async function keep(piece: MarkdownPiece): Promise<void> {
    if (piece.type === 'image-start') open = { mimeType: piece.mimeType, head: '', taken: undefined };
    else if (piece.type === 'image-end') await close();
    else if (piece.type === 'base64') await add(piece.text);
  }

  function textOf(pieces: readonly MarkdownPiece[]): string {
    let text = '';
    for (const piece of pieces) {
      if (piece.type === 'text') text += piece.text;
      else waiting.push(() => keep(piece));
    }
    return text;
  }

  return { take: (text) => textOf(splitter.feed(text)), flush: () => textOf(splitter.finish()) };
}
