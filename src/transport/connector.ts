import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { callbackify } from 'node:util';
import type { buildConnector } from 'undici';
import buildConnection from 'undici/lib/core/connect.js';
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
  /** Gives up every connection that is still being made. */
  destroy(): void;
}

export function createConnector({ env, secureContext, connectTimeoutMs }: ConnectorOptions): Connector {
  const opening = new Set<Socket>();
  const connectSocket = buildConnection({
    timeout: connectTimeoutMs,
    allowH2: false,
    // Node gives up on every address but the last after 250 ms, too little for a far host (nodejs/node#54359).
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 2000,
    ...(secureContext === undefined ? {} : { secureContext }),
  });

  const direct: buildConnector.connector = (target, callback) => {
    const socket = connectSocket(target, (...result) => {
      opening.delete(socket);
      callback(...result);
    });
    opening.add(socket);
  };
  function track(socket: Socket): void {
    opening.add(socket);
    socket.once('close', () => opening.delete(socket));
  }
  const tunnel = callbackify(openTunnel);

  return {
    connect(target, callback) {
      const proxy = proxyFor(new URL(`${target.protocol}//${target.host ?? target.hostname}`), env);
      if (proxy === undefined) return direct(target, callback);
      tunnel({ proxy, target, timeoutMs: connectTimeoutMs, track }, (error, httpSocket) => {
        if (error !== null) return callback(error, null);
        opening.delete(httpSocket);
        if (target.protocol === 'https:') direct({ ...target, httpSocket }, callback);
        else callback(null, httpSocket);
      });
    },
    destroy() {
      for (const socket of opening) socket.destroy();
    },
  };
}
