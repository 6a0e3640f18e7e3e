import {
  isObject,
  type JsonObject,
  type JsonValue,
  numberField,
  objectField,
  parseFlat,
  textField,
} from '../../json.ts';
import { badReply } from '../../errors.ts';
import type { ReplyEvent } from '../events.ts';

/** A call of a tool while its pieces arrive. */
interface OpenCall {
  /** The number of its block. */
  readonly block: number;
  /** The number of the call on the wire, if it has one. */
  readonly wireIndex: number | undefined;
  id: string | undefined;
  name: string;
  /** The arguments, if each piece is appended to the ones before. */
  readonly joined: GrowingJson;
  /** The arguments, if a later piece repeats the earlier ones. */
  newest: GrowingJson;
  signature: string | undefined;
  /** The tool takes free text. Readers get it as `input` of an object. */
  isCustom: boolean;
  /** The start of the call was passed on: its name is known. */
  hasStarted: boolean;
}

/** The signature of a call of a tool of free text, which goes back in a form of its own. */
export const customCall = 'custom';

/** More calls than any model makes at once. There is a limit because each piece is compared with all calls. */
const maxCalls = 1000;

/** One piece of a call, or a whole call. */
interface ArrivingPiece {
  index: number | undefined;
  id: string | undefined;
  name: string;
  json: string;
  /** Google's proof of the thinking before the call. */
  signature: string | undefined;
  isCustom: boolean;
}

/** The calls of one candidate. Their blocks are numbered from `firstBlock`. */
export function createToolCallJoiner(firstBlock: number) {
  const calls: OpenCall[] = [];

  function openCall({ index, id }: ArrivingPiece): OpenCall {
    if (calls.length >= maxCalls) throw badReply(`the answer has more than ${maxCalls} calls of tools`);
    const block = firstBlock + calls.length;
    const call = {
      block,
      wireIndex: index,
      id,
      name: '',
      joined: growJson(''),
      newest: growJson(''),
      signature: undefined,
      isCustom: false,
      hasStarted: false,
    };
    calls.push(call);
    return call;
  }

  const starts = (before = calls.length): ReplyEvent[] =>
    calls.slice(0, before).flatMap((call) => callStartEvents(call, calls));

  return {
    /** Adds the calls of a message, or pieces of calls, and returns their events. */
    add(message: JsonObject): ReplyEvent[] {
      const seen = new Set<OpenCall>();
      return piecesIn(message).flatMap((piece) => {
        const earlier = calls.filter((call) => !seen.has(call));
        const call = findCall(earlier, piece) ?? openCall(piece);
        seen.add(call);
        return [...starts(calls.indexOf(call)), ...grow(call, piece, calls)];
      });
    },
    /** The starts of calls that were not passed on yet. */
    starts: () => starts(),
    /** The calls are over. */
    stop: (): ReplyEvent[] => [...starts(), ...calls.flatMap(callEndEvents)],
    /** All calls in the order in which they came, for a candidate whose pieces are not shown. */
    whole: (candidate: number): ReplyEvent[] => inOrder(calls).map((call) => callEvent(call, candidate)),
  };
}

/**
 * The call that a piece belongs to. An id decides. The number alone does not: some servers number all calls 0, and others count
 * their pieces. Without either, a name begins a call, unless it is the name of the last call, whose end is missing.
 */
function findCall(calls: readonly OpenCall[], piece: ArrivingPiece): OpenCall | undefined {
  const { index, id, name } = piece;
  const last = calls.at(-1);
  const named = id === undefined ? undefined : calls.find((call) => call.id === id);
  if (named) return named;
  if (index !== undefined) {
    const numbered = calls.findLast((call) => call.wireIndex === index);
    if (numbered && isOther(numbered, piece)) return undefined;
    if (numbered) return id !== undefined && numbered.id !== undefined && name !== '' ? undefined : numbered;
    return id === undefined && name === '' ? last : undefined;
  }
  if (id !== undefined || last === undefined) return undefined;
  return name === '' || (name === last.name && !isWholeText(last.joined)) ? last : undefined;
}

/** Whether a piece with the number of a call has another name, or other arguments of its own: the arguments are not for that call. */
function isOther(call: OpenCall, { id, name, json }: ArrivingPiece): boolean {
  if (name === '' || !call.hasStarted) return false;
  if (name !== call.name) return true;
  const wereAll = call.id === undefined && id === undefined && hasArguments(call.newest);
  return wereAll && hasArguments(growJson(json)) && json !== call.newest.text;
}

function hasArguments(json: GrowingJson): boolean {
  return isWholeObject(json) && !/^\s*\{\s*\}/.test(json.text);
}

function piecesIn(message: JsonObject): ArrivingPiece[] {
  const calls = message['tool_calls'];
  const old = objectField(message, 'functionCall');
  const listed = Array.isArray(calls) ? calls.filter(isObject) : [];
  return [...listed, ...(old ? [{ function: old }] : [])].map(readCallPiece).filter(isFilledPiece);
}

function readCallPiece(call: JsonObject): ArrivingPiece {
  const custom = objectField(call, 'custom');
  const called = custom ?? objectField(call, 'function') ?? {};
  const given = called[custom ? 'input' : 'arguments'] ?? '';
  return {
    index: numberField(call, 'index'),
    id: textField(call, 'id') || undefined,
    name: textField(called, 'name') ?? '',
    // The format has a string; some servers send the object itself.
    json: typeof given === 'string' ? given : JSON.stringify(given),
    signature: textField(objectField(objectField(call, 'extraContent') ?? {}, 'google') ?? {}, 'thoughtSignature'),
    isCustom: custom !== undefined,
  };
}

/** An empty piece is left out: some services send an empty call beside every text. */
function isFilledPiece({ id, name, json }: ArrivingPiece): boolean {
  return id !== undefined || name !== '' || !/^(?:\{\})?$/.test(json.trim());
}

function callEvent(call: OpenCall, candidate: number): ReplyEvent {
  const { id, name, signature } = call;
  const json = getArguments(call);
  const input = parseArguments(json);
  const signed = signature === undefined ? {} : { signature };
  return { type: 'call', id, name, input: input ?? json, isWhole: input !== undefined, ...signed, candidate };
}

/** The calls in the order of their numbers on the wire; in the order in which they came if some have the same number. */
function inOrder(calls: readonly OpenCall[]): readonly OpenCall[] {
  const numbers = new Set(calls.map(({ wireIndex }) => wireIndex));
  if (numbers.size < calls.length || numbers.has(undefined)) return calls;
  return calls.toSorted((one, other) => (one.wireIndex ?? 0) - (other.wireIndex ?? 0));
}

/** The start waits for the arguments: a name may come in pieces. */
function callStartEvents(call: OpenCall, calls: readonly OpenCall[]): ReplyEvent[] {
  if (call.hasStarted) return [];
  const started = inOrder(calls.filter((each) => each.hasStarted || each === call));
  const next = started[started.indexOf(call) + 1];
  call.hasStarted = true;
  const raw = { type: 'tool_use', ...(call.id !== undefined && { id: call.id }), name: call.name, input: {} };
  return [{ type: 'block-start', raw, index: call.block, ...(next && { before: next.block }) }];
}

function grow(call: OpenCall, piece: ArrivingPiece, calls: readonly OpenCall[]): ReplyEvent[] {
  const { id, name, signature } = piece;
  call.id ??= id;
  call.isCustom ||= piece.isCustom;
  call.signature ??= call.isCustom ? customCall : signature;
  // The name is not added twice: some servers repeat it with every piece.
  if (!call.hasStarted && name !== call.name) call.name += name;
  if (piece.json === '') return [];
  const json = call.isCustom ? encodeText(call, piece.json) : piece.json;
  growJson(json, call.joined);
  call.newest = joinArguments(call.newest, json);
  return [...callStartEvents(call, calls), { type: 'tool-input', json, index: call.block }];
}

/** A piece of free text in the JSON around it. */
function encodeText({ joined }: OpenCall, piece: string): string {
  return (joined.text === '' ? customOpening : '') + JSON.stringify(piece).slice(1, -1);
}

const customOpening = '{"input":"';

/** The events that are known only at the end of a call. */
function callEndEvents(call: OpenCall): ReplyEvent[] {
  const { block: index, signature, joined } = call;
  const whole = getArguments(call);
  return [
    ...(whole === joined.text ? [] : [{ type: 'tool-input', json: whole, index, isAll: true } as const]),
    ...(signature === undefined ? [] : [{ type: 'signature', signature, index } as const]),
    { type: 'block-stop', index },
  ];
}

/** The arguments so far with a piece that repeats them: it begins with them, or both are whole. */
function joinArguments(before: GrowingJson, piece: string): GrowingJson {
  const isLonger = piece.length >= before.text.length && piece.startsWith(before.text);
  const alone = isLonger || isWholeObject(before) ? growJson(piece) : undefined;
  return alone && (isLonger || isWholeObject(alone)) ? alone : growJson(piece, before);
}

/** A text of JSON, read as it grows: to parse all of it with each piece would take the square of its length. */
interface GrowingJson {
  text: string;
  /** The first character that is not white space. */
  kind: string;
  depth: number;
  inString: boolean;
  isEscaped: boolean;
  /** All brackets are closed. */
  isClosed: boolean;
  /** Another character follows the whole JSON. */
  isBroken: boolean;
}

/** Adds a piece to a text, or to an empty one. */
function growJson(piece: string, json: GrowingJson = emptyJson()): GrowingJson {
  json.text += piece;
  for (const char of piece) {
    if (json.isEscaped) json.isEscaped = false;
    else if (json.inString) {
      json.isEscaped = char === '\\';
      json.inString = char !== '"';
    } else if (char.trim() !== '') {
      json.kind ||= char;
      json.isBroken ||= json.isClosed;
      json.inString = char === '"';
      if (char === '{' || char === '[') json.depth++;
      else if (char === '}' || char === ']') json.isClosed = --json.depth <= 0;
    }
  }
  return json;
}

function emptyJson(): GrowingJson {
  return { text: '', kind: '', depth: 0, inString: false, isEscaped: false, isClosed: false, isBroken: false };
}

function isWholeObject({ kind, isClosed, isBroken }: GrowingJson): boolean {
  return kind === '{' && isClosed && !isBroken;
}

/** Whether a text is whole JSON; an empty one counts as whole. A value alone is no input of a tool, and short. */
function isWholeText({ text, kind, isClosed, isBroken }: GrowingJson): boolean {
  if (kind === '' || kind === '{' || kind === '[') return kind === '' || (isClosed && !isBroken);
  return text.length < 100 && parseArguments(text) !== undefined;
}

/** The arguments of a call. If the pieces joined are JSON, they are as the format wants it. */
function getArguments({ joined: { text: json }, newest, isCustom }: OpenCall): string {
  if (isCustom) return `${json || customOpening}"}`;
  if (parseArguments(json) !== undefined) return json;
  // `{}` in front of the pieces comes from a call without arguments.
  const rest = json.replace(/^\s*\{\}/, '');
  return [newest.text, rest].find((text) => isObject(parseArguments(text))) ?? json;
}

/** Reads the arguments of a call: an empty text and null are an empty object. Undefined if they are not JSON: cut, or wrong. */
function parseArguments(json: string): JsonValue | undefined {
  if (json.trim() === '') return {};
  try {
    return (parseFlat(json) as JsonValue) ?? {};
  } catch {
    return undefined;
  }
}
