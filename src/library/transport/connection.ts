import { setMaxListeners } from 'node:events';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { callbackify } from 'node:util';
import type { buildConnector } from 'undici';
import createConnector from 'undici/lib/core/connect.js';
// @ts-expect-error undici publishes no types of its internals.
import symbols from 'undici/lib/core/symbols.js';
import Client from 'undici/lib/dispatcher/client.js';
import { getErrorCode, GatewayError, settingError } from '../errors.ts';
import { startExchange } from './exchange.ts';
import { ConnectionEnd } from './network-error.ts';
import { openTunnel, parseProxy, type Proxy, proxyFailed, proxyFor } from './proxy.ts';
import { connectedHost, isLoopback } from './request.ts';
import { type Trust, hasMoreAuthorities, openTrust } from './trust.ts';
import type { Connection, ConnectionOptions } from './types.ts';
import { checkUploads } from '../body.ts';

const defaultConnectTimeoutMs = 10_000;
const defaultIdleTimeoutMs = 120_000;

/** Limits which hosts are connected to. */
interface HostGuard {
  /** The error for a host to whose name or address no connection is allowed. */
  check(host: string): GatewayError | undefined;
  /** Looks up a name; gives an error for an address that must not be connected to. */
  lookup: LookupFunction;
}

/**
 * Opens HTTP/1.1 with keep-alive connections: no redirects, no encodings, a proxy from the settings or the environment.
 * The first fetch connects. Throws GatewayError usage for an invalid proxy URL; the fetch throws for other settings that
 * cannot be used.
 */
export function openHttpConnection(options: ConnectionOptions & { guard?: HostGuard }): Connection {
  if (options.proxy !== undefined) parseProxy(options.proxy);
  const connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  const idleTimeoutMs = options.idleTimeoutMs ?? defaultIdleTimeoutMs;
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  let opened: Promise<ConnectionPool> | undefined;

  async function openPool(): Promise<ConnectionPool> {
    const trust = await openTrust(options);
    return createConnectionPool(createConnect({ options, trust, connectTimeoutMs, signal: closing.signal }));
  }

  return {
    async fetch(request, { signal, beforeSend, onSent, acceptsAnyHead }) {
      requireChecks(request.url, options.env);
      await checkUploads(request.body);
      if (beforeSend) await beforeSend();
      opened ??= openPool();
      const proxy = request.url.protocol === 'http:' ? proxyFor(request.url, options) : undefined;
      const hooks = { signal, onSent, acceptsAnyHead, idleTimeoutMs, proxy };
      const pool = await opened;
      try {
        return await startExchange(pool, request, hooks);
      } catch (error) {
        if (!(error instanceof GatewayError) || error.details.reason !== 'untrusted') throw error;
        throw hasMoreAuthorities(options) ? error.withDefaults({ value: 'system' }) : error;
      }
    },
    async close() {
      // The fetch threw for settings that cannot be used; then there is nothing to close.
      const pool = await opened?.catch(() => undefined);
      closing.abort();
      await pool?.destroy();
    },
  };
}

interface ConnectOptions {
  options: Parameters<typeof openHttpConnection>[0];
  trust: Trust | undefined;
  connectTimeoutMs: number;
  /** Ends every connection, also one that is still being opened. */
  signal: AbortSignal;
}

/** Opens sockets, through a proxy if there is one. */
function createConnect({ options, trust, connectTimeoutMs, signal }: ConnectOptions): buildConnector.connector {
  const { guard } = options;
  const common = {
    timeout: connectTimeoutMs,
    // Node gives up on every address but the last after 250 ms, too short for a distant host (nodejs/node#54359).
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 2000,
    signal,
  };
  const connectSocket = createConnector({
    ...common,
    ...(trust === undefined ? {} : { secureContext: trust.secureContext }),
    ...(guard && { lookup: guard.lookup }),
  } as buildConnector.BuildOptions);
  const explain = (cause: Error): Error => {
    if (getErrorCode(cause) !== 'UND_ERR_CONNECT_TIMEOUT') return cause;
    return new ConnectionEnd(`no connection within ${connectTimeoutMs / 1000} s`, { cause });
  };
  const direct: buildConnector.connector = (target, callback) =>
    connectSocket({ ...target, hostname: connectedHost(target.hostname) }, (...outcome) => {
      const [cause] = outcome;
      if (cause) callback(explain(cause), null);
      else callback(...outcome);
    });

  const connectProxy = (
    proxy: Proxy,
    { hostname: host }: buildConnector.Options,
    callback: buildConnector.Callback,
  ): void => {
    const { protocol, port } = proxy.url;
    const hostname = proxy.url.hostname.replaceAll(/^\[|\]$/g, '');
    const { authorities: ca } = trust ?? {};
    // Certificates are checked even with NODE_TLS_REJECT_UNAUTHORIZED=0: the proxy receives a password.
    const connect = createConnector({
      ...common,
      rejectUnauthorized: true,
      ...(ca && { ca }),
    } as buildConnector.BuildOptions);
    connect({ protocol, hostname, port, servername: hostname }, (...outcome) => {
      const [cause] = outcome;
      if (cause) callback(proxyFailed(proxy, host, explain(cause)), null);
      else callback(...outcome);
    });
  };

  return (target, callback) => {
    const url = new URL(`${target.protocol}//${target.host ?? target.hostname}`);
    const proxy = proxyFor(url, options);
    // `lookup` is not called for an address, nor for a name that the proxy looks up.
    const skipsLookup = proxy !== undefined || isIP(target.hostname) !== 0;
    const forbidden = skipsLookup ? guard?.check(target.hostname) : undefined;
    if (forbidden !== undefined) return callback(forbidden, null);
    if (proxy === undefined) return direct(target, callback);
    // A request that is not encrypted goes to the proxy itself: many refuse a tunnel to a port other than 443.
    if (target.protocol !== 'https:') return connectProxy(proxy, target, callback);
    const tunnel = { proxy, target, authorities: trust?.authorities, timeoutMs: connectTimeoutMs, signal };
    callbackify(openTunnel)(tunnel, (error, httpSocket) => {
      if (error !== null) callback(error, null);
      else direct({ ...target, httpSocket }, callback);
    });
  };
}

/** The variable disables every certificate check silently. */
function requireChecks(url: URL, env: ConnectionOptions['env']): void {
  if (url.protocol !== 'https:' || env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || isLoopback(url)) return;
  throw settingError('NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off', { reason: 'unchecked' });
}

/** Keep-alive connections by origin, each for one exchange at a time. */
export interface ConnectionPool {
  /** An idle connection, otherwise a new one. Throws GatewayError not-sent after `destroy`. */
  acquire(origin: string): Client;
  /** The exchange succeeded: the connection can be used again. */
  release(origin: string, connection: Client): void;
  /** The exchange failed: the connection is closed. undici's own pool would connect again for an exchange that was aborted. */
  discard(origin: string, connection: Client): void;
  destroy(): Promise<void>;
}

/** A connection between two exchanges. */
interface Rest {
  connection: Client;
  isOver: boolean;
}

interface OriginConnections {
  all: Set<Client>;
  /** In the order in which their replies ended. */
  idle: Rest[];
  /** The highest number of exchanges at a time so far. */
  mostBusy: number;
  /** The server sent bytes between two requests: it can do so again, so no connection is used twice. */
  isOutOfSync: boolean;
}

/**
 * A pool of undici's `Client`. HTTP/1.1 does not tie a reply to its request: a reply too many is read as the reply to the next
 * request, and every later one is shifted too (deviation 45). A `Client` without a request closes its connection when bytes come, so a
 * connection rests: the loop reads from it before it is used again, also where this process was busy meanwhile.
 */
export function createConnectionPool(connect: buildConnector.connector): ConnectionPool {
  const origins = new Map<string, OriginConnections>();
  let isOpen = true;
  return {
    acquire(origin) {
      // A call that was waiting for its retry must not send a request whose reply is never read.
      if (!isOpen) throw new GatewayError('not-sent', 'the client was closed', { sent: 'no', retryable: false });
      const connections = origins.get(origin) ?? { all: new Set(), idle: [], mostBusy: 0, isOutOfSync: false };
      origins.set(origin, connections);
      const { all, idle } = connections;
      connections.mostBusy = Math.max(connections.mostBusy, all.size - idle.length + 1);
      const rested = connections.isOutOfSync ? undefined : takeRested(connections);
      if (rested !== undefined) return rested.connection;
      const opened = new Client(origin, {
        connect: (target, callback) => connect(target, endingWhilePaused(callback)),
      });
      all.add(opened);
      opened.on('disconnect', (_url, _clients, error) => {
        // undici has no code for bytes that belong to no request.
        if (error.message === 'bad response' && connections.idle.some(({ connection }) => connection === opened))
          connections.isOutOfSync = true;
      });
      return opened;
    },
    release(origin, connection) {
      const rest: Rest = { connection, isOver: false };
      origins.get(origin)?.idle.push(rest);
      // Between timer and immediate the loop reads.
      setTimeout(() => setImmediate(() => (rest.isOver = true)), restMs).unref();
    },
    discard(origin, connection) {
      origins.get(origin)?.all.delete(connection);
      // The client is destroyed later: undici is still calling its handlers.
      queueMicrotask(() => void connection.destroy());
    },
    async destroy() {
      isOpen = false;
      const all = Array.from(origins.values(), (connections) => [...connections.all]).flat();
      await Promise.all(all.map((client) => client.destroy()));
    },
  };
}

const restMs = 10;

/**
 * Takes the connection that was used last of those that rested long enough, so that surplus ones expire. If 1.5 times as many are open
 * as were ever busy at once (at least four more), the one that has rested longest.
 */
function takeRested({ all, idle, mostBusy }: OriginConnections): Rest | undefined {
  const last = idle.findLastIndex(({ isOver }) => isOver);
  const isFull = all.size >= mostBusy + Math.max(4, Math.floor(mostBusy / 2));
  return last >= 0 || isFull ? idle.splice(Math.max(0, last), 1)[0] : undefined;
}

/** undici's parser of one connection. */
interface Parser {
  readonly ptr: number;
  readonly llhttp: { llhttp_resume(ptr: number): void };
  paused: boolean;
  resume(): void;
}

const kParser: unique symbol = symbols.kParser;

/**
 * Works around nodejs/undici#5360, which is fixed only in undici 8: if a connection ends while its parser is paused, undici 7
 * fails an assertion outside of any promise, and treats a complete reply as cut. undici adds its own listeners in the callback.
 */
function endingWhilePaused(callback: buildConnector.Callback): buildConnector.Callback {
  return (...outcome) => {
    const [, socket] = outcome;
    if (socket) endWhilePaused(socket);
    callback(...outcome);
  };
}

function endWhilePaused(socket: Socket & { [kParser]?: Parser | null }): void {
  const unpause = (): void => {
    const parser = socket[kParser];
    if (!parser?.paused) return;
    parser.llhttp.llhttp_resume(parser.ptr);
    parser.paused = false;
  };
  socket.once('end', () => {
    // At most the rest of the buffer is left. The parser ends the message, or pauses once more before its end.
    socket[kParser]?.resume();
    unpause();
  });
  socket.on('error', unpause);
  socket.once('close', unpause);
}
