import * as v from 'valibot';
import { count, flag, key, optionalKey, text } from '../document-key.ts';
import type { ReplyFacts, Usage } from '../formats/events.ts';
import { isObject, type JsonObject } from '../json.ts';
import { append } from '../long-lists.ts';
import type { Result, ResultCandidate } from './result.ts';
import { mergeSources, shiftSources, withoutSpans } from './sources.ts';

/*
 * The fields of a reply, one row each. A decoder reads a new one as a fact (`formats/events.ts`); its type is in `result.ts`.
 */

/**
 * The occasion on which several replies become one: they are the parts of one answer, the answers to one prompt, or the rounds of
 * a tool loop.
 */
type Occasion = 'parts' | 'answers' | 'rounds';

interface ReplyField<Value> {
  /** The schema of the field in the JSON document, where the fields are in the order of the rows; absent if the field is not shown. */
  shown?: v.GenericSchema;
  /** Whether readers of the stream have it already. */
  isStreamed?: true;
  /** Whether an MCP tool shows it, too: each word of a tool's result is paid for by the agent that reads it. */
  inTools?: true;
  /** The value of several replies. Default: the value of the last reply, for several answers that of the first. */
  join?: {
    [on in Occasion]?: (values: readonly (Value | undefined)[], results: readonly Result[]) => Value | undefined;
  };
  /** The new value if a reply gives the fact again; by default the later value wins. */
  again?(before: Value | undefined, said: Value): Value | undefined;
}

/** The last value that is known. */
const known = {
  parts: <Value>(values: readonly (Value | undefined)[]) => values.findLast((value) => value !== undefined),
};
const together = { parts: (values: readonly (string | undefined)[]) => values.join('') || undefined };
const inEach = { parts: joinLists, answers: joinLists };
const everywhere = <Join>(join: Join) => ({ parts: join, answers: join, rounds: join });

export const replyNumber = optionalKey(count, 'with -n, the reply that it came in, from 0');

const candidate = v.object({
  index: key(count, 'its place in the reply, from 0'),
  reply: replyNumber,
  text: key(text, 'its text, without thinking'),
  markdown: optionalKey(text, 'its text with the code that the service ran, and what that printed'),
  finishReason: optionalKey(text, "why it ended, in the gateway's own word"),
  finishMessage: optionalKey(text, 'why it ended, in a sentence'),
  safetyRatings: optionalKey(v.array(v.unknown()), 'ratings, as the gateway gave them'),
});

export const toolCallEntries = {
  id: optionalKey(text, "the gateway's name for the call"),
  name: key(text, 'the tool'),
  input: key(v.unknown(), 'any JSON value, as the tool wants it'),
};

const source = v.object({
  url: optionalKey(text, 'the address of the page; absent for a document without one'),
  title: optionalKey(text, 'its title'),
  kind: key(v.picklist(['web', 'document', 'map', 'image']), 'what it is'),
  cited: key(flag, 'whether the answer cites it; otherwise a search only found it'),
  page: optionalKey(count, 'the page of a document, from 1'),
  snippet: optionalKey(text, 'a piece of its own text'),
  mark: optionalKey(text, 'how the text names it, such as [1]'),
  spans: optionalKey(
    v.array(v.object({ start: key(count, 'the first code point'), end: key(count, 'the code point behind the last') })),
    'the places in text that cite it, in code points; absent where they are not certain',
  ),
});

const usage = v.object({
  inputTokens: optionalKey(count, 'tokens of the request'),
  outputTokens: optionalKey(count, 'tokens of the answer'),
  thinkingTokens: optionalKey(count, 'tokens of thinking'),
  cachedInputTokens: optionalKey(count, 'tokens of the request that the gateway had in its cache'),
  totalTokens: optionalKey(count, 'all tokens'),
  cacheWriteInputTokens: optionalKey(count, 'tokens of the request that the gateway wrote to its cache'),
  cacheWriteLongInputTokens: optionalKey(count, 'of those, tokens that stay in the cache for an hour or longer'),
  toolInputTokens: optionalKey(count, 'tokens of tool results that the gateway added to the request'),
  imageInputTokens: optionalKey(count, 'tokens of pictures, within those of the request'),
  audioInputTokens: optionalKey(count, 'tokens of sound, within those of the request'),
  cachedImageInputTokens: optionalKey(count, 'tokens of pictures that the gateway had in its cache'),
  cachedAudioInputTokens: optionalKey(count, 'tokens of sound that the gateway had in its cache'),
  imageOutputTokens: optionalKey(count, 'tokens of images, within those of the answer'),
  audioOutputTokens: optionalKey(count, 'tokens of sound, within those of the answer'),
  searches: optionalKey(count, 'searches of the service'),
});

/** Whether an answer is complete is known only when all of its replies are. */
const rows: { [Name in Exclude<keyof Result, 'complete'>]-?: ReplyField<NonNullable<Result[Name]>> } = {
  model: {},
  format: {},
  modelVersion: { shown: optionalKey(text, 'the model that answered, as the reply names it'), join: known },
  insteadOf: {
    shown: optionalKey(
      v.object({ model: key(text, 'the requested model'), why: key(text, 'why it did not answer') }),
      'another model was asked in place of the requested one: a default that is gone, or a fallback',
    ),
    inTools: true,
  },
  modelEnds: {
    shown: optionalKey(
      v.object({
        model: key(text, 'the model'),
        endsOn: optionalKey(text, 'its last day, such as 2026-12-11'),
        lifecycle: optionalKey(text, "the service's own word, such as deprecated"),
        successor: optionalKey(text, 'the model that the service names in its place'),
      }),
      'the service says that the model ends within 60 days, or that it is deprecated',
    ),
  },
  responseId: { shown: optionalKey(text, "the gateway's name for the reply"), join: known },
  role: { shown: optionalKey(text, 'the role of the answer, such as model or assistant'), join: known },
  text: {
    shown: optionalKey(text, 'the text of the first candidate, without thinking'),
    isStreamed: true,
    inTools: true,
    join: { parts: (texts) => texts.join('') },
  },
  thinking: { join: together },
  content: { join: { parts: joinContents } },
  candidates: {
    shown: optionalKey(v.array(candidate), 'every candidate of the reply'),
    isStreamed: true,
    join: { parts: joinFirstCandidates, answers: joinLists },
  },
  images: { join: inEach },
  files: { join: inEach },
  toolCalls: { shown: key(v.array(v.object(toolCallEntries)), 'tool calls without a result'), join: inEach },
  sources: {
    shown: optionalKey(v.array(source), 'pages and documents: the cited ones in order, then what a search found'),
    inTools: true,
    join: {
      parts: joinSources,
      answers: (lists) => mergeSources(joinLists(lists) ?? [])?.map(withoutSpans),
      // Only the places in the last text are kept.
      rounds: (lists) =>
        mergeSources([...(lists.at(-1) ?? []), ...(joinLists(lists.slice(0, -1)) ?? []).map(withoutSpans)]),
    },
  },
  stopReason: { shown: optionalKey(text, "why the answer ended, in the gateway's own word") },
  stopSequence: { shown: optionalKey(text, 'the stop sequence that ended the answer') },
  stopDetails: {},
  promptFeedback: { shown: optionalKey(v.record(v.string(), v.unknown()), 'why the gateway blocked the prompt') },
  serviceTier: {
    shown: optionalKey(
      text,
      "the service tier that answered, in the gateway's own word; behind it what has another price, such as fast or us",
    ),
    join: known,
  },
  usage: {
    shown: optionalKey(usage, 'tokens, as far as the gateway tells'),
    inTools: true,
    join: everywhere(sumUsage),
    again: growCounts,
  },
  otherUsage: {},
  toldCost: {
    // The cost of each request is in its own result.
    join: { parts: (values) => (values.length === 1 ? values[0] : undefined) },
    // Some services end a stream with a cost of 0, which is ignored.
    again: (before, said) => (before === undefined || Number(said.amount) > 0 ? said : before),
  },
  warnings: { join: everywhere((lists: readonly (string[] | undefined)[]) => [...new Set(joinLists(lists))]) },
  requests: {
    shown: optionalKey(count, 'the number of requests that the answer took, if the service paused in it'),
    join: { parts: (_, results) => results.length },
  },
};

type ReplyRows = Readonly<Record<string, ReplyField<unknown>>>;

/** The keys of the JSON document that a reply gives, in their order. */
export const shownFields: v.ObjectEntries = Object.fromEntries(
  Object.entries(rows as ReplyRows).flatMap(([name, { shown }]) => (shown === undefined ? [] : [[name, shown]])),
);

/** The keys of the JSON document that the results of MCP tools have, too. */
export const toolResultKeys: readonly string[] = Object.entries(rows as ReplyRows).flatMap(([name, { inTools }]) =>
  inTools ? [name] : [],
);

/** The facts of a reply that nobody could read while it came. */
export function pickEndFields(result: Result): Record<string, unknown> {
  const names = Object.entries(rows as ReplyRows).flatMap(([name, row]) =>
    row.shown && !row.isStreamed ? [name] : [],
  );
  return Object.fromEntries(names.map((name) => [name, result[name as keyof Result]]));
}

/** Joins replies into one. `complete` comes from the reply that gives the other facts. */
export function joinReplies(results: readonly Result[], on: Occasion): Result {
  const joined: Record<string, unknown> = { ...(on === 'answers' ? results[0] : results.at(-1)) };
  for (const [name, { join }] of Object.entries(rows as ReplyRows)) {
    if (!join?.[on]) continue;
    const value = join[on](
      results.map((result) => result[name as keyof Result]),
      results,
    );
    if (value === undefined) delete joined[name];
    else joined[name] = value;
  }
  return joined as unknown as Result;
}

/** Notes the facts of a reply; absent facts leave the known ones. */
export function noteFacts(known: ReplyFacts, said: ReplyFacts): void {
  const noted: Record<string, unknown> = known as Record<string, unknown>;
  for (const name in said) {
    const value = said[name as keyof ReplyFacts];
    const { again } = (rows as ReplyRows)[name] as ReplyField<unknown>;
    if (value !== undefined) noted[name] = again ? again(noted[name], value) : value;
  }
}

/** Counts only grow: servers end some streams with zeros that count nothing. The order of the keys is that of the last event. */
function growCounts(before: Usage | undefined, said: Usage): Usage | undefined {
  const counts: Usage = { ...said, ...before };
  for (const name of Object.keys(said) as (keyof Usage)[])
    if (said[name] || counts[name] === undefined) counts[name] = said[name];
  return Object.values(counts).some((count) => count !== undefined) ? counts : undefined;
}

/** Token counts added up; a count that no reply gave stays unknown. */
function sumUsage(usages: readonly (Usage | undefined)[]): Usage | undefined {
  const counted = usages.filter((usage) => usage !== undefined);
  if (counted.length === 0) return undefined;
  const sum: Record<string, number> = {};
  for (const usage of counted) {
    for (const [name, count] of Object.entries(usage))
      if (typeof count === 'number') sum[name] = (sum[name] ?? 0) + count;
  }
  return sum;
}

function joinLists<Item>(lists: readonly (readonly Item[] | undefined)[]): Item[] | undefined {
  return lists.every((list) => list === undefined) ? undefined : lists.flatMap((list) => list ?? []);
}

/** The candidate that goes on through all parts of an answer. */
function joinFirstCandidates(_: unknown, results: readonly Result[]): ResultCandidate[] {
  // A reply that was blocked has no candidate.
  const candidates = results.flatMap((result) => result.candidates.slice(0, 1));
  const text = results.map((result) => result.text).join('');
  const hasMarkdown = candidates.some(({ markdown }) => markdown !== undefined);
  const markdown = candidates.map((one) => one.markdown ?? one.text).join('');
  const finishReason = results.at(-1)?.stopReason;
  return candidates.slice(-1).map((last) => ({ ...last, text, ...(hasMarkdown && { markdown }), finishReason }));
}

/** The sources of all, at their places in the whole text. */
function joinSources(_: unknown, results: readonly Result[]): Result['sources'] {
  if (results.every(({ sources }) => sources === undefined)) return undefined;
  let before = 0;
  const shifted: NonNullable<Result['sources']> = [];
  for (const { sources, text } of results) {
    append(shifted, shiftSources(sources, before));
    before += [...text].length;
  }
  return mergeSources(shifted);
}

/** The blocks of several replies as the blocks of one turn: a text that was cut in the middle is joined again. */
export function joinContents(contents: readonly (readonly JsonObject[] | undefined)[]): JsonObject[] {
  const joined: JsonObject[] = [];
  for (const content of contents) {
    for (const [at, block] of (content ?? []).entries()) {
      const last = joined.at(-1);
      if (at === 0 && isPlainText(last) && isPlainText(block))
        joined.splice(-1, 1, { ...last, text: `${last.text}${block.text}` });
      else joined.push(block);
    }
  }
  return joined;
}

function isPlainText(block: JsonObject | undefined): block is JsonObject & { text: string } {
  return isObject(block) && block['type'] === 'text' && Object.keys(block).length === 2;
}
