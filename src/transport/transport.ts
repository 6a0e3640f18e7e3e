import { setMaxListeners } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { callbackify } from 'node:util';
import type { buildConnector } from 'undici';
import createConnector from 'undici/lib/core/connect.js';
import { codeOf, GatewayError, usageError } from '../errors.ts';
import { checkUploads, isLoopback } from './request.ts';
import { startExchange } from './exchange.ts';
import { parseProxy, proxyFor } from './proxy.ts';
import type * as publicAddress from './public-address.ts';
import type { Trust } from './trust.ts';
import type { openTunnel } from './tunnel.ts';
import type { Transport, TransportOptions } from './types.ts';
import { ConnectionEnd } from './network-error.ts';
import Client from 'undici/lib/dispatcher/client.js';
// @ts-expect-error undici publishes no types of its internals.
import symbols from 'undici/lib/core/symbols.js';

const defaultConnectTimeoutMs = 10_000;
const defaultIdleTimeoutMs = 120_000;

/**
 * Opens the way to gateways: HTTP/1.1 with kept connections, no redirects, no encodings, proxies by a setting or the environment.
 * Nothing is connected before the first exchange. Throws GatewayError usage for a proxy that is none; other settings that do
 * not work are thrown by the exchange.
 */
export function openTransport(options: TransportOptions): Transport {
  if (options.proxy !== undefined) parseProxy(options.proxy);
  const connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  const idleTimeoutMs = options.idleTimeoutMs ?? defaultIdleTimeoutMs;
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  let opened: Promise<ConnectionPool> | undefined;

  async function open(): Promise<ConnectionPool> {
    const { ca, clientCert, clientKey, systemCa, publicOnly } = options;
    const isTrustChanged = systemCa || [ca, clientCert, clientKey].some((pem) => pem !== undefined);
    const trust = isTrustChanged ? await (await import('./trust.ts')).openTrust(options) : undefined;
    const judge = publicOnly ? await import('./public-address.ts') : undefined;
    return createConnectionPool(createConnect({ options, trust, judge, connectTimeoutMs, signal: closing.signal }));
  }

  return {
    async exchange(request, { signal, onSent, acceptsAnyHead }) {
      requireChecks(request.url, options.env);
      await checkUploads(request.body);
      opened ??= open();
      const hooks = { signal, onSent, acceptsAnyHead, idleTimeoutMs };
      return await startExchange(await opened, request, hooks).catch(async (error: unknown) => {
        if (!(error instanceof GatewayError) || error.details.reason !== 'untrusted') throw error;
        const { hasMoreAuthorities } = await import('./trust.ts');
        throw hasMoreAuthorities(options) ? error.with({ value: 'system' }) : error;
      });
    },
    async close() {
      // Settings that did not work were told by the exchange: there is nothing to close then.
      const pool = await opened?.catch(() => undefined);
      closing.abort();
      await pool?.destroy();
    },
  };
}

interface ConnectOptions {
  options: TransportOptions;
  trust: Trust | undefined;
  /** Tells the addresses of the internet from others, where those alone are connected to. */
  judge: typeof publicAddress | undefined;
  connectTimeoutMs: number;
  /** Ends every connection, also those that are still being made. */
  signal: AbortSignal;
}

/** Opens sockets, through a proxy where one is named. */
function createConnect({ options, trust, judge, connectTimeoutMs, signal }: ConnectOptions): buildConnector.connector {
  const connectSocket = createConnector({
    timeout: connectTimeoutMs,
    // Node gives up on every address but the last after 250 ms, too little for a far host (nodejs/node#54359).
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 2000,
    signal,
    ...(trust === undefined ? {} : { secureContext: trust.secureContext }),
    ...(judge && { lookup: judge.lookupPublic }),
  } as buildConnector.BuildOptions) as (...connecting: Parameters<buildConnector.connector>) => Socket;
  const direct: buildConnector.connector = (target, callback) => {
    const socket = connectSocket(target, (...[error, connected]) => {
      if (error === null || error === undefined) callback(null, connected as Socket);
      else callback(codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT' ? timedOut(error) : error, null);
    });
    endWhilePaused(socket);
  };
  const timedOut = (cause: Error): Error =>
    new ConnectionEnd(`no connection within ${connectTimeoutMs / 1000} s`, { cause });
  const tunnel = callbackify(async (to: Parameters<typeof openTunnel>[0]) =>
    (await import('./tunnel.ts')).openTunnel(to),
  );

  return (target, callback) => {
    const proxy = proxyFor(new URL(`${target.protocol}//${target.host ?? target.hostname}`), options);
    // Nobody looks an address up, and a proxy looks names up where we do not see it.
    const isJudged = proxy !== undefined || isIP(target.hostname) !== 0;
    if (isJudged && judge?.isPrivateHost(target.hostname)) return callback(judge.privateAddress(target.hostname), null);
    if (proxy === undefined) return direct(target, callback);
    const { authorities } = trust ?? {};
    tunnel({ proxy, target, authorities, timeoutMs: connectTimeoutMs, signal }, (error, httpSocket) => {
      if (error !== null) return callback(error, null);
      if (target.protocol === 'https:') return direct({ ...target, httpSocket }, callback);
      endWhilePaused(httpSocket);
      callback(null, httpSocket);
    });
  };
}

/** The variable turns every certificate check off without a word. */
function requireChecks(url: URL, env: TransportOptions['env']): void {
  if (url.protocol !== 'https:' || env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || isLoopback(url)) return;
  throw usageError(
    'NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off',
    'unset it; to trust a certificate, add its authority',
  ).with({ reason: 'unchecked' });
}

/** A connection for one exchange at a time. */
export interface PooledConnection {
  readonly client: Client;
  /** The request is about to be written: what arrives from here on is its reply. */
  markBusy(): void;
  /** The exchange ended well, or did not begin: the next one may have the connection. */
  release(): void;
  /** The exchange failed, and its connection with it. */
  discard(): void;
}

/** The kept connections of a transport, by origin. */
export interface ConnectionPool {
  /** An idle connection, else a new one. Throws GatewayError not-sent after `destroy`. */
  acquire(origin: string): PooledConnection;
  destroy(): Promise<void>;
}

interface Connection {
  client: Client;
  isIdle: boolean;
}

/** A connection whose reply ended. */
interface Rest {
  connection: Connection;
  isOver: boolean;
}

interface OriginPool {
  all: Set<Connection>;
  /** In the order in which their replies ended. */
  idle: Rest[];
  /** Exchanges under way, and the most there were at once. */
  busy: number;
  maxBusy: number;
  /** Bytes came that belong to no request: no connection is used for a second one. */
  isOutOfSync: boolean;
}

/** What a gateway sends behind a reply arrives within this time, in ms, or may be taken for the next reply. */
const restMs = 10;

/**
 * A pool of undici's `Client`. HTTP/1.1 has no mark that ties a reply to its request: one reply too many is taken for that to
 * the next request, and so is every reply after it. undici's own `Agent` looks for such bytes right before it uses a connection
 * again, and so does a `Client`. What the `Agent` has no hook for is promised here:
 * - a connection rests before it is used again, while others are used: the extra reply may come a little later;
 * - any byte that arrives in between closes it, an empty line too, and then no connection of that origin is used twice;
 * - for an exchange that was given up no other connection is made: undici would connect again for it.
 */
export function createConnectionPool(connect: buildConnector.connector): ConnectionPool {
  const origins = new Map<string, OriginPool>();
  let isOpen = true;
  return {
    acquire(origin) {
      // Whoever waited for a retry meanwhile sends nothing that nobody reads.
      if (!isOpen) throw new GatewayError('not-sent', 'the client was closed', { sent: 'no', retryable: false });
      const pool = origins.get(origin) ?? { all: new Set(), idle: [], busy: 0, maxBusy: 0, isOutOfSync: false };
      origins.set(origin, pool);
      pool.maxBusy = Math.max(pool.maxBusy, ++pool.busy);
      const connection = takeIdle(pool) ?? openConnection(origin, pool, connect);
      return pooled(connection, pool);
    },
    async destroy() {
      isOpen = false;
      const all = Array.from(origins.values(), (pool) => [...pool.all]).flat();
      await Promise.all(all.map(({ client }) => client.destroy()));
    },
  };
}

/**
 * Of those that rested long enough the one that was used last: those that nobody needs grow old and are closed. Where half as
 * many again as are needed at once are open, and four more where few are, the one that rested longest.
 */
function takeIdle({ all, idle, maxBusy, isOutOfSync }: OriginPool): Connection | undefined {
  if (isOutOfSync) return undefined;
  const rested = idle.findLastIndex(({ isOver }) => isOver);
  if (rested >= 0) return idle.splice(rested, 1)[0]?.connection;
  return all.size >= maxBusy + Math.max(4, Math.floor(maxBusy / 2)) ? idle.shift()?.connection : undefined;
}

/** A clock would not do: while this process is busy, time goes by and nobody looks. The loop does between timer and immediate. */
function startRest(connection: Connection): Rest {
  const rest = { connection, isOver: false };
  const end = (): void => void (rest.isOver = true);
  setTimeout(() => setImmediate(end), restMs).unref();
  return rest;
}

function openConnection(origin: string, pool: OriginPool, connect: buildConnector.connector): Connection {
  const client = new Client(origin, {
    connect: (target, callback) =>
      connect(target, (...outcome) => {
        if (outcome[0] === null) watch(outcome[1]);
        callback(...outcome);
      }),
  });
  const connection: Connection = { client, isIdle: false };
  const watch = (socket: Socket): void => {
    connection.isIdle = false;
    // undici listens too, behind this.
    socket.on('readable', () => {
      if (!connection.isIdle || socket.readableLength === 0) return;
      pool.isOutOfSync = true;
      socket.destroy();
    });
  };
  pool.all.add(connection);
  return connection;
}

function pooled(connection: Connection, pool: OriginPool): PooledConnection {
  const { client } = connection;
  const discard = (): void => {
    pool.busy--;
    pool.all.delete(connection);
    // Not at once: undici is in the middle of telling.
    queueMicrotask(() => void client.destroy());
  };
  return {
    client,
    discard,
    markBusy() {
      connection.isIdle = false;
    },
    release() {
      if (pool.isOutOfSync) return discard();
      pool.busy--;
      connection.isIdle = true;
      pool.idle.push(startRest(connection));
    },
  };
}

/** What reads the replies of one connection. */
interface Parser {
  readonly ptr: number;
  readonly llhttp: { llhttp_resume(ptr: number): void };
  paused: boolean;
  resume(): void;
}

const kParser: unique symbol = symbols.kParser;

/**
 * Works around nodejs/undici#5360, which is fixed in undici 8 alone: when a connection ends while its parser is paused, undici 7
 * fails an assertion outside of any promise, and takes a complete reply for a cut one. Call it before undici listens.
 */
function endWhilePaused(socket: Socket): void {
  socket.once('end', () => {
    // Nothing is left to read that could flood anybody. The parser ends the message, or pauses once more in front of its end.
    parserOf(socket)?.resume();
    unpause(socket);
  });
  socket.on('error', () => unpause(socket));
  socket.once('close', () => unpause(socket));
}

function parserOf(socket: object): Parser | null | undefined {
  return (socket as { [kParser]?: Parser | null })[kParser];
}

function unpause(socket: Socket): void {
  const parser = parserOf(socket);
  if (!parser?.paused) return;
  parser.llhttp.llhttp_resume(parser.ptr);
  parser.paused = false;
}
