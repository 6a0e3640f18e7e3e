import { readFileSync } from 'node:fs';

// Made once with openssl: an authority (its key was deleted), and certificates that it signed; valid for a hundred years.
const read = (name: string): string => readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url), 'utf8');

export const authority = read('ca.pem');
/** For localhost, 127.0.0.1 and gateway.test. */
export const serverPair = { cert: read('server.pem'), key: read('server.key') };
export const elsewherePair = { cert: read('elsewhere.pem'), key: read('elsewhere.key') };
/** For the hosts of the vendors. It vouches for itself, and test/vitest.config.ts has those who test by it trust it. */
export const vendorPair = { cert: read('vendors.pem'), key: read('vendors.key') };
export const clientPair = { cert: read('client.pem'), key: read('client.key') };
