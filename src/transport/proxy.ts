import { BlockList, isIP, isIPv6 } from 'node:net';
import { usageError } from '../errors.ts';
import type { TransportOptions } from './types.ts';
import { isLoopback } from './request.ts';

/** A proxy, and who names it: `HTTPS_PROXY`, `flag --proxy`. */
export interface Proxy {
  url: URL;
  from: string;
}

/**
 * The proxy for a target: the one of the settings, else that of HTTPS_PROXY or HTTP_PROXY, else that of ALL_PROXY. Lower case
 * wins, and an empty variable means none. Hosts of NO_PROXY have none, as in curl whoever names the proxy; neither has loopback:
 * what is allowed towards this machine, such as a key over plain http, would else reach the proxy.
 * Throws GatewayError usage for a proxy URL that is none, without repeating it.
 * undici's `EnvHttpProxyAgent` knows no ALL_PROXY and no address block in NO_PROXY, has a proxy for loopback, and takes
 * HTTP_PROXY for https too.
 */
export function proxyFor(target: URL, { env, proxy }: Pick<TransportOptions, 'env' | 'proxy'>): Proxy | undefined {
  const named = proxy ?? proxyOf(target, env);
  if (named === undefined || isLoopback(target) || isExempt(target, variable(env, 'NO_PROXY'))) return undefined;
  return parseProxy(named);
}

function proxyOf(target: URL, env: TransportOptions['env']): TransportOptions['proxy'] {
  const names = [target.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY', 'ALL_PROXY'];
  const from = names.find((each) => (env[each.toLowerCase()] ?? env[each]) !== undefined);
  if (from === undefined) return undefined;
  const value = variable(env, from);
  return value === '' ? undefined : { value, from };
}

/** `Basic …` for the user name and password of a proxy URL. */
export function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '' && proxy.password === '') return undefined;
  const userinfo = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return `Basic ${Buffer.from(userinfo).toString('base64')}`;
}

function variable(env: TransportOptions['env'], name: string): string {
  return (env[name.toLowerCase()] ?? env[name] ?? '').trim();
}

/** Throws GatewayError usage for what is no URL of an HTTP proxy, without repeating it. */
export function parseProxy({ value, from }: NonNullable<TransportOptions['proxy']>): Proxy {
  const full = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  const hint = 'it looks like http://host:port or http://user:password@host:port';
  if (url === undefined || !isDecodable(url)) throw usageError(`${from} is not a proxy URL`, hint);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw usageError(`${from} names a ${url.protocol}// proxy, which is not supported`, wayAround(from));
  }
  return { url, from };
}

function wayAround(from: string): string {
  const wanted = from === 'ALL_PROXY' ? 'set HTTPS_PROXY, which comes first, to an HTTP proxy' : 'name an HTTP proxy';
  return `${wanted} (http://host:port), or name the host in NO_PROXY to connect without one`;
}

function isDecodable(url: URL): boolean {
  try {
    return decodeURIComponent(url.username + url.password) !== undefined;
  } catch {
    return false;
  }
}

/** Entries: `*`, a host with its subdomains (a leading dot or `*.` makes no difference), an address, a CIDR block; all but the block with `:port`. */
function isExempt(target: URL, list: string): boolean {
  const host = bare(target.hostname.toLowerCase());
  const port = target.port || (target.protocol === 'https:' ? '443' : '80');
  const entries = list.toLowerCase().split(/[\s,]/).filter(Boolean);
  return entries.some((entry) => entry === '*' || matchesHost(entry, host, port) || isInside(entry, host));
}

function matchesHost(entry: string, host: string, port: string): boolean {
  const colon = isIPv6(entry) ? -1 : entry.lastIndexOf(':');
  const hasPort = colon > 0 && !entry.endsWith(']');
  if (hasPort && entry.slice(colon + 1) !== port) return false;
  const name = bare(hasPort ? entry.slice(0, colon) : entry).replace(/^\*?\./, '');
  return name !== '' && (host === name || (isIP(host) === 0 && host.endsWith(`.${name}`)));
}

function isInside(entry: string, host: string): boolean {
  const [network = '', bits = ''] = entry.split('/');
  const version = isIP(network);
  const prefix = Number(bits);
  if (version === 0 || !/^\d+$/.test(bits) || prefix > (version === 4 ? 32 : 128)) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const block = new BlockList();
  block.addSubnet(network, prefix, family);
  return block.check(host, family);
}

function bare(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
