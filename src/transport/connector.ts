import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { callbackify } from 'node:util';
import type { buildConnector } from 'undici';
import buildConnection from 'undici/lib/core/connect.js';
import { letEndBeHeard } from './last-words.ts';
import { proxyFor } from './proxy.ts';
import { openTunnel } from './tunnel.ts';
import type { TransportOptions } from './types.ts';

interface ConnectorOptions {
  env: TransportOptions['env'];
  secureContext: SecureContext | undefined;
  connectTimeoutMs: number;
}

/** Opens the sockets of a transport, through a proxy where the environment names one. */
export interface Connector {
  connect: buildConnector.connector;
  /** Gives up every connection, also those that are still being made. */
  destroy(): void;
}

export function createConnector({ env, secureContext, connectTimeoutMs }: ConnectorOptions): Connector {
  const open = new Set<Socket>();
  const connectSocket = buildConnection({
    // Ours comes first; undici's own would cut a longer one short.
    timeout: connectTimeoutMs,
    // Node gives up on every address but the last after 250 ms, too little for a far host (nodejs/node#54359).
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 2000,
    ...(secureContext === undefined ? {} : { secureContext }),
  });

  const direct: buildConnector.connector = (target, callback) => track(connectSocket(target, callback));
  function track(socket: Socket): void {
    open.add(socket);
    letEndBeHeard(socket);
    socket.once('close', () => open.delete(socket));
  }
  const tunnel = callbackify(openTunnel);

  return {
    connect(target, callback) {
      const proxy = proxyFor(new URL(`${target.protocol}//${target.host ?? target.hostname}`), env);
      if (proxy === undefined) return direct(target, callback);
      tunnel({ proxy: proxy.url, target, timeoutMs: connectTimeoutMs, track }, (error, httpSocket) => {
        if (error !== null) return callback(error, null);
        if (target.protocol === 'https:') direct({ ...target, httpSocket }, callback);
        else callback(null, httpSocket);
      });
    },
    destroy() {
      for (const socket of open) socket.destroy();
    },
  };
}
