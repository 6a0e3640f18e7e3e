import type { TextRun } from '../events.ts';

const data = 'data: {"type":"content_block_delta","index":';
const heads = [`event: content_block_delta\n${data}`, data];
const body = ',"delta":{"type":"text_delta","text":"';
/** More digits than any index of a block has. */
const longestIndex = 6;

/**
 * Text deltas in their usual spelling, read in place in the stream, without making an event of each: a stream is
 * made of these. `end` is after the last one's blank line. Undefined for anything else, which the parsers decide on.
 */
export function readTextRun(
  stream: string,
  at: number,
  most: number,
): { value: TextRun; events: number; end: number } | undefined {
  const head = heads.find((known) => stream.startsWith(known, at));
  if (head === undefined) return undefined;
  const comma = stream.indexOf(',', at + head.length);
  const digits = stream.slice(at + head.length, comma);
  if (digits.length > longestIndex || !/^(?:0|[1-9]\d*)$/.test(digits)) return undefined;
  const opening = head + digits + body;
  let [text, events, end] = ['', 0, at];
  while (events < most && stream.startsWith(opening, end)) {
    const next = stream.indexOf('\n\n', end);
    const piece = next < 0 ? undefined : readPiece(stream, end + opening.length, next);
    if (piece === undefined) break;
    text += piece;
    events++;
    end = next + 2;
  }
  return events === 0 ? undefined : { value: { index: Number(digits), text }, events, end };
}

/** The string that begins after its quote, where `"}}` follows up to the end of the line; gateways pad with spaces. */
function readPiece(stream: string, start: number, lineEnd: number): string | undefined {
  let last = lineEnd - 2;
  while (stream.charCodeAt(last) === 0x20) last--;
  if (last <= start || !stream.endsWith('}', lineEnd) || !stream.startsWith('"}', last - 1)) return undefined;
  const text = stream.slice(start, last - 1);
  return isPlain(text) ? text : parseString(text);
}

function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x22 || code === 0x5c) return false;
  }
  return true;
}

/** Undefined where it is not one string. */
function parseString(text: string): string | undefined {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return undefined;
  }
}
