import { lookup as lookUp } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { GatewayError, settingError, usageError } from '../errors.ts';
import { version } from '../version.ts';
import { openHttpConnection } from './connection.ts';
import type { HttpReply, InputFetcher, Connection, ConnectionOptions } from './types.ts';

const maxRedirects = 5;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/**
 * Fetches URLs without the key, headers and certificate of the user. A redirect is followed only to public addresses. A `linked`
 * URL was named by a reply in place of the user: it must be at a public address, too, and redirects only within its host.
 */
export function openInputFetcher(
  { clientCert: _cert, clientKey: _key, ...options }: ConnectionOptions,
  { linked = false } = {},
): InputFetcher {
  const via = linked ? 'link' : 'redirect';
  const guard = { check: (host: string) => checkPublic(host, via), lookup: createPublicLookup(via) };
  const redirected = openHttpConnection({ ...options, guard });
  const direct = linked ? redirected : openHttpConnection(options);
  return {
    async fetch(url, signal) {
      let at = url;
      let reply = await get(direct, at, signal);
      for (let hops = 0; redirectStatuses.has(reply.status); hops++) {
        await discardBody(reply);
        if (hops === maxRedirects) throw usageError(`it redirects more than ${maxRedirects} times`);
        at = nextUrl(reply, at);
        if (linked && at.origin !== url.origin) throw usageError('it redirects to another host');
        reply = await get(redirected, at, signal);
      }
      const error = replyError(reply);
      if (error === undefined) return { mimeType: parseMimeType(reply), body: reply.body };
      await discardBody(reply);
      throw error;
    },
    async close() {
      await Promise.all([direct.close(), redirected.close()]);
    },
  };
}

function get(transport: Connection, url: URL, signal: AbortSignal): Promise<HttpReply> {
  const headers = { accept: '*/*', 'user-agent': `gateway-cli/${version}` };
  return transport.fetch(
    { method: 'GET', url, headers, body: { segments: [], bytes: 0 } },
    { signal, acceptsAnyHead: true },
  );
}

/** Closes the connection without reading the body. */
async function discardBody({ body }: HttpReply): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}

/** The target of a redirect. Messages never contain it: paths and queries of redirects contain tokens. */
function nextUrl({ headers: { location } }: HttpReply, base: URL): URL {
  if (location === undefined || !URL.canParse(location, base.href))
    throw usageError('it redirects, and does not say where to');
  const url = new URL(location, base);
  if (url.protocol !== 'https:')
    throw usageError(`it redirects to a ${url.protocol} URL, and only https:// is followed`);
  url.username = '';
  url.password = '';
  return url;
}

function replyError({ status, headers }: HttpReply): GatewayError | undefined {
  const facts = { sent: 'no', status, retryable: status === 429 || status >= 500 } as const;
  if (status !== 200) {
    const reason = status === 401 || status === 403 ? 'input-url-private' : 'input-url';
    return new GatewayError('usage', `the host answered ${status}`, { ...facts, reason });
  }
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return undefined;
  return settingError(`it comes encoded as ${coding.slice(0, 40)}, although the request accepts no encoding`, {
    reason: 'input-url-encoded',
  });
}

function parseMimeType({ headers }: HttpReply): string | undefined {
  const type = headers['content-type']?.split(/[;,]/)[0]?.trim().toLowerCase();
  return type !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : undefined;
}

/** The blocks that IANA's registry of special-purpose addresses does not list as globally reachable, and multicast. */
const special4 = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
];
const special6 = [
  '::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16',
  'fc00::/7 fe80::/10 fec0::/10 ff00::/8',
];
/** The prefix of NAT64: a translator connects to the IPv4 address that follows it. */
const translated = '64:ff9b::';

const special = new BlockList();
for (const [network, bits] of blocks(special4)) {
  // A BlockList checks ::ffff:10.0.0.1 against the IPv4 blocks.
  special.addSubnet(network, bits, 'ipv4');
  special.addSubnet(translated + network, 96 + bits, 'ipv6');
}
for (const [network, bits] of blocks(special6)) special.addSubnet(network, bits, 'ipv6');

/** The blocks that IANA assigned to the internet, and the forms of IPv6 that contain an IPv4 address. */
const assigned = new BlockList();
assigned.addSubnet('0.0.0.0', 0, 'ipv4');
for (const [network, bits] of blocks([`2000::/3 ::ffff:0:0/96 ${translated}/96`])) {
  assigned.addSubnet(network, bits, 'ipv6');
}

/** Names that a resolver answers from its local network, and names without a dot. */
const localName = /^[^.]*\.?$|\.(?:localhost|local|localdomain|internal|intranet|lan|home|corp|home\.arpa)\.?$/i;

function blocks(lists: readonly string[]): [network: string, bits: number][] {
  return lists
    .flatMap((list) => list.split(' '))
    .map((block) => {
      const [network = '', bits] = block.split('/');
      return [network, Number(bits)];
    });
}

/** Whether an address is on the internet: not private, loopback, link-local, multicast or reserved. */
export function isPublicAddress(address: string): boolean {
  const [bare = ''] = address.split('%');
  const version = isIP(bare);
  const family = version === 4 ? 'ipv4' : 'ipv6';
  return version !== 0 && assigned.check(bare, family) && !special.check(bare, family);
}

/** An error for a local name and for an address, without brackets, that is not on the internet. */
export function checkPublic(host: string, via: Via): GatewayError | undefined {
  const isPrivate = isIP(host) === 0 ? localName.test(host) : !isPublicAddress(host);
  return isPrivate ? privateAddress(host, via) : undefined;
}

/** The way in which an address was found. */
type Via = 'redirect' | 'link';

function privateAddress(host: string, via: Via): GatewayError {
  return usageError(`the ${via} leads to a private address: ${host}`, 'if you trust it, name that URL yourself');
}

/** The look-up of the socket itself: a second look-up could give another address. */
export function createPublicLookup(via: Via): LookupFunction {
  return (host, options, callback) => {
    lookUp(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, [], 0);
      if (!found.every(({ address }) => isPublicAddress(address))) return callback(privateAddress(host, via), [], 0);
      const [first] = found;
      if (options.all) callback(null, found);
      else callback(null, first?.address ?? '', first?.family);
    });
  };
}
