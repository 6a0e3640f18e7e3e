import { setImmediate as turn } from 'node:timers/promises';
import ClientPart from 'undici/lib/dispatcher/client.js';
import { monotonic } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import type { Connector } from './connector.ts';

/** A connection, for one exchange. */
export interface Lane {
  client: ClientPart;
  /** The exchange ended well, or did not begin: the next one may have the connection. */
  keep(): void;
  /** The exchange failed, and its connection with it. */
  drop(): void;
}

/** Kept connections of a transport, by origin. */
export interface Connections {
  /** The free connection that was used last, else a new one. */
  take(origin: string): Promise<Lane>;
  destroy(): Promise<void>;
}

interface Lanes {
  /** All of them: free, resting and in use. */
  clients: Set<ClientPart>;
  free: { client: ClientPart; since: number }[];
  /** Those whose reply has just ended. */
  resting: number;
  /** Exchanges under way, and the most there were at once. */
  busy: number;
  most: number;
}

/** A connection that was free for longer, in ms, is listened to once more. */
const freshMs = 5;

/**
 * A request on a connection that is being closed would be lost, and might have been billed. So a connection rests after a
 * reply until the system was asked once more: some gateways close it right then, though they said they would not. And who
 * takes one that lay idle hears first what came in the same turn as the wish. undici itself listens before every request,
 * which holds up the busiest ones most; that is left out of the build (.scripts/lean-undici.js).
 */
export function openConnections(connect: Connector['connect'], elapsed = monotonic): Connections {
  const origins = new Map<string, Lanes>();
  let isOpen = true;
  return {
    async take(origin) {
      const lanes = origins.get(origin) ?? { clients: new Set(), free: [], resting: 0, busy: 0, most: 0 };
      origins.set(origin, lanes);
      lanes.most = Math.max(lanes.most, ++lanes.busy);
      while (mustWait(lanes)) await turn();
      const free = lanes.free.pop();
      if (free !== undefined && elapsed() - free.since > freshMs) await turn();
      if (!isOpen) throw closed();
      const client = free?.client ?? new ClientPart(origin, { connect });
      lanes.clients.add(client);
      return laneOn(client, lanes, elapsed);
    },
    async destroy() {
      isOpen = false;
      const all = Array.from(origins.values(), ({ clients }) => [...clients]).flat();
      await Promise.all(all.map((client) => client.destroy()));
    },
  };
}

/** Whoever waited for a retry meanwhile sends nothing that nobody reads. */
function closed(): GatewayError {
  return new GatewayError('not-sent', 'the client was closed', { sent: 'no', retryable: false });
}

/**
 * Nothing is free, but soon will be, and there are enough. From eight at once on a quarter more may be open: else all replies
 * of a turn wait for each other and leave together, wave after wave.
 */
function mustWait({ clients, free, resting, most }: Lanes): boolean {
  return free.length === 0 && resting > 0 && clients.size >= most + 2 * Math.floor(most / 8);
}

function laneOn(client: ClientPart, lanes: Lanes, elapsed: () => number): Lane {
  return {
    client,
    keep() {
      lanes.busy--;
      lanes.resting++;
      afterPoll(() => {
        lanes.resting--;
        lanes.free.push({ client, since: elapsed() });
      });
    },
    drop() {
      lanes.busy--;
      lanes.clients.delete(client);
      // Left alone, undici connects again for the request that was given up. Not at once: it is in the middle of telling.
      queueMicrotask(() => void client.destroy());
    },
  };
}

/** What is asked for in a turn comes at its end; only in the next one is the system asked for what arrived. */
function afterPoll(act: () => void): void {
  setImmediate(() => setImmediate(act));
}
