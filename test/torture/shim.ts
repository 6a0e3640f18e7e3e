// Loaded before the program (`--require`): lists its calls of the file system and of the network, and has one of them fail, or
// records what they change.
import type { Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';

type Call = (...args: unknown[]) => unknown;
type Room = Record<string, unknown>;

/** What a test asks for: the number of the call that fails, from 1, and how. */
interface Order {
  log: string;
  /** Calls on files in this folder are the program's own loading. */
  code: string;
  at?: number;
  fault?: string;
  /** A file for the changes, one a line: `Change`. */
  changes?: string;
}

/** What a call changed, once it is done. */
export interface Change {
  kind: 'open' | 'write' | 'truncate' | 'sync' | 'rename' | 'link' | 'unlink' | 'mkdir' | 'send';
  path: string;
  to?: string;
  /** Base64; of `send` a text. */
  data?: string;
  /** Where it is written, or cut; otherwise at the end. */
  offset?: number;
  /** How many changes there were when it began: a sync is sure of these. */
  from: number;
}

const order = JSON.parse(process.env['TORTURE'] ?? '{}') as Order;
const fs = process.getBuiltinModule('node:fs') as unknown as Room & { promises: Room };
const net = process.getBuiltinModule('node:net') as unknown as { Socket: { prototype: Room } };
const { openSync, statSync, writeSync } = { ...process.getBuiltinModule('node:fs') };
const isFile = (path: string): boolean => statSync(path).isFile();

/** What is called while a call is counted belongs to it. */
let depth = 0;
let calls = 0;
let log: number | undefined;
let changesFile: number | undefined;

function isCode(subject: unknown): boolean {
  const path = typeof subject === 'string' ? subject : subject instanceof URL ? subject.pathname : '';
  return path.startsWith(order.code);
}

/** Counts a call; returns how it is to fail. */
function count(name: string, subject: unknown): string | undefined {
  calls++;
  const fault = calls === order.at ? order.fault : undefined;
  const words = [calls, name, typeof subject === 'string' ? subject : '', fault ?? ''];
  log ??= openSync(order.log, 'a');
  writeSync(log, `${words.join('\t')}\n`);
  return fault;
}

const paths = new Map<unknown, string>();
let changes = 0;

function record(change: Change): void {
  if (order.changes === undefined) return;
  changes++;
  changesFile ??= openSync(order.changes, 'a');
  writeSync(changesFile, `${JSON.stringify(change)}\n`);
}

/** Records what a call changed; `path` is that of its file, or its first argument. */
function recordCall(name: string, path: string | undefined, args: unknown[], from: number): void {
  if (path === undefined) return;
  const verb = name.replace(/Sync$/, '');
  const bytes = (data: unknown): string => Buffer.from(data as Uint8Array).toString('base64');
  if (verb === 'open' && !isFile(path)) return;
  if (verb === 'open') record({ kind: 'open', path, from });
  else if (verb === 'write') {
    const [data, start = 0, length, position] = args as [Uint8Array, number?, number?, number?];
    const part = Buffer.from(data).subarray(start, length === undefined ? undefined : start + length);
    record({ kind: 'write', path, data: bytes(part), ...(typeof position === 'number' && { offset: position }), from });
  } else if (verb === 'writeFile' || verb === 'appendFile') {
    record({ kind: 'open', path, from });
    record({ kind: 'write', path, data: bytes(args[0]), from });
  } else if (verb === 'truncate' || verb === 'ftruncate') {
    record({ kind: 'truncate', path, offset: Number(args[0] ?? 0), from });
  } else if (/^f?(?:data)?sync$/.test(verb)) record({ kind: 'sync', path, from });
  else if (verb === 'rename' || verb === 'link') record({ kind: verb, path, to: String(args[0]), from });
  else if (verb === 'unlink' || verb === 'mkdir') record({ kind: verb, path, from });
}

/** The path of a file, which can be given by its descriptor. */
function pathOf(file: unknown): string | undefined {
  return typeof file === 'number' ? paths.get(file) : String(file);
}

function systemError(code: string, syscall: string, path?: unknown): Error {
  const about = typeof path === 'string' ? ` '${path}'` : '';
  const [errno = -5] = { EACCES: [-13], EIO: [-5], EMFILE: [-24], ENOSPC: [-28], ECONNRESET: [-104] }[code] ?? [];
  const facts = { code, errno, syscall, ...(about && { path }) };
  return Object.assign(new Error(`${code}: torture, ${syscall}${about}`), facts);
}

/** The arguments of a write of half of its bytes. */
function halve(args: unknown[]): unknown[] {
  const [fd, data, offset, length, position] = args;
  const bytes = typeof data === 'string' ? Buffer.from(data) : Buffer.from(data as Uint8Array);
  if (typeof data === 'string') return [fd, bytes, 0, bytes.length >> 1, typeof offset === 'number' ? offset : null];
  const from = typeof offset === 'number' ? offset : 0;
  const size = typeof length === 'number' ? length : bytes.length - from;
  return [fd, data, from, size >> 1, position ?? null];
}

const isWrite = (name: string): boolean => /^write(Sync)?$/.test(name);
/** A file that is written in one call stays with half of its bytes. */
const isWhole = (name: string): boolean => /^(write|append)File(Sync)?$/.test(name);
const half = (data: unknown): unknown =>
  typeof data === 'string' ? data.slice(0, data.length >> 1) : Buffer.from(data as Uint8Array).subarray(0, 8);

function wrapSync(name: string, original: Call): Call {
  return function (this: unknown, ...args) {
    if (depth > 0 || isCode(args[0])) return original.apply(this, args);
    const fault = count(name, args[0]);
    depth++;
    try {
      if (fault === undefined) {
        const from = changes;
        const result = original.apply(this, args);
        if (name === 'openSync') paths.set(result, String(args[0]));
        recordCall(name, pathOf(args[0]), args.slice(1), from);
        return result;
      }
      if (fault === 'short' && isWrite(name)) return original.apply(this, halve(args));
      if (fault === 'short' && isWhole(name)) original.apply(this, [args[0], half(args[1]), ...args.slice(2)]);
      if (name === 'closeSync') original.apply(this, args);
      if (name === 'existsSync') return false;
      throw systemError(fault === 'short' ? 'ENOSPC' : fault, name, args[0]);
    } finally {
      depth--;
    }
  };
}

function wrapCallback(name: string, original: Call): Call {
  return function (this: unknown, ...args) {
    const done = args.at(-1);
    if (depth > 0 || isCode(args[0]) || typeof done !== 'function') return original.apply(this, args);
    const fault = count(name, args[0]);
    const from = changes;
    const recorded = (error: unknown, ...results: unknown[]): void => {
      if (!error) recordCall(name, pathOf(args[0]), args.slice(1, -1), from);
      (done as Call)(error, ...results);
    };
    if (fault === undefined) return original.apply(this, [...args.slice(0, -1), recorded]);
    if (fault === 'short' && isWrite(name)) return original.apply(this, [...halve(args.slice(0, -1)), done]);
    const error = systemError(fault === 'short' ? 'ENOSPC' : fault, name, args[0]);
    const fail = (): unknown => (done as Call)(error);
    if (name === 'close') return original.call(this, args[0], fail);
    process.nextTick(fail);
    return undefined;
  };
}

function wrapPromise(name: string, original: Call): Call {
  return async function (this: unknown, ...args: unknown[]) {
    if (isCode(args[0])) return original.apply(this, args);
    const fault = count(name, args[0]);
    const from = changes;
    if (fault === undefined) {
      const result = await original.apply(this, args);
      recordCall(name, String(args[0]), args.slice(1), from);
      return result;
    }
    if (fault === 'short' && isWhole(name)) await original.apply(this, [args[0], half(args[1]), ...args.slice(2)]);
    throw systemError(fault === 'short' ? 'ENOSPC' : fault, name, args[0]);
  };
}

/** A method of a FileHandle, whose own file is its first argument elsewhere. */
function wrapMethod(name: string, original: Call): Call {
  return async function (this: unknown, ...args: unknown[]) {
    const fault = count(`handle.${name}`, undefined);
    const from = changes;
    if (fault === undefined) {
      const path = paths.get((this as Room)['fd']);
      const result = await original.apply(this, args);
      recordCall(name, path, args, from);
      return result;
    }
    if (fault === 'short' && isWrite(name)) return original.apply(this, halve([0, ...args]).slice(1));
    if (fault === 'short' && isWhole(name)) await original.apply(this, [half(args[0]), ...args.slice(1)]);
    if (name === 'close') await original.apply(this, args);
    throw systemError(fault === 'short' ? 'ENOSPC' : fault, name);
  };
}

function wrapFiles(): void {
  for (const [name, value] of Object.entries(fs)) {
    if (typeof value !== 'function' || !name.endsWith('Sync')) continue;
    fs[name] = Object.assign(wrapSync(name, value as Call), value);
    const callback = name.slice(0, -'Sync'.length);
    const other = fs[callback];
    if (typeof other === 'function') fs[callback] = Object.assign(wrapCallback(callback, other as Call), other);
  }
  const { promises } = fs;
  for (const [name, value] of Object.entries(promises))
    if (typeof value === 'function') promises[name] = wrapPromise(name, value as Call);
  // The class of its handles is that of the first one.
  const open = promises['open'] as Call;
  let isWrapped = false;
  promises['open'] = async (...args: unknown[]) => {
    const handle = (await open(...args)) as Room;
    if (!isWrapped) wrapHandles(Object.getPrototypeOf(handle) as Room);
    isWrapped = true;
    paths.set(handle['fd'], String(args[0]));
    // Each handle has a `close` of its own.
    handle['close'] = wrapMethod('close', handle['close'] as Call);
    return handle;
  };
}

function wrapHandles(prototype: Room): void {
  const names = 'appendFile chmod datasync read readFile stat sync truncate utimes write writeFile writev'.split(' ');
  for (const name of names) prototype[name] = wrapMethod(name, prototype[name] as Call);
}

/** What a socket is given: a text, bytes, or several chunks. */
function textOf(data: unknown): string {
  if (Array.isArray(data)) return data.map(({ chunk }: { chunk: unknown }) => textOf(chunk)).join('');
  return typeof data === 'string' ? data : Buffer.from(data as Uint8Array).toString();
}

/** Only connections that the program opens: its streams are sockets, too. */
function wrapSockets(): void {
  const { prototype } = net.Socket;
  const opened = new WeakSet<object>();
  const { connect, push, _writeGeneric: send } = prototype as Record<string, Call>;
  const fails = (socket: Socket, name: string): boolean => {
    const fault = opened.has(socket) && count(name, undefined);
    if (fault) process.nextTick(() => socket.destroy(systemError(fault, name)));
    return fault !== undefined && fault !== false;
  };
  prototype['connect'] = function (this: Socket, ...args: unknown[]) {
    opened.add(this);
    return fails(this, 'connect') ? this : connect?.apply(this, args);
  };
  prototype['_writeGeneric'] = function (this: Socket, ...args: unknown[]) {
    if (!this.connecting && fails(this, 'send')) return undefined;
    const result = send?.apply(this, args);
    if (opened.has(this)) record({ kind: 'send', path: '', data: textOf(args[1]), from: changes });
    return result;
  };
  prototype['push'] = function (this: Socket, ...args: unknown[]) {
    return fails(this, 'receive') ? false : push?.apply(this, args);
  };
}

if (isMainThread && order.log !== undefined) {
  wrapFiles();
  wrapSockets();
}
