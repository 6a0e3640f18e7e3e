import { setMaxListeners } from 'node:events';
import { isIP, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { callbackify } from 'node:util';
import type { buildConnector } from 'undici';
import createConnector from 'undici/lib/core/connect.js';
import { codeOf, usageError } from '../errors.ts';
import { checkUploads } from './body.ts';
import { type ConnectionPool, createConnectionPool } from './connection-pool.ts';
import { startExchange } from './exchange.ts';
import { proxyFor } from './proxy.ts';
import { isPrivateHost, lookupPublic, privateAddress } from './public-address.ts';
import { openTrust } from './trust.ts';
import { openTunnel } from './tunnel.ts';
import type { Transport, TransportOptions } from './types.ts';
import { endWhilePaused } from './undici-5360.ts';
import { isLoopback } from './url.ts';

const defaultConnectTimeoutMs = 10_000;
const defaultIdleTimeoutMs = 120_000;

/**
 * Opens the way to gateways: HTTP/1.1 with kept connections, no redirects, no encodings, proxies by the environment.
 * Nothing is connected before the first exchange. Settings that do not work are thrown by the exchange (GatewayError usage).
 */
export function openTransport(options: TransportOptions): Transport {
  const connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  const idleTimeoutMs = options.idleTimeoutMs ?? defaultIdleTimeoutMs;
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  let opened: Promise<ConnectionPool> | undefined;

  async function open(): Promise<ConnectionPool> {
    const secureContext = await openTrust(options);
    const { env, publicOnly } = options;
    const { signal } = closing;
    return createConnectionPool(createConnect({ env, secureContext, connectTimeoutMs, signal, publicOnly }));
  }

  return {
    async exchange(request, { signal, onSent, acceptsAnyHead }) {
      requireChecks(request.url, options.env);
      await checkUploads(request.body);
      opened ??= open();
      return await startExchange(await opened, request, { signal, onSent, acceptsAnyHead, idleTimeoutMs });
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
  env: TransportOptions['env'];
  secureContext: SecureContext | undefined;
  connectTimeoutMs: number;
  /** Ends every connection, also those that are still being made. */
  signal: AbortSignal;
  publicOnly: boolean | undefined;
}

/** Opens sockets, through a proxy where the environment names one. */
function createConnect(options: ConnectOptions): buildConnector.connector {
  const { env, secureContext, connectTimeoutMs, signal, publicOnly } = options;
  const connectSocket = createConnector({
    timeout: connectTimeoutMs,
    // Node gives up on every address but the last after 250 ms, too little for a far host (nodejs/node#54359).
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 2000,
    signal,
    ...(secureContext === undefined ? {} : { secureContext }),
    ...(publicOnly && { lookup: lookupPublic }),
  } as buildConnector.BuildOptions) as (...connecting: Parameters<buildConnector.connector>) => Socket;
  const direct: buildConnector.connector = (target, callback) => {
    const socket = connectSocket(target, (...[error, connected]) => {
      if (error === null || error === undefined) callback(null, connected as Socket);
      else callback(codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT' ? timedOut(error) : error, null);
    });
    endWhilePaused(socket);
  };
  const timedOut = (cause: Error): Error => new Error(`no connection within ${connectTimeoutMs / 1000} s`, { cause });
  const tunnel = callbackify(openTunnel);

  return (target, callback) => {
    const proxy = proxyFor(new URL(`${target.protocol}//${target.host ?? target.hostname}`), env);
    // Nobody looks an address up, and a proxy looks names up where we do not see it.
    const isJudged = publicOnly && (proxy !== undefined || isIP(target.hostname) !== 0);
    if (isJudged && isPrivateHost(target.hostname)) return callback(privateAddress(target.hostname), null);
    if (proxy === undefined) return direct(target, callback);
    tunnel({ proxy: proxy.url, target, timeoutMs: connectTimeoutMs, signal }, (error, httpSocket) => {
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
