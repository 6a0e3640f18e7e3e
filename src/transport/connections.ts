import { setImmediate as turn } from 'node:timers/promises';
import type { Socket } from 'node:net';
import ClientPart from 'undici/lib/dispatcher/client.js';
import { monotonic } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import type { Connector } from './connector.ts';

/** A connection, for one exchange. */
export interface Lane {
  client: ClientPart;
  /** The head of the request is about to be written: what arrives from here on is its reply. */
  begin(): void;
  /** The exchange ended well, or did not begin: the next one may have the connection. */
  keep(): void;
  /** The exchange failed, and its connection with it. */
  drop(): void;
}

/** Kept connections of a transport, by origin. */
export interface Connections {
  /** A connection that has been quiet, else a new one. */
  take(origin: string): Promise<Lane>;
  destroy(): Promise<void>;
}

interface Kept {
  client: ClientPart;
  /** No exchange is under way: nothing may arrive. */
  isIdle: boolean;
  /** When its last reply ended. */
  since: number;
}

interface Lanes {
  /** All of them: free, resting and in use. */
  all: Set<Kept>;
  /** The one that was used last comes last. */
  free: Kept[];
  /** Those whose reply has just ended. */
  resting: number;
  /** Exchanges under way, and the most there were at once. */
  busy: number;
  most: number;
  /** Bytes came that belong to no request: no connection is used for a second one. */
  isOutOfStep: boolean;
}

/** What a gateway sends behind a reply arrives within this time, in ms, or may be taken for the next reply. */
const quietMs = 10;

/**
 * HTTP/1.1 has no mark that ties a reply to its request: one reply too many is taken for that to the next request, and so is
 * every reply after it. So a connection whose reply has ended is left alone for a moment while others are used, and is closed
 * with the first byte that arrives before its next request; from then on no connection of that origin is used twice.
 */
export function openConnections(connect: Connector['connect'], elapsed = monotonic): Connections {
  const origins = new Map<string, Lanes>();
  let isOpen = true;
  return {
    async take(origin) {
      const lanes = origins.get(origin) ?? emptyLanes();
      origins.set(origin, lanes);
      lanes.most = Math.max(lanes.most, ++lanes.busy);
      while (mustWait(lanes)) await turn();
      const kept = takeFree(lanes, elapsed());
      // undici waits for one turn more, so that the system is asked for what arrived until now.
      if (kept !== undefined) await turn();
      if (!isOpen) throw closed();
      return laneOn(kept ?? openKept(origin, lanes, connect), lanes, elapsed);
    },
    async destroy() {
      isOpen = false;
      const all = Array.from(origins.values(), (lanes) => [...lanes.all]).flat();
      await Promise.all(all.map(({ client }) => client.destroy()));
    },
  };
}

function emptyLanes(): Lanes {
  return { all: new Set(), free: [], resting: 0, busy: 0, most: 0, isOutOfStep: false };
}

/** Whoever waited for a retry meanwhile sends nothing that nobody reads. */
function closed(): GatewayError {
  return new GatewayError('not-sent', 'the client was closed', { sent: 'no', retryable: false });
}

/** Half as many again as are needed at once may be open, and four more where few are. */
function isFull({ all, most }: Lanes): boolean {
  return all.size >= most + Math.max(4, Math.floor(most / 2));
}

/** Nothing is free, but soon will be, and there are enough. */
function mustWait(lanes: Lanes): boolean {
  return lanes.free.length === 0 && lanes.resting > 0 && isFull(lanes);
}

/** Of those that were quiet long enough the one that was used last: those that nobody needs grow old and are closed. */
function takeFree(lanes: Lanes, now: number): Kept | undefined {
  const { free } = lanes;
  const quiet = free.findLastIndex(({ since }) => now - since >= quietMs);
  if (quiet >= 0) return free.splice(quiet, 1)[0];
  return isFull(lanes) ? free.shift() : undefined;
}

function openKept(origin: string, lanes: Lanes, connect: Connector['connect']): Kept {
  const client = new ClientPart(origin, {
    connect: (target, callback) =>
      connect(target, (...outcome) => {
        if (outcome[0] === null) listenTo(outcome[1]);
        callback(...outcome);
      }),
  });
  const kept: Kept = { client, isIdle: false, since: 0 };
  // undici listens too, behind this, and takes no offence at an empty line.
  const listenTo = (socket: Socket): void => {
    kept.isIdle = false;
    socket.on('readable', () => {
      if (!kept.isIdle || socket.readableLength === 0) return;
      lanes.isOutOfStep = true;
      socket.destroy();
    });
  };
  lanes.all.add(kept);
  return kept;
}

function laneOn(kept: Kept, lanes: Lanes, elapsed: () => number): Lane {
  const { client } = kept;
  const drop = (): void => {
    lanes.all.delete(kept);
    // Left alone, undici connects again for the request that was given up. Not at once: it is in the middle of telling.
    queueMicrotask(() => void client.destroy());
  };
  return {
    client,
    begin() {
      kept.isIdle = false;
    },
    keep() {
      lanes.busy--;
      lanes.resting++;
      kept.isIdle = true;
      kept.since = elapsed();
      afterPoll(() => {
        lanes.resting--;
        if (lanes.isOutOfStep) drop();
        else lanes.free.push(kept);
      });
    },
    drop() {
      lanes.busy--;
      drop();
    },
  };
}

/** What is asked for in a turn comes at its end; only in the next one is the system asked for what arrived. */
function afterPoll(act: () => void): void {
  setImmediate(() => setImmediate(act));
}
