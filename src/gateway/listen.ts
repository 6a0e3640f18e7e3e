import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { codeOf, GatewayError } from '../errors.ts';

/** A gateway that listens. */
export interface Listening {
  /** `http://127.0.0.1:port`, without a trailing slash. */
  url: string;
  port: number;
  /** Takes no new connections, lets running exchanges finish for `drainMs` (default 5 s), then ends them. */
  close(drainMs?: number): Promise<void>;
}

/** Where to listen: port 0 picks a free one. */
export interface ListenOptions {
  port?: number | undefined;
  host?: string | undefined;
}

const serverOptions = {
  // The app refuses a missing Host itself, in the format's own error shape.
  requireHostHeader: false,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  // Longer than callers pause: one that asks again on a connection just being closed would find it reset.
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 2000,
  maxHeaderSize: 16_384,
};
const maxConnections = 2048;

/** Starts serving an app on loopback, or where `host` says. Throws GatewayError not-sent when the port cannot be had. */
export async function listen(
  app: RequestListener,
  { port = 0, host = '127.0.0.1' }: ListenOptions = {},
): Promise<Listening> {
  const server = createServer(serverOptions, app);
  server.maxConnections = maxConnections;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw cannotListen(error, `${host}:${port}`);
  }
  const { port: actual } = server.address() as AddressInfo;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${actual}`;
  return { url, port: actual, close: (drainMs = 5000) => close(server, drainMs) };
}

async function close(server: Server, drainMs: number): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  const timer = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearTimeout(timer);
}

function cannotListen(error: unknown, address: string): GatewayError {
  const code = codeOf(error);
  const reasons: Record<string, string> = { EADDRINUSE: 'it is in use', EACCES: 'permission denied' };
  const reason = reasons[code ?? ''] ?? code ?? 'unknown reason';
  const hint = code === 'EADDRNOTAVAIL' ? '--host 127.0.0.1 is this machine' : '--port 0 picks a free port';
  return new GatewayError('not-sent', `cannot listen on ${address}: ${reason}`, {
    hint,
    cause: error,
    retryable: false,
  });
}
