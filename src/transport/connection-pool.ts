import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import { GatewayError } from '../errors.ts';

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
