import {
  isObject,
  type JsonObject,
  type JsonValue,
  listField,
  numberField,
  objectField,
  textField,
  valueCost,
} from '../../json.ts';
import type { ReplyEvent } from '../events.ts';
import { soundEvents } from '../sound.ts';
import { sourceEvents } from '../sources.ts';
import { signThinking } from './items.ts';

/** The output of a reply, as far as it came. */
export interface ArrivingOutput {
  /** The names of the tools that were offered, where they are known. */
  readonly offered: readonly string[] | undefined;
  readonly items: ArrivingItem[];
  /** How many blocks readers were told of. */
  blocks: number;
  /** The words with which the model refused: they do not answer the prompt, so they are not in its text. */
  refusal: string;
  /** Pieces of a sound came: they are of no item. */
  hasSound: boolean;
  /** Searches of the service's own tool. */
  searches: number;
  /** Characters that are kept of it beside the events. */
  length: number;
}

/** One item of the output. */
interface ArrivingItem {
  /** `message`, `reasoning`, `function_call`, or another kind. */
  readonly type: string;
  readonly index: number | undefined;
  readonly id: string | undefined;
  /** What the item said of itself when it began. */
  readonly start: JsonObject;
  /** Its blocks: of a message one for each part of its content, else one. */
  readonly parts: Map<number, ArrivingPart>;
  /** The arguments of a call. */
  json: string;
  isDone: boolean;
}

/** A part of an item, which is a block for readers. */
interface ArrivingPart {
  readonly block: number;
  /** Characters that came. */
  length: number;
  annotations: number;
  /** Which paragraph of thinking comes, and in which kind of events. */
  paragraph?: number;
  kind?: string;
}

export function createResponseOutput(offered?: readonly string[]): ArrivingOutput {
  return { offered, items: [], blocks: 0, refusal: '', hasSound: false, searches: 0, length: 0 };
}

/** An item begins. A call without a name waits for all of it. */
export function beginItem(payload: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const { item: raw } = payload;
  if (!isObject(raw)) return [];
  const item = openItem(raw, numberField(payload, 'outputIndex'), output);
  if (isOfService(raw, output)) return [];
  return isCall(item) && textField(raw, 'name') ? beginCall(item, raw, output) : [];
}

/** A piece of an item, or all of the piece: that is only of use where nothing of it came before. */
export function growItem(event: string, payload: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const [, kind = '', way] = /^response\.([\w.]+?)\.(delta|done|annotation)/.exec(event) ?? [];
  const type = typesByKind[kind] ?? 'message';
  const index = numberField(payload, 'outputIndex');
  const item = findOpenItem(payload, type, output) ?? openItem({ type }, index, output);
  if (isOfService(item.start, output)) return [];
  const at = numberField(payload, 'contentIndex') ?? 0;
  if (way === 'annotation') return addAnnotation(item, at, payload['annotation'] ?? {});

  const piece = textField(payload, way === 'delta' ? 'delta' : (wholeNames[kind] ?? 'text')) ?? '';
  if (isCall(item)) return way === 'delta' ? addArguments(item, encodePiece(item, piece), output) : [];
  if (kind === 'refusal') {
    addRefusal(way === 'delta' ? piece : piece.slice(output.refusal.length), output);
    return [];
  }
  if (way === 'done' && item.parts.has(type === 'reasoning' ? 0 : at)) return [];
  if (type === 'message') return growText(item, at, piece, output);
  return addThinking(item, { text: piece, kind, paragraph: numberField(payload, 'summaryIndex') ?? at }, output);
}

/** Of which type of item a kind of event is, if not of a message. */
const typesByKind: Readonly<Record<string, string>> = {
  reasoning_summary_text: 'reasoning',
  reasoning_text: 'reasoning',
  function_call_arguments: 'function_call',
  custom_tool_call_input: 'custom_tool_call',
};

/** The field with all of a piece, if it is not `text`. */
const wholeNames: Readonly<Record<string, string>> = { refusal: 'refusal', 'audio.transcript': 'transcript' };

/** A piece of a sound, whose words come in events of their own. */
export function growSound(payload: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  output.hasSound = true;
  return soundEvents(payload['delta']);
}

function isCall({ type }: Pick<ArrivingItem, 'type'>): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

/** A call that the service made and answered itself, such as a search of xAI's: nobody offered it that custom tool. */
function isOfService(item: JsonObject, { offered }: ArrivingOutput): boolean {
  const name = item['type'] === 'custom_tool_call' ? textField(item, 'name') : undefined;
  return offered !== undefined && name !== undefined && !offered.includes(name);
}

/** A piece of the input of a call as JSON. That of a custom tool is free text: for readers it is `input` of an object. */
function encodePiece({ type, json }: ArrivingItem, piece: string): string {
  if (type === 'function_call') return piece;
  return (json === '' ? '{"input":"' : '') + JSON.stringify(piece).slice(1, -1);
}

/** An item is whole: what did not come before is added. */
export function finishItem(payload: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const { item: raw } = payload;
  if (!isObject(raw)) return [];
  const index = numberField(payload, 'outputIndex');
  const item = findItem(raw, index, output) ?? openItem(raw, index, output);
  if (item.isDone) return [];
  const finish = isOfService(raw, output) ? undefined : (finishers[item.type] ?? finishOther);
  return [...(finish?.(item, raw, output) ?? []), ...closeItem(item)];
}

/** The reply is over, and so are items that did not say so. */
export function endItems(output: ArrivingOutput): ReplyEvent[] {
  return output.items.flatMap((item) => {
    if (item.isDone) return [];
    const finish = isCall(item) && !isOfService(item.start, output) ? finishers[item.type] : undefined;
    return [...(finish?.(item, {}, output) ?? []), ...closeItem(item)];
  });
}

function openItem(item: JsonObject, index: number | undefined, output: ArrivingOutput): ArrivingItem {
  const type = textField(item, 'type') ?? 'message';
  const opened = { type, index, id: textField(item, 'id'), start: item, parts: new Map(), json: '', isDone: false };
  output.items.push(opened);
  output.length += valueCost;
  return opened;
}

/** The item that an event is about: by its id, else by its number, else the one that is open (deviation 73). */
function findOpenItem(payload: JsonObject, type: string, { items }: ArrivingOutput): ArrivingItem | undefined {
  const id = textField(payload, 'itemId');
  const index = numberField(payload, 'outputIndex');
  const open = items.filter((item) => !item.isDone && item.type === type);
  return (
    open.find((item) => id !== undefined && item.id === id) ??
    open.findLast((item) => index !== undefined && item.index === index) ??
    open.at(-1)
  );
}

/** The item that is whole in an event: it may have been so before. */
function findItem(raw: JsonObject, index: number | undefined, { items }: ArrivingOutput): ArrivingItem | undefined {
  const id = textField(raw, 'id');
  const type = textField(raw, 'type') ?? 'message';
  const alike = items.filter((item) => item.type === type);
  return (
    alike.find((item) => id !== undefined && item.id === id) ??
    alike.find((item) => !item.isDone && item.index === index) ??
    alike.findLast((item) => !item.isDone) ??
    alike.find((item) => item.index === index)
  );
}

/** The block of a part. It begins with its first piece. */
function openPart(item: ArrivingItem, at: number, raw: JsonObject, output: ArrivingOutput) {
  const known = item.parts.get(at);
  if (known) return { part: known, events: [] };
  const part: ArrivingPart = { block: output.blocks++, length: 0, annotations: 0 };
  item.parts.set(at, part);
  output.length += valueCost;
  const begun: ReplyEvent = { type: 'block-start', raw, index: part.block };
  return { part, events: [begun] };
}

function growText(item: ArrivingItem, at: number, text: string, output: ArrivingOutput): ReplyEvent[] {
  if (text === '') return [];
  const phase = textField(item.start, 'phase');
  const raw = { type: 'text', text: '', ...(phase !== undefined && { phase }) };
  const { part, events } = openPart(item, at, raw, output);
  part.length += text.length;
  return [...events, { type: 'text', text, index: part.block }];
}

/** Paragraphs of thinking come one after the other. Where they come in two kinds of events, both say the same. */
function addThinking(
  item: ArrivingItem,
  { text, kind, paragraph }: { text: string; kind: string; paragraph: number },
  output: ArrivingOutput,
): ReplyEvent[] {
  if (text === '') return [];
  const { part, events } = openPart(item, 0, { type: 'thinking', thinking: '' }, output);
  part.kind ??= kind;
  if (part.kind !== kind) return events;
  const added = (part.paragraph ?? paragraph) === paragraph ? text : `\n\n${text}`;
  part.paragraph = paragraph;
  part.length += added.length;
  return [...events, { type: 'thinking', text: added, index: part.block }];
}

function addAnnotation(item: ArrivingItem, at: number, citation: JsonValue): ReplyEvent[] {
  const part = item.parts.get(at);
  if (part === undefined) return [];
  part.annotations++;
  return [{ type: 'citation', citation, index: part.block }, ...sourceEvents([citation], part.block)];
}

function addRefusal(text: string, output: ArrivingOutput): void {
  output.refusal += text;
  output.length += text.length;
}

function addArguments(item: ArrivingItem, json: string, output: ArrivingOutput): ReplyEvent[] {
  item.json += json;
  output.length += json.length;
  const part = item.parts.get(0);
  return part === undefined || json === '' ? [] : [{ type: 'tool-input', json, index: part.block }];
}

function beginCall(item: ArrivingItem, raw: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const id = textField(raw, 'callId') ?? textField(raw, 'id');
  const name = textField(raw, 'name') ?? '';
  return openPart(item, 0, { type: 'tool_use', ...(id !== undefined && { id }), name, input: {} }, output).events;
}

const finishers: Readonly<Record<string, typeof finishMessage>> = {
  message: finishMessage,
  reasoning: finishThinking,
  function_call: finishCall,
  custom_tool_call: finishCustomCall,
};

function finishMessage(item: ArrivingItem, whole: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const content = whole['content'];
  const parts: JsonValue[] = typeof content === 'string' ? [{ text: content }] : (listField(whole, 'content') ?? []);
  const role = textField(whole, 'role');
  const events: ReplyEvent[] = role === undefined ? [] : [{ type: 'candidate', role }];
  for (const [at, part] of parts.entries()) {
    if (!isObject(part)) continue;
    addRefusal((textField(part, 'refusal') ?? '').slice(output.refusal.length), output);
    const text = textField(part, 'text') ?? textField(part, 'transcript') ?? '';
    events.push(...growText(item, at, text.slice(item.parts.get(at)?.length ?? 0), output));
    if (!output.hasSound) events.push(...soundEvents(part['data']));
    const annotations = listField(part, 'annotations') ?? [];
    for (const each of annotations.slice(item.parts.get(at)?.annotations ?? 0))
      events.push(...addAnnotation(item, at, each));
  }
  return events;
}

function finishThinking(item: ArrivingItem, whole: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const [summary, content] = [joinParagraphs(whole, 'summary'), joinParagraphs(whole, 'content')];
  const text = summary || content;
  const signature = signThinking(whole);
  if (text === '' && signature === undefined) return [];
  const { part, events } = openPart(item, 0, { type: 'thinking', thinking: '' }, output);
  const rest: ReplyEvent = { type: 'thinking', text: text.slice(part.length), index: part.block };
  const signed: ReplyEvent[] = signature === undefined ? [] : [{ type: 'signature', signature, index: part.block }];
  return [...events, rest, ...signed];
}

function joinParagraphs(item: JsonObject, name: string): string {
  const parts = listField(item, name) ?? [];
  return parts.flatMap((part) => (isObject(part) ? (textField(part, 'text') ?? []) : [])).join('\n\n');
}

function finishCall(item: ArrivingItem, whole: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const events = beginCall(item, { ...item.start, ...whole }, output);
  const given = whole['arguments'] ?? '';
  // The format has a string; some servers send the object itself.
  const json = (typeof given === 'string' ? given : JSON.stringify(given)) || item.json;
  if (json === '' || (events.length === 0 && json === item.json)) return events;
  return [...events, { type: 'tool-input', json, index: item.parts.get(0)?.block, isAll: true }];
}

/** The signature of a call of a custom tool is its item, which goes back as it came. */
function finishCustomCall(item: ArrivingItem, whole: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const events = beginCall(item, { ...item.start, ...whole }, output);
  const input = textField(whole, 'input');
  if (input === undefined) return item.json === '' ? events : [...events, ...addArguments(item, '"}', output)];
  const json = JSON.stringify({ input });
  const index = item.parts.get(0)?.block;
  const rest = json.startsWith(item.json)
    ? addArguments(item, json.slice(item.json.length), output)
    : [...addArguments(item, '"}', output), { type: 'tool-input', json, index, isAll: true } as const];
  return [...events, ...rest, { type: 'signature', signature: JSON.stringify(whole), index }];
}

/** An item of another kind has nothing for readers but an image and sources; the next turn sends it back, if the service takes it. */
function finishOther(item: ArrivingItem, whole: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const found = readFoundPages(whole);
  if (found !== undefined) {
    if (item.type === 'search_results') output.searches++;
    return found;
  }
  const action = item.type === 'web_search_call' ? (objectField(whole, 'action') ?? {}) : undefined;
  // To open a page that was found is no other search.
  if (action && (action['type'] ?? 'search') === 'search') output.searches++;
  if (item.type !== 'image_generation_call')
    return [...openPart(item, 0, { type: item.type, item: whole }, output).events, ...pageSources(whole)];
  const data = textField(whole, 'result');
  const mimeType = `image/${textField(whole, 'outputFormat') ?? 'png'}`;
  return data === undefined ? [] : [{ type: 'blob', mimeType, data }];
}

/**
 * The pages that Perplexity's service found or fetched, by the numbers that the text has for them; undefined for other items. Its input
 * does not take these items (npm @perplexity-ai/perplexity_ai 0.38.5, OutputItem and InputItem).
 */
function readFoundPages(item: JsonObject): ReplyEvent[] | undefined {
  if (item['type'] !== 'search_results' && item['type'] !== 'fetch_url_results') return undefined;
  const pages = listField(item, item['type'] === 'search_results' ? 'results' : 'contents') ?? [];
  return pages.filter(isObject).map((page) => {
    const [url, title, snippet] = ['url', 'title', 'snippet'].map((name) => textField(page, name) || undefined);
    const number = numberField(page, 'id');
    const mark = number === undefined ? undefined : `[${number}]`;
    return { type: 'source', source: { kind: 'web', url, title, snippet, ...(mark && { mark }) } };
  });
}

/** The pages that a search read, if `include` asks for them. */
function pageSources(item: JsonObject): ReplyEvent[] {
  const action = item['type'] === 'web_search_call' ? objectField(item, 'action') : undefined;
  const pages = ((action && listField(action, 'sources')) ?? []).filter(isObject);
  return pages.map((page) => ({ type: 'source', source: { kind: 'web', url: textField(page, 'url') || undefined } }));
}

function closeItem(item: ArrivingItem): ReplyEvent[] {
  item.isDone = true;
  return [...item.parts.values()].map(({ block }) => ({ type: 'block-stop', index: block }));
}
