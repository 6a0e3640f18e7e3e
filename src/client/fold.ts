import { limitAnswer } from '../formats/parse-reply.ts';
import { countValues, type JsonObject, type JsonValue, valueCost } from '../json.ts';
import type { ReplyEvent, StreamDelta } from '../formats/events.ts';
import {
  type Block,
  blockOf,
  candidateAt,
  type EventOf,
  firstOf,
  type Folded,
  type FoldedCandidate,
  foldResult,
  openBlock,
} from './folded.ts';
import { createTextFilter, type TextFilter } from './text-files.ts';

/** Makes one result of the events of one reply, and says what each means to a reader. */
export function createFold(options: Pick<Folded, 'model' | 'maxCandidates' | 'store'>) {
  const folded: Folded = {
    ...options,
    candidates: new Map(),
    surplus: new Set(),
    filters: new Map(),
    waiting: [],
    isEmpty: true,
    isStopped: false,
    length: 0,
    shown: 0,
  };
  return {
    /** No part of a reply has arrived. */
    get isEmpty() {
      return folded.isEmpty;
    },
    /** Candidates that began. */
    get candidates() {
      return folded.candidates.size;
    },
    /** Takes events as they come. Throws GatewayError bad-reply for more than any answer holds; what came before is kept. */
    add(events: readonly ReplyEvent[]): StreamDelta[] {
      const deltas: StreamDelta[] = [];
      for (const event of events) {
        if (event.type !== 'end' && event.type !== 'broken') folded.isEmpty = false;
        for (const delta of apply(event, folded)) deltas.push(delta);
        limitAnswer(folded.length);
      }
      return deltas;
    },
    /** Stores the pictures and files of the events so far. Throws GatewayError not-written. */
    async store(): Promise<void> {
      for (const keep of folded.waiting.splice(0)) await keep();
    },
    /** The last deltas. `isOver`: the reply said why it ends. */
    end(isOver: boolean): StreamDelta[] {
      const blocks = [...folded.candidates.values()].flatMap((candidate) => candidate.blocks);
      const held = blocks.flatMap((block) => flush(block, folded));
      return isOver ? [...held, ...stop(folded)] : held;
    },
    /** What came, and why a call of it is not whole, if one is not. */
    result: () => foldResult(folded),
  };
}

export type Fold = ReturnType<typeof createFold>;

/** What an event changes, and what it means to a reader. */
function apply(event: ReplyEvent, folded: Folded): StreamDelta[] {
  if ('candidate' in event && isSurplus(event.candidate, folded)) return [];
  switch (event.type) {
    case 'text':
    case 'thinking':
    case 'code':
      return addText(event, folded);
    case 'start':
      return begin(event, folded);
    case 'block-start':
      return beginBlock(event, candidateAt(undefined, folded), folded);
    case 'block-stop':
      return closeBlock(event.index, candidateAt(undefined, folded), folded);
    case 'tool-input':
      return addInput(event, folded);
    case 'end':
      return [...stop(folded), { type: 'end' }];
    default:
      note(event, folded);
      return [];
  }
}

function isSurplus(index = 0, { candidates, surplus, maxCandidates }: Folded): boolean {
  if (candidates.size < maxCandidates || candidates.has(index)) return false;
  surplus.add(index);
  return true;
}

/** What a value of JSON takes: its text, and what each value in it takes in addition. */
function sizeOf(value: JsonValue): number {
  const text = JSON.stringify(value);
  return text.length + valueCost * countValues(text);
}

/** Events that say nothing to a reader until the reply is over. */
function note(event: ReplyEvent, folded: Folded): void {
  switch (event.type) {
    case 'signature':
      return changeBlock(event, folded, (block) => {
        // A text of the messages format has none.
        if (block.kind !== 'text' || event.index === undefined) block.signature = event.signature;
      });
    case 'citation':
      return changeBlock(event, folded, (block) => block.citations.push(event.citation));
    case 'call':
      return addCall(event, folded);
    case 'blob':
      return keepBlob(event, candidateAt(event.candidate, folded), folded);
    case 'candidate': {
      const candidate = candidateAt(event.candidate, folded);
      candidate.said = { ...candidate.said, ...known(event) };
      return;
    }
    case 'usage':
      // First, for the order of the counts.
      folded.usage = { ...event.usage, ...folded.usage, ...known(event.usage) };
      return;
    case 'tier':
      folded.tier = event.tier;
      return;
    case 'feedback':
      folded.feedback = { ...event, blockReason: event.blockReason ?? folded.feedback?.blockReason };
  }
}

/** The fields that are known: the others leave what is known already. */
function known<T extends object>(event: T): Partial<T> {
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function begin(event: EventOf<'start'>, folded: Folded): StreamDelta[] {
  const isFirst = folded.start === undefined;
  folded.start = { ...folded.start, ...known(event) };
  if (event.role !== undefined) candidateAt(undefined, folded);
  return isFirst ? [{ type: 'start', id: event.id, model: event.model }] : [];
}

function beginBlock(
  { raw, index }: Pick<EventOf<'block-start'>, 'raw' | 'index'>,
  candidate: FoldedCandidate,
  folded: Folded,
): StreamDelta[] {
  // A block that did not stop before another of its index begins.
  const before = index === undefined ? undefined : candidate.open.get(index);
  const held = before ? flush(before, folded) : [];
  const block = openBlock(raw, firstOf(folded) === candidate ? folded.shown++ : undefined);
  folded.length += sizeOf(raw);
  candidate.blocks.push(block);
  candidate.open.set(index ?? -candidate.blocks.length, block);
  if (block.kind === 'text' && block.text !== '') block.text = filterOf(block, candidate, folded).take(block.text);
  if (block.data !== undefined) keepBlob({ ...block, data: block.data }, candidate, folded);
  if (block.position === undefined) return held;
  const begun: StreamDelta = { type: 'block-start', block: block.position, blockType: block.kind };
  const isShown = block.isText && block.text !== '';
  return [...held, begun, ...(isShown ? [textDelta(block, block.text, block.position)] : [])];
}

/** Where the block of a text never began, or is of another kind, a block of the text's own kind begins. */
function addText({ type, text, index, candidate: at }: EventOf<'text' | 'thinking' | 'code'>, folded: Folded) {
  if (text === '') return [];
  folded.length += text.length;
  const candidate = candidateAt(at, folded);
  const deltas: StreamDelta[] = [];
  let block = blockOf(candidate, index);
  if (block?.kind !== type) {
    if (index === undefined && block?.isImplicit) deltas.push(...closeBlock(undefined, candidate, folded));
    deltas.push(...beginBlock({ raw: { type }, index }, candidate, folded));
    block = candidate.blocks.at(-1) as Block;
    block.isImplicit = index === undefined;
  }
  const kept = type === 'text' ? filterOf(block, candidate, folded).take(text) : text;
  block.text += kept;
  if (block.position !== undefined && kept !== '') deltas.push(textDelta(block, kept, block.position));
  return deltas;
}

function textDelta({ kind }: Block, text: string, block: number): StreamDelta {
  return { type: kind === 'thinking' ? 'thinking' : 'text', text, block };
}

function filterOf(block: Block, { index, filesInText: files }: FoldedCandidate, folded: Folded): TextFilter {
  const { filters, store, waiting } = folded;
  const filter = filters.get(block) ?? createTextFilter(store, index, { waiting, files });
  filters.set(block, filter);
  return filter;
}

/** Gives out the text of a block that its filter held back. */
function flush(block: Block, { filters }: Folded): StreamDelta[] {
  const text = filters.get(block)?.flush() ?? '';
  filters.delete(block);
  block.text += text;
  return text === '' || block.position === undefined ? [] : [textDelta(block, text, block.position)];
}

function closeBlock(index: number | undefined, candidate: FoldedCandidate, folded: Folded): StreamDelta[] {
  const block = blockOf(candidate, index);
  if (block === undefined) return [];
  for (const [key, open] of candidate.open) if (open === block) candidate.open.delete(key);
  const held = flush(block, folded);
  return block.position === undefined ? held : [...held, { type: 'block-stop', block: block.position }];
}

function addInput({ json, index, isAll }: EventOf<'tool-input'>, folded: Folded): StreamDelta[] {
  const block = blockOf(candidateAt(undefined, folded), index);
  if (block === undefined || json === '' || block.isText) return [];
  if (isAll) {
    block.text = json;
    return [];
  }
  folded.length += json.length;
  block.text += json;
  return block.position === undefined ? [] : [{ type: 'tool-input', json, block: block.position }];
}

/** Without an index, what is said about a block may come when it is over. */
function changeBlock(
  event: EventOf<'signature' | 'citation'>,
  folded: Folded,
  change: (block: Block) => unknown,
): void {
  const candidate = candidateAt('candidate' in event ? event.candidate : undefined, folded);
  const newest = event.index === undefined ? candidate.blocks.at(-1) : undefined;
  const block = blockOf(candidate, event.index) ?? newest;
  folded.length += event.type === 'citation' ? sizeOf(event.citation) : valueCost + event.signature.length;
  if (block) change(block);
}

/** A call that came whole has nothing to show while it streams. */
function addCall({ id, name, input, isWhole, signature, candidate }: EventOf<'call'>, folded: Folded): void {
  const raw: JsonObject = { type: 'tool_use', ...(id !== undefined && { id }), name, input };
  folded.length += sizeOf(raw);
  candidateAt(candidate, folded).blocks.push({ ...openBlock(raw, undefined), signature, isWhole });
}

function keepBlob(
  { mimeType, data, draft = false }: Pick<EventOf<'blob'>, 'data' | 'draft'> & { mimeType?: string | undefined },
  { index, blobs }: FoldedCandidate,
  folded: Folded,
): void {
  const { store, waiting } = folded;
  folded.length += valueCost + data.length;
  waiting.push(async () => {
    const blob = await store.resolve(data);
    if (blob) blobs.push({ declaredType: mimeType, candidate: index, draft, blob });
  });
}

/** How the first candidate ended: said once, before the end. */
function stop(folded: Folded): StreamDelta[] {
  if (folded.isStopped) return [];
  folded.isStopped = true;
  const first = firstOf(folded);
  const open = first ? [...first.open.values()].filter(({ isImplicit }) => isImplicit) : [];
  const closed = first ? open.flatMap(() => closeBlock(undefined, first, folded)) : [];
  const stopReason = first?.said.reason ?? folded.feedback?.blockReason;
  return stopReason === undefined ? closed : [...closed, { type: 'stop', stopReason }];
}
