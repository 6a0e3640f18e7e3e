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
import type { Body, BodyValue } from '../../body.ts';
import type { ReplyEvent } from '../events.ts';
import { soundEvents } from '../sound.ts';
import { sourceEvents } from '../sources.ts';
import { signThinking } from './items.ts';
import { append } from '../../long-lists.ts';
import { findOwn } from '../../find-own.ts';

/** The output of a reply, as far as it came. */
export interface ArrivingOutput {
  /** The names of the tools that were offered, where they are known. */
  readonly offered: readonly string[] | undefined;
  readonly items: ArrivingItem[];
  readonly byType: Map<string, ItemsOfType>;
  /** Number of blocks that readers were told of. */
  blocks: number;
  /** The words with which the model refused: they do not answer the prompt, so they are not in its text. */
  refusal: string;
  /** Pieces of a sound came: they belong to no item. */
  hasSound: boolean;
  /** Searches of the service's own tool. */
  searches: number;
  /** Pictures that the service's tool made. */
  pictures: number;
  /** Characters that are kept of the output beside the events. */
  length: number;
}

/** The items of a type, indexed so that no search goes through all items. */
interface ItemsOfType {
  /** All items in the order in which they began. */
  readonly all: ArrivingItem[];
  readonly byId: Map<string, ArrivingItem>;
  /** The newest of each number. */
  readonly byIndex: Map<number, ArrivingItem>;
  /** Open items; at the end there may be some that are done. */
  readonly open: ArrivingItem[];
  /** Number of items of `all` that the last event has had. */
  listed: number;
}

/** One item of the output. */
interface ArrivingItem {
  /** `message`, `reasoning`, `function_call`, or another kind. */
  readonly type: string;
  /** The fields that the item had when it began. */
  readonly start: JsonObject;
  /** The blocks of the item: a message has one for each part of its content, other items have one. */
  readonly parts: ArrivingPart[];
  /** The next text begins a part, or a paragraph of thinking. */
  startsPart: boolean;
  /** Events say where its parts begin. */
  announcesParts: boolean;
  /** Pieces came since a text was whole. */
  hasPieces: boolean;
  /** The number of the part that came last. */
  partIndex: number | undefined;
  /** The arguments of a call. */
  json: string;
  isDone: boolean;
  /** The last event lists the item. */
  isListed: boolean;
}

/** A part of an item, which is a block for readers. */
interface ArrivingPart {
  readonly block: number;
  /** Characters that came. */
  length: number;
  annotations: number;
  /** The kind of events in which thinking comes. */
  kind?: string;
}

/** The names of the tools that a request offers. */
export function listToolNames({ tools }: Body): string[] {
  return Array.isArray(tools) ? tools.flatMap(readToolName) : [];
}

/** Tools can be in a namespace, which is an entry of the list like a tool. */
function readToolName(tool: BodyValue): string[] {
  if (!isObject(tool)) return [];
  const name = textField(tool, 'name');
  return [...(name === undefined ? [] : [name]), ...(listField(tool, 'tools') ?? []).flatMap(readToolName)];
}

export function createResponseOutput(offered?: readonly string[]): ArrivingOutput {
  const counts = { blocks: 0, refusal: '', hasSound: false, searches: 0, pictures: 0, length: 0 };
  return { offered, items: [], byType: new Map(), ...counts };
}

/** An item begins. A call without a name waits for all of it. */
export function beginItem(payload: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const { item: raw } = payload;
  if (!isObject(raw)) return [];
  const item = openItem(raw, numberField(payload, 'outputIndex'), output);
  if (isOfService(raw, output)) return [];
  return isCall(item) && textField(raw, 'name') ? beginCall(item, raw, output) : [];
}

/** A piece of an item, or the whole text of a part: the whole text matters only if no piece of it came before. */
export function growItem(event: string, payload: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const [, kind = '', way] = /^response\.([\w.]+?)\.(delta|done|annotation)/.exec(event) ?? [];
  const type = findOwn(typesByKind, kind) ?? 'message';
  const index = numberField(payload, 'outputIndex');
  const item = findOpenItem(payload, type, output) ?? openItem({ type }, index, output);
  if (isOfService(item.start, output)) return [];
  if (way === 'annotation') return addAnnotation(item.parts.at(-1), payload['annotation'] ?? {});

  const piece = textField(payload, way === 'delta' ? 'delta' : (findOwn(wholeNames, kind) ?? 'text')) ?? '';
  if (isCall(item)) return way === 'delta' ? addArguments(item, encodePiece(item, piece), output) : [];
  if (kind === 'refusal') {
    addRefusal(way === 'delta' ? piece : piece.slice(output.refusal.length), output);
    return [];
  }
  const rest = way === 'done' && item.hasPieces ? '' : piece;
  if (way === 'delta') turnToPart(item, numberField(payload, type === 'message' ? 'contentIndex' : 'summaryIndex'));
  const grown = type === 'message' ? growText(item, rest, output) : addThinking(item, rest, kind, output);
  if (way === 'done') item.startsPart = true;
  item.hasPieces = way === 'delta';
  return grown;
}

/**
 * A part of an item begins. If events say so, the number of a part is ignored: some servers count the parts of all items, or each
 * piece of one (deviation 80).
 */
export function beginPart(payload: JsonObject, output: ArrivingOutput): void {
  const isThinking = objectField(payload, 'part')?.['type'] === 'reasoning_text';
  const item = findOpenItem(payload, isThinking ? 'reasoning' : 'message', output);
  if (item) Object.assign(item, { startsPart: true, announcesParts: true });
}

/** A piece whose number differs from the piece before begins a part. */
function turnToPart(item: ArrivingItem, index: number | undefined): void {
  if (!item.announcesParts && index !== item.partIndex && item.parts.length > 0) item.startsPart = true;
  item.partIndex = index;
}

/** The type of item that a kind of event belongs to, if it is not a message. */
const typesByKind: Readonly<Record<string, string>> = {
  reasoning_summary_text: 'reasoning',
  reasoning_text: 'reasoning',
  function_call_arguments: 'function_call',
  custom_tool_call_input: 'custom_tool_call',
};

/** The field with the whole text of a part, if it is not `text`. */
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

/** A piece of the input of a call, as JSON. The input of a custom tool is free text: readers get it as `input` of an object. */
function encodePiece({ type, json }: ArrivingItem, piece: string): string {
  if (type === 'function_call') return piece;
  return (json === '' ? '{"input":"' : '') + JSON.stringify(piece).slice(1, -1);
}

/** An item is whole: parts that did not come before are added. */
export function finishItem(payload: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const { item: raw } = payload;
  if (!isObject(raw)) return [];
  const index = numberField(payload, 'outputIndex');
  return finish(findItem(raw, index, output) ?? openItem(raw, index, output), raw, output);
}

/** All items of a whole reply, or of the last event. */
export function finishItems(list: readonly JsonValue[], output: ArrivingOutput): ReplyEvent[] {
  const raws = list.filter(isObject);
  const named = raws.map((raw) => takeListed(findNamed(raw, output)));
  return raws.flatMap((raw, at) => {
    const item = named[at] ?? takeListed(findUnlisted(raw, at, output)) ?? openItem(raw, at, output);
    item.isListed = true;
    return finish(item, raw, output);
  });
}

function takeListed(item: ArrivingItem | undefined): ArrivingItem | undefined {
  if (item === undefined || item.isListed) return undefined;
  item.isListed = true;
  return item;
}

function finish(item: ArrivingItem, raw: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  if (item.isDone) return [];
  const finisher = isOfService(raw, output) ? undefined : (findOwn(finishers, item.type) ?? finishOther);
  return [...(finisher?.(item, raw, output) ?? []), ...closeItem(item)];
}

/** The reply is over, and so are items without an end of their own. */
export function endItems(output: ArrivingOutput): ReplyEvent[] {
  return output.items.flatMap((item) => {
    if (item.isDone) return [];
    const finisher = isCall(item) && !isOfService(item.start, output) ? finishers[item.type] : undefined;
    return [...(finisher?.(item, {}, output) ?? []), ...closeItem(item)];
  });
}

function openItem(item: JsonObject, index: number | undefined, output: ArrivingOutput): ArrivingItem {
  const type = textField(item, 'type') ?? 'message';
  const flags = { startsPart: false, announcesParts: false, hasPieces: false, isDone: false, isListed: false };
  const opened: ArrivingItem = { type, start: item, parts: [], partIndex: undefined, json: '', ...flags };
  const { all, byId, byIndex, open } = itemsOfType(type, output);
  const id = textField(item, 'id');
  if (id !== undefined && !byId.has(id)) byId.set(id, opened);
  if (index !== undefined) byIndex.set(index, opened);
  for (const list of [output.items, all, open]) list.push(opened);
  output.length += valueCost;
  return opened;
}

function itemsOfType(type: string, { byType }: ArrivingOutput): ItemsOfType {
  const known = byType.get(type);
  if (known) return known;
  const made: ItemsOfType = { all: [], byId: new Map(), byIndex: new Map(), open: [], listed: 0 };
  byType.set(type, made);
  return made;
}

function findNewestOpen({ open }: ItemsOfType): ArrivingItem | undefined {
  while (open.at(-1)?.isDone) open.pop();
  return open.at(-1);
}

/** The item that an event is about: by its id, otherwise by its number, otherwise the open one (deviation 73). */
function findOpenItem(payload: JsonObject, type: string, output: ArrivingOutput): ArrivingItem | undefined {
  const alike = itemsOfType(type, output);
  const named = alike.byId.get(textField(payload, 'itemId') ?? '');
  if (named?.isDone === false) return named;
  const numbered = alike.byIndex.get(numberField(payload, 'outputIndex') ?? -1);
  return numbered?.isDone === false ? numbered : findNewestOpen(alike);
}

function findNamed(raw: JsonObject, output: ArrivingOutput): ArrivingItem | undefined {
  const id = textField(raw, 'id');
  return id === undefined ? undefined : itemsOfType(textField(raw, 'type') ?? 'message', output).byId.get(id);
}

/** The item that an event completes: it may have been complete before. */
function findItem(raw: JsonObject, index: number | undefined, output: ArrivingOutput): ArrivingItem | undefined {
  const named = findNamed(raw, output);
  if (named) return named;
  const alike = itemsOfType(textField(raw, 'type') ?? 'message', output);
  const numbered = index === undefined ? undefined : alike.byIndex.get(index);
  return numbered?.isDone === false ? numbered : (findNewestOpen(alike) ?? numbered);
}

/** An item of the last event whose id is new: the item of its number, otherwise the first unlisted item of its type. */
function findUnlisted(raw: JsonObject, index: number, output: ArrivingOutput): ArrivingItem | undefined {
  const alike = itemsOfType(textField(raw, 'type') ?? 'message', output);
  const numbered = alike.byIndex.get(index);
  if (numbered?.isListed === false) return numbered;
  while (alike.all[alike.listed]?.isListed) alike.listed++;
  return alike.all[alike.listed];
}

/** The only block of an item. It begins with its first piece. */
function openPart(item: ArrivingItem, raw: JsonObject, output: ArrivingOutput) {
  const [known] = item.parts;
  return known ? { part: known, events: [] } : addPart(item, raw, output);
}

function addPart(item: ArrivingItem, raw: JsonObject, output: ArrivingOutput) {
  const part: ArrivingPart = { block: output.blocks++, length: 0, annotations: 0 };
  item.parts.push(part);
  item.startsPart = false;
  output.length += valueCost;
  const begun: ReplyEvent = { type: 'block-start', raw, index: part.block };
  return { part, events: [begun] };
}

function growText(item: ArrivingItem, text: string, output: ArrivingOutput): ReplyEvent[] {
  if (text === '') return [];
  const phase = textField(item.start, 'phase');
  const raw = { type: 'text', text: '', ...(phase !== undefined && { phase }) };
  const last = item.startsPart ? undefined : item.parts.at(-1);
  const { part, events } = last ? { part: last, events: [] } : addPart(item, raw, output);
  part.length += text.length;
  return [...events, { type: 'text', text, index: part.block }];
}

/** Adds a text of thinking, paragraph by paragraph. Thinking that comes in two kinds of events is the same text twice. */
function addThinking(item: ArrivingItem, text: string, kind: string, output: ArrivingOutput): ReplyEvent[] {
  if (text === '') return [];
  const { part, events } = openPart(item, { type: 'thinking', thinking: '' }, output);
  part.kind ??= kind;
  if (part.kind !== kind) return events;
  const added = item.startsPart && part.length > 0 ? `\n\n${text}` : text;
  item.startsPart = false;
  part.length += added.length;
  return [...events, { type: 'thinking', text: added, index: part.block }];
}

function addAnnotation(part: ArrivingPart | undefined, citation: JsonValue): ReplyEvent[] {
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
  const [part] = item.parts;
  return part === undefined || json === '' ? [] : [{ type: 'tool-input', json, index: part.block }];
}

function beginCall(item: ArrivingItem, raw: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const id = textField(raw, 'callId') ?? textField(raw, 'id');
  const name = textField(raw, 'name') ?? '';
  return openPart(item, { type: 'tool_use', ...(id !== undefined && { id }), name, input: {} }, output).events;
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
  // The parts are in order, whatever their numbers were.
  let before = item.parts.reduce((sum, { length }) => sum + length, 0);
  let count = 0;
  for (const part of parts) {
    if (!isObject(part)) continue;
    addRefusal((textField(part, 'refusal') ?? '').slice(output.refusal.length), output);
    const text = textField(part, 'text') ?? textField(part, 'transcript') ?? '';
    const came = Math.min(before, text.length);
    before -= came;
    item.startsPart = came === 0;
    append(events, growText(item, text.slice(came), output));
    if (!output.hasSound) append(events, soundEvents(part['data']));
    const block = text === '' ? undefined : (item.parts[count++] ?? item.parts.at(-1));
    for (const each of (listField(part, 'annotations') ?? []).slice(block?.annotations))
      append(events, addAnnotation(block, each));
  }
  return events;
}

function finishThinking(item: ArrivingItem, whole: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const [summary, content] = [joinParagraphs(whole, 'summary'), joinParagraphs(whole, 'content')];
  const text = summary || content;
  const signature = signThinking(whole);
  if (text === '' && signature === undefined) return [];
  const { part, events } = openPart(item, { type: 'thinking', thinking: '' }, output);
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
  return [...events, { type: 'tool-input', json, index: item.parts[0]?.block, isAll: true }];
}

/** The signature of a call of a custom tool is its item, which goes back as it came. */
function finishCustomCall(item: ArrivingItem, whole: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const events = beginCall(item, { ...item.start, ...whole }, output);
  const input = textField(whole, 'input');
  if (input === undefined) return item.json === '' ? events : [...events, ...addArguments(item, '"}', output)];
  const json = JSON.stringify({ input });
  const index = item.parts[0]?.block;
  const rest = json.startsWith(item.json)
    ? addArguments(item, json.slice(item.json.length), output)
    : [...addArguments(item, '"}', output), { type: 'tool-input', json, index, isAll: true } as const];
  return [...events, ...rest, { type: 'signature', signature: JSON.stringify(whole), index }];
}

/** An item of another kind has only an image and sources for readers; the next turn sends it back, if the service takes it. */
function finishOther(item: ArrivingItem, whole: JsonObject, output: ArrivingOutput): ReplyEvent[] {
  const found = readFoundPages(whole);
  if (found !== undefined) {
    if (item.type === 'search_results') output.searches++;
    return found;
  }
  const action = item.type === 'web_search_call' ? (objectField(whole, 'action') ?? {}) : undefined;
  // Opening a page that was found does not count as another search.
  if (action && (action['type'] ?? 'search') === 'search') output.searches++;
  if (item.type !== 'image_generation_call')
    return [...openPart(item, { type: item.type, item: whole }, output).events, ...pageSources(whole)];
  const data = textField(whole, 'result');
  const mimeType = `image/${textField(whole, 'outputFormat') ?? 'png'}`;
  if (data === undefined) return [];
  output.pictures++;
  return [{ type: 'blob', mimeType, data }];
}

/**
 * The pages that Perplexity's service found or fetched, with the numbers that the text uses for them; undefined for other items.
 * They do not go back: its input does not take these items (npm @perplexity-ai/perplexity_ai 0.38.5, OutputItem and InputItem).
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
  return item.parts.map(({ block }) => ({ type: 'block-stop', index: block }));
}
