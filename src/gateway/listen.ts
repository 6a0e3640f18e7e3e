import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GatewayError, getErrorCode } from '../library/index.ts';

/** A gateway that listens. */
export interface Listening {
  /** `http://127.0.0.1:port`, without a trailing slash. */
  url: string;
  /** The URL for callers on this machine: at the loopback address if it listens on every address (`0.0.0.0`). */
  localUrl: string;
  port: number;
  /** Whether only this machine can reach it. */
  isLoopback: boolean;
  /** Takes no new connections, lets running exchanges finish for `drainMs` (default 5 s), then ends them. */
  close(drainMs?: number): Promise<void>;
}

const serverOptions = {
  // The app refuses a missing Host itself, in the format's own error shape.
  requireHostHeader: false,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  // The timeout is longer than callers pause: a caller that sends a request just while its connection is closed would find it
  // reset.
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 2000,
  maxHeaderSize: 16_384,
};
const maxConnections = 2048;

/** Starts serving an app; port 0 picks a free one. Throws GatewayError not-sent if the port cannot be opened. */
export async function listen(app: RequestListener, { port = 0, host = '127.0.0.1' } = {}): Promise<Listening> {
  const server = createServer(serverOptions, app);
  server.maxConnections = maxConnections;
  // A caller keeps its connection for the next request: the server that closes would wait for it.
  server.on('request', ({ socket }, response) => {
    response.once('close', () => {
      if (!server.listening) socket.destroySoon();
    });
  });
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw cannotListen(error, `${host}:${port}`);
  }
  const { port: actual, address } = server.address() as AddressInfo;
  return {
    url: `http://${inUrl(host)}:${actual}`,
    localUrl: `http://${reachableHost(host, address)}:${actual}`,
    port: actual,
    isLoopback: address === '::1' || address.startsWith('127.'),
    close: async (drainMs = 5000) => {
      if (server.listening) await closeServer(server, drainMs);
    },
  };
}

const loopbacks = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** The host of a URL that leads to the server; "every address", to which the system resolved it, cannot be connected to. */
export function reachableHost(host: string, address: string): string {
  return inUrl(loopbacks.get(address) ?? host);
}

/** A host as a URL writes it. */
export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

async function closeServer(server: Server, drainMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const timer = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearTimeout(timer);
}

const reasons: Record<string, string> = {
  EACCES: 'you may not use that port',
  EADDRINUSE: 'it is in use',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'there is no such host',
};
function cannotListen(error: unknown, address: string): GatewayError {
  const code = getErrorCode(error);
  const reason = reasons[code ?? ''] ?? `the system reports an error (${code ?? 'unknown'})`;
  return new GatewayError('not-sent', `cannot listen on ${address}: ${reason}`, { cause: error, retryable: false });
}
