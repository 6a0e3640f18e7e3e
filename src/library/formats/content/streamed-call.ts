import { field, isObject, type JsonObject, type JsonValue, textField } from '../../json.ts';
import type { ReplyEvent } from '../events.ts';

/** A call of a function, or a part of one whose arguments are streamed (deviation 44). */
export interface CallPiece {
  id: string | undefined;
  name: string | undefined;
  args: JsonValue | undefined;
  /** Values with the path of their place. */
  partialArgs: JsonValue[];
  willContinue: boolean;
  /** An empty call, which ends the call before it. */
  isEnd: boolean;
  signature?: string | undefined;
}

type ToolCallEvent = Extract<ReplyEvent, { type: 'call' }>;

/** Puts calls together from their pieces. */
export interface CallJoiner {
  /** The calls that are over with this piece. */
  add(piece: CallPiece, candidate: number): ToolCallEvent[];
  /** The call that is still open when the reply is over. */
  end(): ToolCallEvent[];
}

interface StreamedCall {
  call: ToolCallEvent & { input: JsonObject };
  /** Paths of strings that go on in a later piece. */
  openPaths: Set<string>;
  isBroken: boolean;
}

/** A piece without a name goes on with the last call of its candidate that was streamed. */
export function createCallJoiner(): CallJoiner {
  const open = new Map<number, StreamedCall>();
  const closeCalls = (candidate: number): ToolCallEvent[] => {
    const call = open.get(candidate)?.call;
    open.delete(candidate);
    return call ? [call] : [];
  };
  return {
    add(piece, candidate) {
      const { id, name, args, partialArgs, willContinue, signature } = piece;
      if (name !== undefined && partialArgs.length === 0 && !willContinue)
        return [
          ...closeCalls(candidate),
          { type: 'call', id, name, input: args ?? {}, isWhole: true, signature, candidate },
        ];
      const before = open.get(candidate);
      const begun = before && goesOn(before.call, piece) ? before : beginCall(piece, candidate);
      if (!begun) return [];
      applyPiece(begun, piece);
      const over = begun === before ? [] : closeCalls(candidate);
      open.set(candidate, begun);
      return over;
    },
    end: () => [...open.keys()].flatMap(closeCalls),
  };
}

function goesOn(call: ToolCallEvent, { id, name }: CallPiece): boolean {
  if (name === undefined) return true;
  return name === call.name && id === call.id && (id !== undefined || !call.isWhole);
}

/** Undefined for the end of a call that was not streamed. */
function beginCall({ id, name, partialArgs, signature }: CallPiece, candidate: number): StreamedCall | undefined {
  if (name === undefined && partialArgs.length === 0) return undefined;
  const call = { type: 'call' as const, id, name: name ?? '', input: {}, isWhole: false, signature, candidate };
  return { call, openPaths: new Set(), isBroken: name === undefined };
}

function applyPiece(open: StreamedCall, { args, partialArgs, willContinue, isEnd }: CallPiece): void {
  const { call, openPaths } = open;
  if (isObject(args)) for (const [name, value] of Object.entries(args)) put(call.input, name, value);
  for (const arg of partialArgs) if (!isObject(arg) || !addArgument(call.input, arg, openPaths)) open.isBroken = true;
  call.isWhole = !open.isBroken && (isEnd || (!willContinue && openPaths.size === 0));
}

/** Strings come in parts, all other values at once. False if the place or the value cannot be read. */
function addArgument(input: JsonObject, arg: JsonObject, openPaths: Set<string>): boolean {
  const path = textField(arg, 'jsonPath');
  if (path === undefined) return false;
  if (field(arg, 'willContinue') === true) openPaths.add(path);
  else openPaths.delete(path);
  const text = textField(arg, 'stringValue');
  if (text !== undefined) return changeAt(input, path, (before) => (typeof before === 'string' ? before : '') + text);
  const value = field(arg, 'numberValue') ?? field(arg, 'boolValue');
  if (value !== undefined) return typeof value !== 'object' && changeAt(input, path, () => value);
  const isNull = 'nullValue' in arg || 'null_value' in arg;
  return isNull ? changeAt(input, path, () => null) : true;
}

type PathStep = string | number;

/** Deeper values could not be written as JSON again. */
const maxSegments = 1000;
const segment = /\.([^.[\]]+)|\[(\d{1,9})\]|\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]/y;

/**
 * Changes the value at a path such as `$.a.b[0]['c d']`, and adds the missing objects and arrays on the way. False if the path
 * cannot be read, or leads through a value that is not an object, or past the next item of an array.
 */
function changeAt(root: JsonObject, path: string, change: (before: JsonValue | undefined) => JsonValue): boolean {
  const segments = readPath(path);
  const last = segments?.pop();
  if (segments === undefined || last === undefined) return false;
  let at: JsonValue = root;
  for (const [index, key] of segments.entries()) {
    const next = segments[index + 1] ?? last;
    if (!canHold(at, key)) return false;
    const inner: JsonValue = getMember(at, key) ?? (typeof next === 'number' ? [] : {});
    put(at, key, inner);
    at = inner;
  }
  if (!canHold(at, last)) return false;
  put(at, last, change(getMember(at, last)));
  return true;
}

/** Undefined if it is not a path, or is the path of the root itself. */
function readPath(path: string): PathStep[] | undefined {
  if (!path.startsWith('$')) return undefined;
  const segments: PathStep[] = [];
  segment.lastIndex = 1;
  while (segment.lastIndex < path.length && segments.length < maxSegments) {
    const [, name, index, quoted] = segment.exec(path) ?? [];
    if (name !== undefined) segments.push(name);
    else if (index !== undefined) segments.push(Number(index));
    else if (quoted !== undefined) segments.push(quoted.slice(1, -1).replaceAll(/\\(.)/gs, '$1'));
    else return undefined;
  }
  return segments.length === 0 || segments.length >= maxSegments ? undefined : segments;
}

type Container = JsonObject | JsonValue[];

function canHold(at: JsonValue, key: PathStep): at is Container {
  return typeof key === 'number' ? Array.isArray(at) && key <= at.length : isObject(at);
}

function getMember(at: Container, key: PathStep): JsonValue | undefined {
  return Object.hasOwn(at, key) ? (at as JsonObject)[key] : undefined;
}

/** Sets an own property, whatever its name is. */
function put(at: Container, key: PathStep, value: JsonValue): void {
  Object.defineProperty(at, key, { value, writable: true, enumerable: true, configurable: true });
}
