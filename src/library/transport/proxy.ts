import { request } from 'node:https';
import { request as requestHttp, type RequestOptions } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import type { buildConnector } from 'undici';
import type { Reason } from '../reasons.ts';
import { type Advice, getErrorCode, GatewayError, usageError } from '../errors.ts';
import { ConnectionEnd, describeCause, isTrustCode } from './network-error.ts';
import { isLoopback } from './request.ts';
import type { ConnectionOptions } from './types.ts';

/** A proxy, and the origin of its setting: `HTTPS_PROXY`, `flag --proxy`. */
export interface Proxy {
  url: URL;
  from: string;
}

/**
 * The proxy for a target: from the settings, then HTTPS_PROXY or HTTP_PROXY, then ALL_PROXY. Lower case takes precedence, and
 * an empty variable means no proxy. As in curl, NO_PROXY applies wherever the proxy is set. A loopback address never
 * uses a proxy: a key can go there over plain http, and a proxy could read it.
 * Throws GatewayError usage for an invalid proxy URL, without repeating it.
 * undici's `EnvHttpProxyAgent` ignores ALL_PROXY, uses a proxy for loopback, and uses HTTP_PROXY for https too.
 */
export function proxyFor(target: URL, options: Pick<ConnectionOptions, 'env' | 'proxy'>): Proxy | undefined {
  const setting = namedProxy(target, options);
  if (setting === undefined || isLoopback(target) || isExempt(target, proxyVariable(options.env, 'NO_PROXY')))
    return undefined;
  return parseProxy(setting);
}

/**
 * The proxy that is named for a target: by the setting, otherwise by the first variable that is set.
 */
function namedProxy(target: URL, { env, proxy }: Pick<ConnectionOptions, 'env' | 'proxy'>): ConnectionOptions['proxy'] {
  if (proxy !== undefined) return proxy;
  const names = [target.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY', 'ALL_PROXY'];
  const from = names.find((each) => (env[each.toLowerCase()] ?? env[each]) !== undefined);
  if (from === undefined) return undefined;
  const value = proxyVariable(env, from);
  return value === '' ? undefined : { value, from };
}

/** The value of a variable for proxies; lower case takes precedence. */
function proxyVariable(env: ConnectionOptions['env'], name: string): string {
  return (env[name.toLowerCase()] ?? env[name] ?? '').trim();
}

/** Reads the URL of an HTTP proxy. Throws GatewayError usage without repeating the URL, which can have a password. */
export function parseProxy({ value, from }: NonNullable<ConnectionOptions['proxy']>): Proxy {
  const full = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  const hint = 'it looks like http://host:port or http://user:password@host:port';
  if (url === undefined) throw usageError(`${from} is not a proxy URL`, hint);
  if (!isDecodable(url))
    throw usageError(`${from} has a bare % in its user name or password`, `write it as %25; ${hint}`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    const wanted = from === 'ALL_PROXY' ? 'set HTTPS_PROXY, which comes first, to an HTTP proxy' : 'name an HTTP proxy';
    const instead = `${wanted} (http://host:port), or name the host in NO_PROXY to connect without one`;
    throw usageError(`${from} names a ${url.protocol}// proxy, which is not supported`, instead);
  }
  return { url, from };
}

function isDecodable(url: URL): boolean {
  try {
    return decodeURIComponent(url.username + url.password) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Whether NO_PROXY names a target. Its entries are `*`, a host with its subdomains (a leading dot or `*.` makes no difference), an
 * address, or a network such as `10.0.0.0/8`. A host or address can have `:port`.
 */
function isExempt(target: URL, list: string): boolean {
  const host = withoutBrackets(target.hostname.toLowerCase());
  const port = getPort(target);
  const entries = list.toLowerCase().split(/[\s,]/).filter(Boolean);
  return entries.some((entry) => entry === '*' || matchesNetwork(entry, host) || matchesHost(entry, host, port));
}

function matchesNetwork(entry: string, host: string): boolean {
  const [, network = '', bits = ''] = /^(.+)\/(\d{1,3})$/.exec(entry) ?? [];
  const version = isIP(network);
  if (version === 0 || Number(bits) > (version === 4 ? 32 : 128) || isIP(host) === 0) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), `ipv${version as 4 | 6}`);
  return list.check(host, `ipv${isIP(host) as 4 | 6}`);
}

function matchesHost(entry: string, host: string, port: string): boolean {
  const colon = isIPv6(entry) ? -1 : entry.lastIndexOf(':');
  const hasPort = colon > 0 && !entry.endsWith(']');
  if (hasPort && entry.slice(colon + 1) !== port) return false;
  const name = withoutBrackets(hasPort ? entry.slice(0, colon) : entry).replace(/^\*?\./, '');
  return name !== '' && (host === name || (isIP(host) === 0 && host.endsWith(`.${name}`)));
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

function getPort(target: { protocol: string; port?: string | null }): string {
  return target.port || (target.protocol === 'https:' ? '443' : '80');
}

/** A target, as far as an address has it. */
type Target = Pick<buildConnector.Options, 'hostname' | 'protocol'> & { port?: string | null };

function getAddress(target: Target): string {
  return `${isIPv6(target.hostname) ? `[${target.hostname}]` : target.hostname}:${getPort(target)}`;
}

interface TunnelOptions {
  proxy: Proxy;
  target: buildConnector.Options;
  /** The authorities for a proxy at https://, as PEM; by default Node's. */
  authorities?: string[] | undefined;
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * A socket to the target through a proxy (CONNECT). Throws GatewayError not-sent; user name and password of the proxy are
 * never shown. undici's `ProxyAgent` has no code that distinguishes a failing proxy from a failing target, reports the status of
 * a refusal only in its message, accepts no 2xx except 200, and reconnects forever to a proxy that closes the connection.
 */
export async function openTunnel({ proxy, target, authorities, timeoutMs, signal }: TunnelOptions): Promise<Socket> {
  const address = getAddress(target);
  const { url } = proxy;
  const authorization = proxyAuthorization(url);
  const send = url.protocol === 'https:' ? request : requestHttp;
  return await new Promise<Socket>((resolve, reject) => {
    const connecting = send({
      host: withoutBrackets(url.hostname),
      port: url.port,
      method: 'CONNECT',
      path: address,
      headers: { host: address, ...(authorization && { 'proxy-authorization': authorization }) },
      agent: false,
      timeout: timeoutMs,
      signal,
      ...(authorities && { ca: authorities }),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: 2000,
      // Certificates are checked even with NODE_TLS_REJECT_UNAUTHORIZED=0: the proxy receives a password.
      rejectUnauthorized: true,
    } as RequestOptions);
    connecting.on('timeout', () => connecting.destroy(new ConnectionEnd(`no answer within ${timeoutMs / 1000} s`)));
    connecting.on('error', (error) => reject(proxyFailed(proxy, target.hostname, error)));
    connecting.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
      if (statusCode >= 200 && statusCode < 300) {
        if (head.length > 0) socket.unshift(head);
        return resolve(socket);
      }
      socket.destroy();
      reject(proxyRefused(proxy, statusCode, target));
    });
    connecting.end();
  });
}

export function proxyFailed(proxy: Proxy, target: string, cause: Error): GatewayError {
  const code = getErrorCode(cause) ?? '';
  const message = `${describeProxy(proxy)} does not work: ${describeCause(cause, proxy.url.host)}`;
  return new GatewayError('not-sent', message, {
    reason: proxyReason(code),
    value: target,
    source: proxy.from,
    sent: 'no',
    retryable: !isTrustCode(code) && code !== 'ENOTFOUND',
    cause,
  });
}

function describeProxy({ url, from }: Proxy): string {
  return `the proxy ${url.host} (${from})`;
}

function proxyReason(code: string): Reason {
  if (isTrustCode(code)) return 'proxy-untrusted';
  if (code === 'ENOTFOUND') return 'proxy-name';
  return code === 'ECONNREFUSED' ? 'proxy-down' : 'proxy';
}

export function proxyRefused(proxy: Proxy, status: number, target: Target): GatewayError {
  const { url, from } = proxy;
  const tunnelFailure = (refusal: string, advice: Advice): GatewayError =>
    new GatewayError('not-sent', `${describeProxy(proxy)} ${refusal} (${status})`, {
      ...advice,
      sent: 'no',
      retryable: status >= 500,
    });
  const hasPassword = proxyAuthorization(url) !== undefined;
  // Some proxies answer a wrong password with 401.
  if (status !== 407 && !(status === 401 && hasPassword))
    return tunnelFailure(`refuses the way to ${getAddress(target)}`, {
      reason: 'proxy-refuses',
      value: target.hostname,
    });
  if (hasPassword)
    return tunnelFailure('does not take the user name and password', { reason: 'proxy-password-wrong', source: from });
  const variable = target.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const value = `${variable}=${url.protocol}//user:password@${url.host}`;
  return tunnelFailure('wants a user name and a password', { reason: 'proxy-password', value, source: from });
}

/** `Basic …` for the user name and password of a proxy URL. */
export function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '' && proxy.password === '') return undefined;
  const userinfo = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return `Basic ${Buffer.from(userinfo).toString('base64')}`;
}
