import { EventEmitter, once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { createWatch } from './loopback.ts';
import { createRequestReader, type ReceivedRequest } from './request-reader.ts';

/** Step: sends RST. */
export const reset = Symbol('reset');
/** Step: sends FIN without finishing what was begun. */
export const cut = Symbol('cut');

/** Bytes to write, something to wait for, or an end of the connection. */
type Step = string | Uint8Array | Promise<unknown> | typeof reset | typeof cut;
/** A list, or a generator for endless replies (written with back-pressure). */
type Steps = Iterable<Step> | AsyncIterable<Step>;

/** A reply to one request. Without `chunks` it has a Content-Length; with them it is chunked, one frame a step. */
export interface ScriptedReply {
  status?: number;
  headers?: Record<string, string>;
  /** Text or bytes as they are, anything else as JSON. */
  body?: unknown;
  chunks?: Steps;
  /** Literal bytes instead of all the above; the connection stays open unless a step ends it. */
  raw?: Steps;
  /** Begin as soon as the request's head is there, not its body. */
  early?: boolean;
}
type Answer = ScriptedReply | ((request: ReceivedRequest) => ScriptedReply | Promise<ScriptedReply>);

/** A server on 127.0.0.1 that answers with what the test queued, in the order of the requests. */
export interface ScriptedServer {
  /** `http://127.0.0.1:port` without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** Connections accepted so far. */
  readonly connections: number;
  /** Queues the reply to the next request. */
  reply(answer: Answer): void;
  /** Queues literal bytes as the reply to the next request. */
  raw(...steps: Step[]): void;
  /** Answers every request for which nothing is queued. */
  always(answer: Answer): void;
  /** Resets the next connection before reading from it. */
  dropNextConnection(): void;
  /** Resolves when `count` requests came whole. */
  received(count: number): Promise<void>;
  /** Ends all connections. Throws when a request was not expected or a queued reply was never asked for. */
  close(): Promise<void>;
}

/** A pause that the test ends: `chunks: ['a', pause.until, 'b']`, then `pause.release()`. */
export function createPause(): { until: Promise<void>; release: () => void } {
  const events = new EventEmitter();
  return { until: once(events, 'go').then(() => {}), release: () => void events.emit('go') };
}

interface ServerOptions {
  /** Speaks TLS with this certificate (PEM). */
  tls?: { key: string; cert: string; ca?: string; requestCert?: boolean };
  host?: string;
}

export async function startScriptedServer({ tls, host = '127.0.0.1' }: ServerOptions = {}): Promise<ScriptedServer> {
  const state = {
    connections: 0,
    drops: 0,
    whole: 0,
    unexpected: [] as string[],
    standing: undefined as Answer | undefined,
  };
  const queue: Answer[] = [];
  const requests: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  const watch = createWatch();

  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  // The client may refuse the handshake: that is a test's subject, not the server's failure.
  server.on('tlsClientError', () => {});
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  function serve(socket: Socket): void {
    state.connections++;
    sockets.add(socket);
    // Every step goes out at once, not when the one before it was acknowledged.
    socket.setNoDelay(true);
    socket.on('error', () => {});
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    void closed.then(() => sockets.delete(socket));
    if (state.drops > 0) {
      state.drops--;
      socket.resetAndDestroy();
      return;
    }
    const answers = new Map<ReceivedRequest, Answer>();
    const read = createRequestReader({
      closed,
      onHead(request) {
        requests.push(request);
        const answer = queue.shift() ?? state.standing ?? unexpected(request);
        if (typeof answer !== 'function' && answer.early === true) void send(socket, answer);
        else answers.set(request, answer);
      },
      onEnd(request) {
        state.whole++;
        watch.look();
        const answer = answers.get(request);
        if (answer !== undefined) void respond(socket, answer, request);
      },
    });
    socket.on('data', read);
  }

  function unexpected(request: ReceivedRequest): ScriptedReply {
    state.unexpected.push(`${request.method} ${request.path}`);
    return { status: 500, headers: { 'x-should-retry': 'false' }, body: 'this request was not expected' };
  }

  return {
    url: `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    requests,
    get connections() {
      return state.connections;
    },
    reply: (answer) => void queue.push(answer),
    raw: (...steps) => void queue.push({ raw: steps }),
    always: (answer) => void (state.standing = answer),
    dropNextConnection: () => void state.drops++,
    received: (count) => watch.until(() => state.whole >= count),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      if (state.unexpected.length > 0) throw new Error(`unexpected: ${state.unexpected.join(', ')}`);
      if (queue.length > 0) throw new Error(`${queue.length} queued replies were never asked for`);
    },
  };
}

async function respond(socket: Socket, answer: Answer, request: ReceivedRequest): Promise<void> {
  await send(socket, typeof answer === 'function' ? await answer(request) : answer);
}

async function send(socket: Socket, reply: ScriptedReply): Promise<void> {
  if (reply.raw !== undefined) return void (await write(socket, reply.raw, (bytes) => bytes));
  const { status = 200, headers = {}, chunks } = reply;
  const body = reply.body === undefined ? Buffer.alloc(0) : bytesOf(reply.body);
  const framing = chunks === undefined ? `content-length: ${body.length}` : 'transfer-encoding: chunked';
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  if (!names.has('content-length') && status !== 204) lines.push(framing);
  if (!names.has('content-type')) lines.push('content-type: application/json');
  const head = Buffer.from(`HTTP/1.1 ${status} Scripted\r\n${lines.join('\r\n')}\r\n\r\n`);
  if (chunks === undefined) return void socket.write(Buffer.concat([head, body]));
  socket.write(head);
  if (await write(socket, chunks, frame)) socket.write('0\r\n\r\n');
}

/** Takes the steps; false when one of them, or the client, ended the connection. */
async function write(socket: Socket, steps: Steps, encode: (bytes: Buffer) => Buffer): Promise<boolean> {
  for await (const step of steps) {
    if (socket.destroyed) return false;
    if (step === reset) return (socket.resetAndDestroy(), false);
    if (step === cut) return (socket.end(), false);
    if (typeof step !== 'string' && !(step instanceof Uint8Array)) continue;
    const room = socket.write(encode(bytesOf(step)));
    if (!room) await roomOrEnd(socket);
  }
  return !socket.destroyed;
}

/** Removes its listener: a long reply waits many times. */
async function roomOrEnd(socket: Socket): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })]).catch(() => {});
  over.abort();
}

function frame(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

function bytesOf(value: unknown): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
}
