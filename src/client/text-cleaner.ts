import { createMarkdownImageSplitter, type MarkdownImageSplitter, type MarkdownPiece } from '../images/markdown.ts';
import type { DivertedString } from '../scan/json-scan.ts';
import type { PictureStore } from './picture-store.ts';
import type { ResultImage } from './result.ts';

/** Takes pictures that stand as data URLs in streamed text out of it while it streams (deviation 2). */
export interface TextCleaner {
  take(text: string, block: number): string;
  flush(block: number): string;
  /** Writes what was taken out since the last call; a picture that was cut is dropped. Throws not-written. */
  store(): Promise<void>;
  /** The pictures so far. */
  readonly images: ResultImage[];
}

interface OpenPicture {
  mimeType: string;
  /** The beginning of its Base64, or the placeholder of all of it: the scanner may have taken it out of its event. */
  head: string;
  taken: DivertedString | undefined;
}

/** Longer than any placeholder. */
const headLength = 256;

/** One cleaner serves one reply: a data URL may span deltas, never blocks. */
export function createTextCleaner(blobs: PictureStore): TextCleaner {
  const splitters = new Map<number, MarkdownImageSplitter>();
  const taken: Exclude<MarkdownPiece, { type: 'text' }>[] = [];
  const images: ResultImage[] = [];
  let open: OpenPicture | undefined;

  function textOf(pieces: readonly MarkdownPiece[]): string {
    let text = '';
    for (const piece of pieces) {
      if (piece.type === 'text') text += piece.text;
      else taken.push(piece);
    }
    return text;
  }

  async function close(): Promise<void> {
    if (!open) return;
    const { mimeType, head, taken: rest } = open;
    open = undefined;
    await rest?.sink.end();
    const blob = await blobs.resolve(rest?.placeholder ?? head);
    if (blob) images.push({ declaredType: mimeType, candidate: 0, draft: false, blob });
  }

  async function add(picture: OpenPicture, base64: string): Promise<void> {
    picture.head += base64;
    if (!picture.taken && picture.head.length < headLength) return;
    picture.taken ??= await blobs.open();
    await picture.taken.sink.write(Buffer.from(picture.head, 'latin1'));
    picture.head = '';
  }

  return {
    images,
    take(text, block) {
      const splitter = splitters.get(block) ?? createMarkdownImageSplitter();
      splitters.set(block, splitter);
      return textOf(splitter.feed(text));
    },
    flush(block) {
      const splitter = splitters.get(block);
      splitters.delete(block);
      return splitter ? textOf(splitter.finish()) : '';
    },
    async store() {
      for (const piece of taken.splice(0)) {
        if (piece.type === 'image-start') open = { mimeType: piece.mimeType, head: '', taken: undefined };
        else if (piece.type === 'image-end') await close();
        else if (open) await add(open, piece.text);
      }
    },
  };
}
