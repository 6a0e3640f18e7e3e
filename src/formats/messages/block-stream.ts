import { GatewayError } from '../../errors.ts';
import { isObject, type JsonObject } from '../../json.ts';
import { openBlock, type OpenBlock } from './reply.ts';
import type { StreamDelta } from './types.ts';

/** Changes streamed text before it is kept or shown: takes pictures out of it, that memory does not grow with them. */
export interface TextFilter {
  /** The part of the text that may be kept now. */
  take(text: string, block: number): string;
  /** What was held back of a block that is over. */
  flush(block: number): string;
}

/** The blocks of a reply while they are streamed. */
export interface BlockStream {
  readonly list: OpenBlock[];
  /** Where in the list the block of a wire index stands, while it is open. */
  readonly open: Map<number, number>;
  readonly filter: TextFilter | undefined;
}

/** content_block_start; some blocks arrive whole in it (deviation 5). */
export function startBlock(blocks: BlockStream, payload: JsonObject): StreamDelta[] {
  const start = isObject(payload['content_block']) ? payload['content_block'] : {};
  return beginBlock(blocks, payload['index'], start);
}

/** content_block_delta; kinds that are not known mean nothing. Throws bad-reply for a delta that cannot be read. */
export function addDelta(blocks: BlockStream, payload: JsonObject): StreamDelta[] {
  const delta = payload['delta'];
  if (!isObject(delta) || typeof delta['type'] !== 'string') throw badStream('a delta of the stream has no type');
  const { type } = delta;
  if (type === 'text_delta') return addText(blocks, payload['index'], { type: 'text', text: textIn(delta, 'text') });
  if (type === 'thinking_delta')
    return addText(blocks, payload['index'], { type: 'thinking', text: textIn(delta, 'thinking') });
  const json = type === 'input_json_delta' ? textIn(delta, 'partial_json') : '';
  const block = positionOf(blocks, payload['index']);
  const open = block === undefined ? undefined : blocks.list[block];
  if (block === undefined || !open) return [];
  if (type === 'input_json_delta') return addInput(open, json, block);
  if (type === 'signature_delta' && typeof delta['signature'] === 'string') open.signature = delta['signature'];
  if (type === 'citations_delta' && isObject(delta['citation'])) open.citations.push(delta['citation']);
  return [];
}

function textIn(delta: JsonObject, name: string): string {
  const text = delta[name] ?? '';
  if (typeof text !== 'string') throw badStream(`the ${name} of a delta of the stream is not text`);
  return text;
}

/** content_block_stop. */
export function stopBlock(blocks: BlockStream, payload: JsonObject): StreamDelta[] {
  const block = positionOf(blocks, payload['index']);
  if (block === undefined) return [];
  for (const [index, position] of blocks.open) if (position === block) blocks.open.delete(index);
  return [...flushText(blocks, block), { type: 'block-stop', block }];
}

function beginBlock(blocks: BlockStream, index: unknown, start: JsonObject): StreamDelta[] {
  const opened = openBlock(start);
  // A block that nobody stopped: what the filter held of it goes first.
  const before = typeof index === 'number' ? blocks.open.get(index) : undefined;
  const held = before === undefined ? [] : flushText(blocks, before);
  const block = blocks.list.push(opened) - 1;
  if (opened.type === 'text') opened.text = blocks.filter?.take(opened.text, block) ?? opened.text;
  blocks.open.set(typeof index === 'number' ? index : -1 - block, block);
  const begun: StreamDelta = { type: 'block-start', block, blockType: opened.type };
  if (opened.text === '') return [...held, begun];
  return [...held, begun, { type: opened.type === 'thinking' ? 'thinking' : 'text', text: opened.text, block }];
}

/** Adds shown text. Where the block never began, or is of another kind, a block of the delta's own kind begins. */
export function addText(
  blocks: BlockStream,
  index: unknown,
  { type, text }: { type: 'text' | 'thinking'; text: string },
): StreamDelta[] {
  if (text === '') return [];
  let block = positionOf(blocks, index);
  let open = block === undefined ? undefined : blocks.list[block];
  const begun = open?.type === type ? [] : beginBlock(blocks, index, { type });
  if (block === undefined || begun.length > 0) block = blocks.list.length - 1;
  open = blocks.list[block];
  const kept = type === 'text' && blocks.filter ? blocks.filter.take(text, block) : text;
  if (open) open.text += kept;
  return kept === '' ? begun : [...begun, { type, text: kept, block }];
}

/** Gives out the text of a block that the filter held back. */
export function flushText(blocks: BlockStream, block: number): StreamDelta[] {
  const open = blocks.list[block];
  const text = open?.type === 'text' ? (blocks.filter?.flush(block) ?? '') : '';
  if (!open || text === '') return [];
  open.text += text;
  return [{ type: 'text', text, block }];
}

function addInput(open: OpenBlock, json: string, block: number): StreamDelta[] {
  if (json === '' || open.type === 'text' || open.type === 'thinking') return [];
  open.text += json;
  return [{ type: 'tool-input', json, block }];
}

/** The open block that an event speaks of: by its index, or the newest where it has none. */
function positionOf({ open }: BlockStream, index: unknown): number | undefined {
  return typeof index === 'number' ? open.get(index) : [...open.values()].at(-1);
}

/** A stream that is no stream of this format; what came before is kept. */
export function badStream(message: string, cause?: unknown): GatewayError {
  return new GatewayError('bad-reply', message, { sent: 'yes', retryable: false, cause });
}

/** Text deltas of one block that stand one behind the other. */
export interface TextRun {
  index: number;
  text: string;
}

const data = 'data: {"type":"content_block_delta","index":';
const heads = [`event: content_block_delta\n${data}`, data];
const body = ',"delta":{"type":"text_delta","text":"';
/** More digits than any index of a block has. */
const longestIndex = 6;

/**
 * Text deltas in their usual spelling, read where they stand in the stream without making an event of each: a stream is
 * made of these. `end` is behind the last one's blank line. Undefined for anything else, which the parsers decide on.
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

/** The string that begins behind its quote, where `"}}` follows up to the end of the line; gateways pad with blanks. */
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
