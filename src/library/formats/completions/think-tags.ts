const [opening, closing] = ['<think>', '</think>'];

/** A piece of a text whose head may be thinking in tags. */
export interface TaggedPiece {
  type: 'text' | 'thinking';
  text: string;
}

/** Tells the thinking in the tags at the head of a text from the answer behind it (deviation 79). */
export interface ThinkTags {
  /** Adds a piece of the text; returns the pieces whose kind is certain. */
  read(piece: string): TaggedPiece[];
  /** Returns the text that was held back. `isAnswered`: the text is whole, so an open tag was one of its words. */
  end(isAnswered: boolean): TaggedPiece[];
  /** Characters that are kept until the end. */
  readonly kept: number;
}

/** Creates a reader of tags. Pieces can be cut anywhere: a text that may begin a tag is held back. */
export function createThinkTags(): ThinkTags {
  let place: 'head' | 'thinking' | 'behind' | 'text' = 'head';
  let held = '';
  /** All text from the open tag on: it is the answer if the tag is never closed. */
  let begun = '';

  function read(piece: string): TaggedPiece[] {
    if (piece === '') return [];
    if (place === 'text') return [{ type: 'text', text: piece }];
    const all = held + piece;
    if (place === 'head') return readHead(all);
    if (place === 'thinking') return readThinking(all, piece);
    held = all.replace(/^[\r\n]+/, '');
    if (held === '') return [];
    return release('text');
  }

  function readHead(all: string): TaggedPiece[] {
    const head = all.trimStart();
    const canBegin = all.length - head.length <= maxBlanks && (head.startsWith(opening) || opening.startsWith(head));
    held = all;
    if (!canBegin) return release('text');
    if (head.length < opening.length) return [];
    place = 'thinking';
    held = '';
    begun = all.slice(0, all.indexOf(opening) + opening.length);
    return read(head.slice(opening.length));
  }

  function readThinking(all: string, piece: string): TaggedPiece[] {
    const at = all.indexOf(closing);
    if (at < 0) {
      begun += piece;
      held = beginningOfTag(all);
      const text = all.slice(0, all.length - held.length);
      return text === '' ? [] : [{ type: 'thinking', text }];
    }
    place = 'behind';
    held = '';
    begun = '';
    const thinking: TaggedPiece[] = at === 0 ? [] : [{ type: 'thinking', text: all.slice(0, at) }];
    return [...thinking, ...read(all.slice(at + closing.length))];
  }

  function release(type: TaggedPiece['type']): TaggedPiece[] {
    const text = held;
    held = '';
    if (type === 'text') place = 'text';
    return text === '' ? [] : [{ type, text }];
  }

  return {
    read,
    end(isAnswered) {
      if (place !== 'thinking') return release('text');
      const thinking = release('thinking');
      if (!isAnswered) return thinking;
      const text = begun;
      begun = '';
      place = 'text';
      return [...thinking, { type: 'text', text }];
    },
    get kept() {
      return held.length + begun.length;
    },
  };
}

/** Blanks before the tag are held back up to this many. */
const maxBlanks = 64;

/** The end of a text that may be the beginning of the closing tag. */
function beginningOfTag(text: string): string {
  for (let length = Math.min(closing.length - 1, text.length); length > 0; length--)
    if (text.endsWith(closing.slice(0, length))) return closing.slice(0, length);
  return '';
}
