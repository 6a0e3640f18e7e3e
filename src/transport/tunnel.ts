import { request as requestHttp, type RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { codeOf, GatewayError } from '../errors.ts';
import { described, isTrustCode } from './fault.ts';
import { proxyAuthorization } from './proxy.ts';

interface TunnelOptions {
  proxy: URL;
  target: buildConnector.Options;
  timeoutMs: number;
  /** Told of the socket as soon as there is one. */
  track: (socket: Socket) => void;
}

/** A socket that a proxy has joined to the target (CONNECT). Throws GatewayError not-sent; user name and password of the proxy are never shown. */
export async function openTunnel({ proxy, target, timeoutMs, track }: TunnelOptions): Promise<Socket> {
  const place = `${target.hostname.includes(':') ? `[${target.hostname}]` : target.hostname}:${portOf(target)}`;
  const authorization = proxyAuthorization(proxy);
  const options: RequestOptions = {
    host: proxy.hostname.startsWith('[') ? proxy.hostname.slice(1, -1) : proxy.hostname,
    port: proxy.port,
    method: 'CONNECT',
    path: place,
    agent: false,
    timeout: timeoutMs,
    headers: { host: place, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) },
  };
  const send = proxy.protocol === 'https:' ? (await import('node:https')).request : requestHttp;
  return await new Promise<Socket>((resolve, reject) => {
    const connecting = send({
      ...options,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: 2000,
      // Whatever NODE_TLS_REJECT_UNAUTHORIZED says: the proxy is told its password (faults.md 2a).
      rejectUnauthorized: true,
    } as RequestOptions);
    connecting.on('socket', track);
    connecting.on('timeout', () => connecting.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
    connecting.on('error', (error) => reject(unreachable(proxy, error)));
    connecting.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
      if (statusCode >= 200 && statusCode < 300) {
        if (head.length > 0) socket.unshift(head);
        return resolve(socket);
      }
      socket.destroy();
      reject(refused(proxy, statusCode, place));
    });
    connecting.end();
  });
}

function portOf(target: buildConnector.Options): string {
  return target.port || (target.protocol === 'https:' ? '443' : '80');
}

function unreachable(proxy: URL, cause: Error): GatewayError {
  const code = codeOf(cause) ?? '';
  const isDistrusted = isTrustCode(code);
  return new GatewayError('not-sent', `the proxy ${proxy.host} does not work: ${described(cause, code)}`, {
    hint: isDistrusted
      ? 'check the proxy URL; if you trust its certificate, name the authority with NODE_EXTRA_CA_CERTS'
      : 'check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or name the host in NO_PROXY',
    sent: 'no',
    retryable: !isDistrusted && code !== 'ENOTFOUND',
    cause,
  });
}

function refused(proxy: URL, status: number, place: string): GatewayError {
  const wantsUser = status === 407;
  const what = wantsUser ? 'wants a user name and a password (407)' : `refuses the way to ${place} (${status})`;
  return new GatewayError('not-sent', `the proxy ${proxy.host} ${what}`, {
    hint: wantsUser ? 'HTTPS_PROXY=http://user:password@host:port' : 'check the proxy, or name the host in NO_PROXY',
    sent: 'no',
    retryable: status >= 500,
  });
}
