import type { CitedPlace, FoundSource } from '../formats/events.ts';
import type { Block } from './arriving-reply.ts';
import type { Source, SourceSpan } from './result.ts';

/** A source that a reply named, and the block that its citation belongs to. */
export interface NotedSource {
  source: FoundSource;
  block: Block | undefined;
}

/** The most places that are searched for in a text: a search costs as much as the text is long. */
const mostSearches = 1000;

/** The sources that the blocks of a text hold: each once, cited ones in the order of their citations, then the others. */
export function collectSources(noted: readonly NotedSource[], blocks: readonly Block[]): Source[] | undefined {
  const parts: Located['parts'] = new Map();
  let text = '';
  for (const block of blocks) {
    if (block.kind !== 'text') continue;
    parts.set(block, { begin: text.length, firstPair: text.length + findFirstPair(block.text) });
    text += block.text;
  }
  parts.set(undefined, { begin: 0, firstPair: findFirstPair(text) });
  const bytes = noted.flatMap(({ source: { places = [] } }) =>
    places.flatMap((place) => (place.unit === 'byte' ? [place.start, place.end] : [])),
  );
  const located = {
    text,
    parts,
    units: convertOffsets(text, bytes, 'byte'),
    searches: 0,
  };
  const placed = noted.map(({ source, block }) => ({
    source,
    units: [
      ...(source.places ?? []).flatMap((place) => locate(place, block, located) ?? []),
      ...findMarks(source.mark, text),
    ],
  }));
  const points = convertOffsets(
    text,
    placed.flatMap(({ units }) => units.flat()),
    'unit',
  );
  const found = placed.map(({ source: { places, mark, ...source }, units }): Source => {
    const spans = units.flatMap(([start, end]) => toSpan(points.get(start)?.point, points.get(end)?.point));
    const cited = places !== undefined || units.length > 0;
    return {
      ...source,
      ...(mark !== undefined && units.length > 0 && { mark }),
      cited,
      ...(spans.length > 0 && { spans }),
    };
  });
  const merged = mergeSources(found);
  return merged && sortByPlace(merged);
}

/** Sources of several replies, or of a reply that names them several times: each once. Undefined if there is none. */
export function mergeSources(list: readonly Source[]): Source[] | undefined {
  const byName = new Map<string, { source: Source; spans: Map<string, SourceSpan> }>();
  for (const source of [...list.filter(({ cited }) => cited), ...list.filter(({ cited }) => !cited)]) {
    const { url, kind, title, page } = source;
    if (url === undefined && title === undefined) continue;
    const name = url ?? JSON.stringify([kind, title, page]);
    const known = byName.get(name) ?? { source, spans: new Map<string, SourceSpan>() };
    // Facts that are known already win.
    known.source = { ...dropUnknown(source), ...dropUnknown(known.source) } as Source;
    for (const span of source.spans ?? []) known.spans.set(`${span.start}-${span.end}`, span);
    byName.set(name, known);
  }
  if (byName.size === 0) return undefined;
  return [...byName.values()].map(({ source, spans }) => ({
    ...withoutSpans(source),
    ...(spans.size > 0 && { spans: [...spans.values()] }),
  }));
}

/** Sorts sources in the order of the text, if all places in it are known; otherwise they keep their order. */
function sortByPlace(sources: Source[]): Source[] {
  const cited = sources.filter((source) => source.cited);
  if (cited.some(({ spans = [] }) => spans.length === 0)) return sources;
  return [...cited.toSorted((a, b) => findBegin(a) - findBegin(b)), ...sources.filter((source) => !source.cited)];
}

function findBegin({ spans = [] }: Source): number {
  return spans.reduce((least, { start }) => Math.min(least, start), Infinity);
}

/** The source without its places, for a text that is not shown. */
export function withoutSpans(source: Source): Source {
  return Object.fromEntries(Object.entries(source).filter(([name]) => name !== 'spans')) as unknown as Source;
}

/** Sources of an answer whose text follows a text of this many code points. */
export function shiftSources(sources: readonly Source[] = [], by: number): Source[] {
  return sources.map(({ spans, ...source }) => ({
    ...source,
    ...(spans && { spans: spans.map(({ start, end }) => ({ start: start + by, end: end + by })) }),
  }));
}

function dropUnknown(source: Source): Partial<Source> {
  return Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined)) as Partial<Source>;
}

function toSpan(start: number | undefined, end: number | undefined): SourceSpan[] {
  return start === undefined || end === undefined ? [] : [{ start, end }];
}

interface Located {
  text: string;
  /** The position at which the text of each block begins, and of its first character of two units; undefined: all of the text. */
  parts: Map<Block | undefined, { begin: number; firstPair: number }>;
  /** The places of bytes. */
  units: ReadonlyMap<number, Offset>;
  searches: number;
}

/** Beginning and end of a place in the text, in units of UTF-16; undefined if they are not certain. */
function locate(place: CitedPlace, block: Block | undefined, located: Located): [number, number][] | undefined {
  const { text, parts, units } = located;
  if (place.unit === 'block') {
    const length = block?.text.length ?? 0;
    const begin = block && parts.get(block)?.begin;
    return begin === undefined || length === 0 ? undefined : [[begin, begin + length]];
  }
  if (place.unit === 'character') {
    const { begin = 0, firstPair = 0 } = parts.get(block) ?? parts.get(undefined) ?? {};
    const [start, end] = [begin + place.start, begin + place.end];
    // Positions can count UTF-16 units or code points: services do not say which. Both are the same before the first pair of
    // units.
    return start < end && end <= text.length && end <= firstPair ? [[start, end]] : undefined;
  }
  const [start, end] = [units.get(place.start)?.unit, units.get(place.end)?.unit];
  const isThere = start !== undefined && end !== undefined && start < end;
  if (isThere && (place.text === undefined || text.slice(start, end) === place.text)) return [[start, end]];
  if (!place.text || ++located.searches > mostSearches) return undefined;
  const at = text.indexOf(place.text);
  return at < 0 || text.includes(place.text, at + 1) ? undefined : [[at, at + place.text.length]];
}

/** The position of the first character of two units in a text; Infinity if there is none. */
function findFirstPair(text: string): number {
  const at = text.search(/[\ud800-\udfff]/);
  return at < 0 ? Infinity : at;
}

/** Maximum number of marks of one source that become its places. */
const mostMarks = 100;

function findMarks(mark: string | undefined, text: string): [number, number][] {
  const found: [number, number][] = [];
  if (mark === undefined) return found;
  for (let at = text.indexOf(mark); at >= 0 && found.length < mostMarks; at = text.indexOf(mark, at + 1))
    found.push([at, at + mark.length]);
  return found;
}

/** A place in a text, in units of UTF-16 and in code points. */
interface Offset {
  unit: number;
  point: number;
}

/** Places in a text by their offsets in bytes of UTF-8 or units of UTF-16; one within a character has none. */
function convertOffsets(text: string, offsets: readonly number[], from: 'byte' | 'unit'): Map<number, Offset> {
  const wanted = [...new Set(offsets)].toSorted((a, b) => a - b);
  const found = new Map<number, Offset>();
  if (wanted.length === 0) return found;
  const at = { byte: 0, unit: 0, point: 0 };
  let next = 0;
  const take = (): void => {
    while (next < wanted.length && (wanted[next] as number) <= at[from]) {
      if (wanted[next] === at[from]) found.set(at[from], { unit: at.unit, point: at.point });
      next++;
    }
  };
  take();
  for (const character of text) {
    if (next === wanted.length) break;
    at.byte += countTextBytes(character);
    at.unit += character.length;
    at.point++;
    take();
  }
  return found;
}

function countTextBytes(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x1_00_00 ? 3 : 4;
}
