import { setMaxListeners } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { callbackify } from 'node:util';
import type { buildConnector } from 'undici';
import createConnector from 'undici/lib/core/connect.js';
import { codeOf, GatewayError, usageError } from '../errors.ts';
import { checkUploads } from './body.ts';
import { type ConnectionPool, createConnectionPool } from './connection-pool.ts';
import { startExchange } from './exchange.ts';
import { parseProxy, proxyFor } from './proxy.ts';
import type * as publicAddress from './public-address.ts';
import type { Trust } from './trust.ts';
import type { openTunnel } from './tunnel.ts';
import type { Transport, TransportOptions } from './types.ts';
import { ConnectionEnd } from './network-error.ts';
import { endWhilePaused } from './undici-5360.ts';
import { isLoopback } from './url.ts';

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
