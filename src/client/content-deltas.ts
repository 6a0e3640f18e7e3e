import type { ContentReply } from '../formats/content/types.ts';
import type { StreamDelta } from '../formats/messages/types.ts';
import { createMarkdownImageSplitter, type MarkdownPiece } from '../images/markdown.ts';

/** Says what the pieces of a streamed content reply mean to a reader: the same deltas as of a message. */
export interface ContentDeltas {
  /** Those of one piece: text and thoughts of the first candidate, without the pictures that stand in the text. */
  take(piece: ContentReply): StreamDelta[];
  /** What was held back, and how the reply ended, where it did. */
  end(reply: ContentReply | undefined, isEnded: boolean): StreamDelta[];
}

/** One serves one reply. Text and thoughts that follow each other are blocks of their own; calls are told by the result. */
export function createContentDeltas(): ContentDeltas {
  const splitter = createMarkdownImageSplitter();
  let candidate: number | undefined;
  let isBegun = false;
  let open: 'text' | 'thinking' | 'code' | undefined;
  let block = -1;

  function close(): StreamDelta[] {
    if (open === undefined) return [];
    open = undefined;
    return [{ type: 'block-stop', block }];
  }

  function show(type: 'text' | 'thinking' | 'code', text: string): StreamDelta[] {
    if (text === '') return [];
    const begun: StreamDelta[] = [];
    if (open !== type) {
      begun.push(...close(), { type: 'block-start', block: ++block, blockType: type });
      open = type;
    }
    return [...begun, { type: type === 'thinking' ? type : 'text', text, block }];
  }

  return {
    take({ candidates, responseId, modelVersion }) {
      const deltas: StreamDelta[] = isBegun ? [] : [{ type: 'start', id: responseId, model: modelVersion }];
      isBegun = true;
      candidate ??= candidates[0]?.index;
      const own = candidates.filter(({ index }) => index === candidate);
      for (const part of own.flatMap(({ parts }) => parts)) {
        if (part.kind === 'code')
          deltas.push(...show('text', textOf(splitter.finish())), ...show('code', part.markdown));
        if (part.kind !== 'text') continue;
        if (part.thought) deltas.push(...show('thinking', part.text));
        else deltas.push(...show('text', textOf(splitter.feed(part.text))));
      }
      return deltas;
    },
    end(reply, isEnded) {
      const held = show('text', textOf(splitter.finish()));
      if (!isEnded) return held;
      const stopReason = reply?.candidates[0]?.finishReason ?? reply?.blockReason;
      return [...held, ...close(), { type: 'stop', stopReason }, { type: 'end' }];
    },
  };
}

function textOf(pieces: readonly MarkdownPiece[]): string {
  return pieces.map((piece) => (piece.type === 'text' ? piece.text : '')).join('');
}
