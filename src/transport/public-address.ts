import { lookup as resolveName } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { type GatewayError, usageError } from '../errors.ts';

/** What IANA's registry of special-purpose addresses does not call globally reachable, and multicast. */
const special4 = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
];
const special6 = [
  '::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16',
  'fc00::/7 fe80::/10 fec0::/10 ff00::/8',
];
/** Behind this prefix a translator (NAT64) reaches the IPv4 address that follows it. */
const translated = '64:ff9b::';

const special = new BlockList();
for (const [network, bits] of blocks(special4)) {
  // A BlockList looks up ::ffff:10.0.0.1 among the IPv4 blocks by itself.
  special.addSubnet(network, bits, 'ipv4');
  special.addSubnet(translated + network, 96 + bits, 'ipv6');
}
for (const [network, bits] of blocks(special6)) special.addSubnet(network, bits, 'ipv6');

/** What IANA has given out for the internet, and the forms that stand for an IPv4 address. */
const assigned = new BlockList();
assigned.addSubnet('0.0.0.0', 0, 'ipv4');
for (const [network, bits] of blocks([`2000::/3 ::ffff:0:0/96 ${translated}/96`])) {
  assigned.addSubnet(network, bits, 'ipv6');
}

/** Names that a resolver answers from the network it stands in, and those without a dot. */
const localName = /^[^.]*\.?$|\.(?:localhost|local|localdomain|internal|intranet|lan|home|corp|home\.arpa)\.?$/i;

function blocks(lists: readonly string[]): [network: string, bits: number][] {
  return lists
    .flatMap((list) => list.split(' '))
    .map((block) => {
      const [network = '', bits] = block.split('/');
      return [network, Number(bits)];
    });
}

/** Whether an address is reached through the internet: neither private, loopback, link-local, multicast nor reserved. */
export function isPublicAddress(address: string): boolean {
  const [bare = ''] = address.split('%');
  const version = isIP(bare);
  const family = version === 4 ? 'ipv4' : 'ipv6';
  return version !== 0 && assigned.check(bare, family) && !special.check(bare, family);
}

/** Whether a name, or an address without brackets, tells by itself that it is not on the internet. */
export function isPrivateHost(host: string): boolean {
  return isIP(host) === 0 ? localName.test(host) : !isPublicAddress(host);
}

/** The error for a way that leads off the internet. */
export function privateAddress(host: string): GatewayError {
  return usageError(`the redirect leads to a private address: ${host}`, 'if you trust it, name that URL yourself');
}

/** Looks a name up for the socket that connects to the answer: no second look-up can tell another address. */
export const lookupPublic: LookupFunction = (host, options, callback) => {
  resolveName(host, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, [], 0);
    if (!found.every(({ address }) => isPublicAddress(address))) return callback(privateAddress(host), [], 0);
    const [first] = found;
    if (options.all) callback(null, found);
    else callback(null, first?.address ?? '', first?.family);
  });
};
