import type { ReplyEvent, Usage } from '../formats/events.ts';
import type { Block } from './blocks.ts';
import type { PictureStore } from './picture-store.ts';
import type { ResultImage } from './result.ts';
import type { TextFilter } from './text-filter.ts';

/** How a fold is made. */
export interface FoldOptions {
  /** The requested model. */
  model: string;
  /** So many candidates are read. */
  mostCandidates: number;
  store: PictureStore;
}

/** An event of one type. */
export type EventOf<Type extends ReplyEvent['type']> = Extract<ReplyEvent, { type: Type }>;

/** One candidate of a reply, as far as it came. */
export interface FoldedCandidate {
  readonly index: number;
  readonly blocks: Block[];
  /** Blocks that have not ended, by the wire's index; those without one below 0. */
  readonly open: Map<number, Block>;
  readonly blobs: ResultImage[];
  readonly picturesInText: ResultImage[];
  said: Partial<EventOf<'candidate'>>;
}

/** A reply as far as it came. */
export interface Folded extends FoldOptions {
  readonly candidates: Map<number, FoldedCandidate>;
  /** Indexes of the candidates that came behind those. */
  readonly surplus: Set<number>;
  readonly filters: Map<Block, TextFilter>;
  readonly warnings: string[];
  /** Work on pictures and files, in the order in which they came. */
  readonly waiting: (() => Promise<void>)[];
  start?: Partial<EventOf<'start'>>;
  usage?: Usage;
  tier?: string;
  feedback?: EventOf<'feedback'>;
  isEmpty: boolean;
  /** Readers know how the first candidate ended. */
  isStopped: boolean;
  /** Characters that are kept. */
  length: number;
  /** Blocks that readers were shown. */
  shown: number;
}

/** The candidate of an event; it begins with its first. */
export function candidateAt(index = 0, { candidates }: Folded): FoldedCandidate {
  const before = candidates.get(index);
  if (before) return before;
  const candidate = { index, blocks: [], open: new Map(), blobs: [], picturesInText: [], said: {} };
  candidates.set(index, candidate);
  return candidate;
}

/** Readers are shown the first candidate alone. */
export function firstOf({ candidates }: Folded): FoldedCandidate | undefined {
  return candidates.values().next().value;
}

/** The block that an event belongs to: that of its index, or the newest where it has none. */
export function blockOf({ open }: FoldedCandidate, index: number | undefined): Block | undefined {
  return index === undefined ? [...open.values()].at(-1) : open.get(index);
}
