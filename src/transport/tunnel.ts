import { request as requestHttp, type RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { type Advice, codeOf, GatewayError } from '../errors.ts';
import { ConnectionEnd, describeCause, isTrustCode } from './network-error.ts';
import { type Proxy, proxyAuthorization } from './proxy.ts';

interface TunnelOptions {
  proxy: Proxy;
  target: buildConnector.Options;
  /** PEM, where it is not Node's own that a proxy at https:// is trusted by. */
  authorities?: string[] | undefined;
  timeoutMs: number;
  /** Gives the attempt up. */
  signal: AbortSignal;
}

/**
 * A socket that a proxy has joined to the target (CONNECT). Throws GatewayError not-sent; user name and password of the proxy are
 * never shown. undici's `ProxyAgent` tells a proxy that fails from a target that fails by no code, the status of a refusal in its
 * message alone; it takes no 2xx but 200, and connects again and again to a proxy that closes the connection.
 */
export async function openTunnel({ proxy, target, authorities, timeoutMs, signal }: TunnelOptions): Promise<Socket> {
  const place = `${target.hostname.includes(':') ? `[${target.hostname}]` : target.hostname}:${portOf(target)}`;
  const { url } = proxy;
  const authorization = proxyAuthorization(url);
  const options: RequestOptions = {
    host: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
    port: url.port,
    method: 'CONNECT',
    path: place,
    agent: false,
    timeout: timeoutMs,
    signal,
    headers: { host: place, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) },
  };
  const send = url.protocol === 'https:' ? (await import('node:https')).request : requestHttp;
  return await new Promise<Socket>((resolve, reject) => {
    const connecting = send({
      ...options,
      ...(authorities && { ca: authorities }),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: 2000,
      // Whatever NODE_TLS_REJECT_UNAUTHORIZED says: the proxy is told its password.
      rejectUnauthorized: true,
    } as RequestOptions);
    connecting.on('timeout', () => connecting.destroy(new ConnectionEnd(`no answer within ${timeoutMs / 1000} s`)));
    connecting.on('error', (error) => reject(unreachable(proxy, target.hostname, error)));
    connecting.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
      if (statusCode >= 200 && statusCode < 300) {
        if (head.length > 0) socket.unshift(head);
        return resolve(socket);
      }
      socket.destroy();
      reject(refused(proxy, statusCode, { place, target }));
    });
    connecting.end();
  });
}

function portOf(target: buildConnector.Options): string {
  return target.port || (target.protocol === 'https:' ? '443' : '80');
}

function unreachable(proxy: Proxy, target: string, cause: Error): GatewayError {
  const code = codeOf(cause) ?? '';
  const isDistrusted = isTrustCode(code);
  return new GatewayError('not-sent', `${nameOf(proxy)} does not work: ${describeCause(cause, proxy.url.host)}`, {
    hint: `${proxyHint(code, proxy)}\n${withoutProxy(target)}`,
    sent: 'no',
    retryable: !isDistrusted && code !== 'ENOTFOUND',
    cause,
  });
}

function nameOf({ url, from }: Proxy): string {
  return `the proxy ${url.host} (${from})`;
}

function proxyHint(code: string, { from }: Proxy): string {
  if (isTrustCode(code))
    return 'check the proxy URL; if you trust its certificate, name the authority with NODE_EXTRA_CA_CERTS';
  if (code === 'ENOTFOUND') return `check the proxy's host name (${from})`;
  if (code === 'ECONNREFUSED') return `nothing listens there: start the proxy, or change its URL (${from})`;
  return `check the proxy's host and port (${from})`;
}

function withoutProxy(target: string): string {
  return `to ask without it: NO_PROXY=${target}`;
}

function refused(
  proxy: Proxy,
  status: number,
  { place, target }: { place: string; target: buildConnector.Options },
): GatewayError {
  const facts = { sent: 'no', retryable: status >= 500 } as const;
  const hasPassword = proxyAuthorization(proxy.url) !== undefined;
  // Some proxies answer 401 to a wrong password.
  if (status !== 407 && !(status === 401 && hasPassword))
    return new GatewayError('not-sent', `${nameOf(proxy)} refuses the way to ${place} (${status})`, {
      ...facts,
      hint: `ask those who run the proxy\n${withoutProxy(target.hostname)}`,
    });
  const what = hasPassword ? 'does not take the user name and password' : 'wants a user name and a password';
  return new GatewayError('not-sent', `${nameOf(proxy)} ${what} (${status})`, {
    ...facts,
    ...passwordAdvice(proxy, target.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'),
  });
}

function passwordAdvice({ url, from }: Proxy, variable: string): Advice {
  if (proxyAuthorization(url) !== undefined)
    return { hint: `check them in ${from}; in a URL @ is written %40, : %3A and / %2F` };
  const full = `${url.protocol}//user:password@${url.host}`;
  const hint = `put them into ${from}: ${full}`;
  return from.endsWith('_PROXY') ? { hint } : { hint, reason: 'proxy-password', value: `${variable}=${full}` };
}
