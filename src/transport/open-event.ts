import { createParser, type ParseError } from 'eventsource-parser';

/** A parser looks at its limit only behind what it is fed. */
const feedLength = 64 * 1024;
/** What a line costs beside its characters: the parser joins lines one by one. */
const lineCost = 64;
const blankLine = /\n\r?\n|\r\r/;

/** The event of a stream that has begun and not ended. */
export interface OpenEvent {
  /** Goes on in the event that is open, maybe over its end. */
  feed(text: string): void;
  /** The same, where the text ends with a blank line. */
  end(text: string): void;
}

/** The parser with a bound on what it holds of an event that does not end: its own counts no lines. */
export function createOpenEvent({
  maxEventBytes,
  onEvent,
  onTooLarge,
}: {
  maxEventBytes: number;
  onEvent(event: { event?: string | undefined; data: string }): void;
  onTooLarge(): void;
}): OpenEvent {
  let held = 0;
  let isTooLarge = false;
  const stop = (): void => {
    isTooLarge = true;
    onTooLarge();
  };
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent(event) {
      held = 0;
      onEvent(event);
    },
    onError({ type }: ParseError) {
      if (type === 'max-buffer-size-exceeded') stop();
    },
  });
  /** False: it held too much, and the parser takes no more. */
  const feedPiece = (text: string): boolean => {
    held += text.length + lineCost * linesIn(text);
    parser.feed(text);
    if (blankLine.test(text)) held = 0;
    if (held > maxEventBytes) stop();
    return !isTooLarge;
  };
  return {
    feed(text) {
      let at = 0;
      while (at < text.length && feedPiece(text.slice(at, at + feedLength))) at += feedLength;
    },
    end(text) {
      parser.feed(text);
      held = 0;
    },
  };
}

function linesIn(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  // Lines may end with CR alone.
  if (lines === 0) for (let at = text.indexOf('\r'); at >= 0; at = text.indexOf('\r', at + 1)) lines++;
  return lines;
}
