import { limitAnswer } from '../formats/parse-reply.ts';
import { countValues, type JsonObject, type JsonValue, valueCost } from '../json.ts';
import type { ReplyEvent, StreamDelta } from '../formats/events.ts';
import {
  type Block,
  findBlock,
  candidateAt,
  type EventByType,
  getFirstCandidate,
  type ArrivingReply,
  type ArrivingCandidate,
  finishResult,
  openBlock,
} from './arriving-reply.ts';
import { createTextFilter, mayBeginFile } from './text-files.ts';
import { isSamples } from '../images/image-type.ts';
import { append } from '../long-lists.ts';
import { noteFacts } from './reply-fields.ts';

/**
 * Makes one result of the events of one reply, and returns for each event its meaning for a reader. `facts`: those that came before
 * the events.
 */
export function createAccumulator({
  model,
  maxCandidates,
  store,
  facts = {},
}: Pick<ArrivingReply, 'model' | 'maxCandidates' | 'store'> & Partial<Pick<ArrivingReply, 'facts'>>) {
  const arriving: ArrivingReply = {
    model,
    maxCandidates,
    store,
    facts: { ...facts },
    candidates: new Map(),
    surplus: new Set(),
    waiting: [],
    sources: [],
    warnings: new Set(),
    isEmpty: true,
    isStarted: false,
    isStopped: false,
    length: 0,
    shown: 0,
  };
  return {
    /** Whether no part of the reply has arrived. */
    isEmpty: () => arriving.isEmpty,
    /** Number of candidates that began. */
    countCandidates: () => arriving.candidates.size,
    /** Takes events as they come. Throws GatewayError bad-reply if they are more than any answer holds; earlier ones are kept. */
    add(events: readonly ReplyEvent[]): StreamDelta[] {
      const deltas: StreamDelta[] = [];
      for (const event of events) {
        if (event.type !== 'end' && event.type !== 'broken') arriving.isEmpty = false;
        for (const delta of applyEvent(event, arriving)) deltas.push(delta);
        limitAnswer(arriving.length);
      }
      return deltas;
    },
    /** Stores the images and files of the events so far. Throws GatewayError not-written. */
    async store(): Promise<void> {
      for (const keep of arriving.waiting.splice(0)) await keep();
    },
    /**
     * The last deltas. `isOver`: the reply said why it ends. `isLastCut`: the reply was read whole, and breaks off in its last
     * block.
     */
    end(isOver: boolean, isLastCut = false): StreamDelta[] {
      const candidates = [...arriving.candidates.values()];
      const blocks = candidates.flatMap((candidate) => candidate.blocks);
      const broken = isOver ? [] : candidates.flatMap(({ open }) => [...open.values()]);
      for (const block of isLastCut ? blocks.slice(-1) : broken)
        if (block.kind === 'tool_use' && block.text === '') block.isWhole ??= false;
      const rest = blocks.flatMap(flushFilter);
      for (const candidate of candidates) joinSounds(candidate, arriving);
      return isOver ? [...rest, ...stopFirstCandidate(arriving)] : rest;
    },
    /** The result so far, and the reason that a call in it is not whole, if one is not. */
    result: () => finishResult(arriving),
  };
}

export type Accumulator = ReturnType<typeof createAccumulator>;

/** Applies an event to the reply; returns the deltas for a reader of the stream. */
function applyEvent(event: ReplyEvent, arriving: ArrivingReply): StreamDelta[] {
  if ('candidate' in event && isSurplus(event.candidate, arriving)) return [];
  switch (event.type) {
    case 'text':
    case 'thinking':
    case 'code':
      return addText(event, arriving);
    case 'start':
      return beginReply(event, arriving);
    case 'block-start':
      return beginBlock(event, candidateAt(undefined, arriving), arriving);
    case 'block-stop':
      return endBlock(event.index, candidateAt(undefined, arriving));
    case 'tool-input':
      return addInput(event, arriving);
    case 'end':
      return [...stopFirstCandidate(arriving), { type: 'end' }];
    default:
      noteEvent(event, arriving);
      return [];
  }
}

function isSurplus(index = 0, { candidates, surplus, maxCandidates }: ArrivingReply): boolean {
  if (candidates.size < maxCandidates || candidates.has(index)) return false;
  surplus.add(index);
  return true;
}

/** Estimates the memory of a JSON value: its text, and a cost for each value in it. */
function estimateSize(value: JsonValue): number {
  const text = JSON.stringify(value);
  return text.length + valueCost * countValues(text);
}

/** Events that say nothing to a reader until the reply is over. */
function noteEvent(event: ReplyEvent, arriving: ArrivingReply): void {
  switch (event.type) {
    case 'signature':
      return changeBlock(event, arriving, (block) => {
        // A text of the messages format has no signature.
        if (block.kind !== 'text' || event.index === undefined) block.signature = event.signature;
      });
    case 'citation':
      return changeBlock(event, arriving, (block) => block.citations.push(event.citation));
    case 'source':
      return noteSource(event, arriving);
    case 'warning':
      arriving.length += event.text.length;
      arriving.warnings.add(event.text);
      return;
    case 'call':
      return addCall(event, arriving);
    case 'blob':
      return keepBlob(event, candidateAt(event.candidate, arriving), arriving);
    case 'candidate':
      return noteKnown(candidateAt(event.candidate, arriving).said, event);
    case 'facts':
      noteFacts(arriving.facts, event.facts);
      return;
    case 'continuation':
      arriving.continuation = { token: event.token, length: arriving.length };
  }
}

/** Notes the fields that an event has; the other fields keep their values. */
function noteKnown<T extends object>(known: Partial<T>, event: T): void {
  for (const name in event) if (event[name] !== undefined) known[name] = event[name];
}

function beginReply(event: EventByType<'start'>, arriving: ArrivingReply): StreamDelta[] {
  const { id, model, role } = event;
  const isFirst = !arriving.isStarted;
  arriving.isStarted = true;
  noteFacts(arriving.facts, { responseId: id, modelVersion: model, role });
  if (role !== undefined) candidateAt(undefined, arriving);
  return isFirst ? [{ type: 'start', id, model }] : [];
}

function beginBlock(
  { raw, index, before }: Omit<EventByType<'block-start'>, 'type'>,
  candidate: ArrivingCandidate,
  arriving: ArrivingReply,
): StreamDelta[] {
  // A block that did not stop before another of its index begins.
  const unstopped = index === undefined ? undefined : candidate.open.get(index);
  const rest = unstopped ? flushFilter(unstopped) : [];
  const position = getFirstCandidate(arriving) === candidate ? arriving.shown++ : undefined;
  const block = openBlock(raw, position, index ?? -1 - candidate.blocks.length);
  arriving.length += estimateSize(raw);
  const place = before === undefined ? -1 : candidate.blocks.findIndex(({ key }) => key === before);
  candidate.blocks.splice(place < 0 ? candidate.blocks.length : place, 0, block);
  candidate.open.set(block.key, block);
  candidate.opened.push(block);
  if (block.kind === 'text') block.text = takeText(block.text, block, candidate, arriving);
  if (block.data !== undefined) keepBlob({ mimeType: block.mimeType, data: block.data }, candidate, arriving);
  if (block.position === undefined) return rest;
  const begun: StreamDelta = { type: 'block-start', block: block.position, blockType: block.kind };
  const isShown = block.isText && block.text !== '';
  return [...rest, begun, ...(isShown ? [textDelta(block, block.text, block.position)] : [])];
}

/** Adds a text to its block. If that block never began, or is of another kind, a block of the text's kind begins. */
function addText(
  { type, text, index, candidate: at }: EventByType<'text' | 'thinking' | 'code'>,
  arriving: ArrivingReply,
) {
  if (text === '') return [];
  arriving.length += text.length;
  const candidate = candidateAt(at, arriving);
  const deltas: StreamDelta[] = [];
  let block = findBlock(candidate, index);
  if (block?.kind !== type) {
    if (index === undefined && block?.isImplicit) append(deltas, endBlock(undefined, candidate));
    append(deltas, beginBlock({ raw: { type }, index }, candidate, arriving));
    block = candidate.blocks.at(-1) as Block;
    block.isImplicit = index === undefined;
  }
  const kept = type === 'text' ? takeText(text, block, candidate, arriving) : text;
  block.text += kept;
  if (block.position !== undefined && kept !== '') deltas.push(textDelta(block, kept, block.position));
  return deltas;
}

function textDelta({ kind }: Block, text: string, block: number): StreamDelta {
  return { type: kind === 'thinking' ? 'thinking' : 'text', text, block };
}

/** The part of a text that may be kept now. A filter begins where a file can begin. */
function takeText(
  text: string,
  block: Block,
  { index, filesInText: files }: ArrivingCandidate,
  { store, waiting }: ArrivingReply,
): string {
  if (block.filter === undefined && !mayBeginFile(text)) return text;
  block.filter ??= createTextFilter(store, index, { waiting, files });
  return block.filter.take(text);
}

/** Gives out the text of a block that its filter held back. */
function flushFilter(block: Block): StreamDelta[] {
  const text = block.filter?.flush() ?? '';
  block.filter = undefined;
  block.text += text;
  return text === '' || block.position === undefined ? [] : [textDelta(block, text, block.position)];
}

function endBlock(index: number | undefined, candidate: ArrivingCandidate): StreamDelta[] {
  const block = findBlock(candidate, index);
  if (block === undefined) return [];
  candidate.open.delete(block.key);
  const rest = flushFilter(block);
  return block.position === undefined ? rest : [...rest, { type: 'block-stop', block: block.position }];
}

function addInput({ json, index, isAll }: EventByType<'tool-input'>, arriving: ArrivingReply): StreamDelta[] {
  const block = findBlock(candidateAt(undefined, arriving), index);
  if (block === undefined || json === '' || block.isText) return [];
  if (isAll) {
    block.text = json;
    return [];
  }
  arriving.length += json.length;
  block.text += json;
  return block.position === undefined ? [] : [{ type: 'tool-input', json, block: block.position }];
}

/** Changes the block of an event, which may have ended: without an index, a signature or citation can come later. */
function changeBlock(
  event: EventByType<'signature' | 'citation'>,
  arriving: ArrivingReply,
  change: (block: Block) => unknown,
): void {
  const candidate = candidateAt('candidate' in event ? event.candidate : undefined, arriving);
  const newest = event.index === undefined ? candidate.blocks.at(-1) : undefined;
  const block = findBlock(candidate, event.index) ?? newest;
  arriving.length += event.type === 'citation' ? estimateSize(event.citation) : valueCost + event.signature.length;
  if (block) change(block);
}

/** A source of the first candidate. */
function noteSource({ source, index }: EventByType<'source'>, arriving: ArrivingReply): void {
  const candidate = candidateAt(undefined, arriving);
  arriving.length += estimateSize(source as unknown as JsonValue);
  // The place may be the block that is open.
  const block = source.places?.some(({ unit }) => unit === 'block') || index !== undefined;
  arriving.sources.push({ source, block: block ? findBlock(candidate, index) : undefined });
}

/** A call that came whole has nothing to show while it streams. */
function addCall(
  { id, name, input, isWhole, signature, candidate }: EventByType<'call'>,
  arriving: ArrivingReply,
): void {
  const raw: JsonObject = { type: 'tool_use', ...(id !== undefined && { id }), name, input };
  arriving.length += estimateSize(raw);
  candidateAt(candidate, arriving).blocks.push({ ...openBlock(raw, undefined), signature, isWhole });
}

function keepBlob(
  {
    mimeType,
    data,
    draft = false,
    signature,
  }: Pick<EventByType<'blob'>, 'data' | 'draft' | 'signature'> & { mimeType?: string | undefined },
  { index, blobs, sounds }: ArrivingCandidate,
  arriving: ArrivingReply,
): void {
  const { store, waiting } = arriving;
  arriving.length += valueCost + data.length + (signature?.length ?? 0);
  if (isSamples(mimeType)) {
    const last = sounds.at(-1);
    if (last && last.mimeType === mimeType) last.pieces.push(data);
    else sounds.push({ mimeType, pieces: [data] });
    return;
  }
  const signed = signature === undefined ? {} : { signature };
  waiting.push(async () => {
    const blob = await store.resolve(data);
    if (blob) blobs.push({ declaredType: mimeType, candidate: index, draft, ...signed, blob });
  });
}

/** The sounds of a candidate are whole when its reply is over. */
function joinSounds({ index, blobs, sounds }: ArrivingCandidate, { store, waiting }: ArrivingReply): void {
  for (const { mimeType, pieces } of sounds.splice(0))
    waiting.push(async () => {
      const blob = await store.join(pieces);
      if (blob) blobs.push({ declaredType: mimeType, candidate: index, draft: false, blob });
    });
}

/** The deltas for the end of the first candidate, given once, before the end of the reply. */
function stopFirstCandidate(arriving: ArrivingReply): StreamDelta[] {
  if (arriving.isStopped) return [];
  arriving.isStopped = true;
  const first = getFirstCandidate(arriving);
  const open = first ? [...first.open.values()].filter(({ isImplicit }) => isImplicit) : [];
  const closed = first ? open.flatMap(() => endBlock(undefined, first)) : [];
  const stopReason = first?.said.reason ?? arriving.facts.stopReason;
  return stopReason === undefined ? closed : [...closed, { type: 'stop', stopReason }];
}
