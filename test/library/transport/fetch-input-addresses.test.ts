import { expect, test } from 'vitest';
import { checkPublic, createPublicLookup, isPublicAddress } from '../../../src/library/transport/fetch-input.ts';

test.each([
  '0.0.0.0',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:a00:1',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '::ffff:0:10.0.0.1',
  '100:0:0:1::1',
  '4000::1',
  'no address',
])('%s is not a public address', (address) => expect(isPublicAddress(address)).toBe(false));

test.each([
  '1.1.1.1',
  '9.255.255.255',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '2001:4860:4860::8888',
  '2606:4700::1111',
  '2a00::1',
])('%s is a public address', (address) => expect(isPublicAddress(address)).toBe(true));

test.each([
  ['localhost', true],
  ['LOCALHOST.', true],
  ['metadata', true],
  ['a.localhost', true],
  ['printer.local', true],
  ['metadata.google.internal', true],
  ['nas.home.arpa.', true],
  ['10.0.0.1', true],
  ['::1', true],
  ['example.org', false],
  ['local.example.org', false],
  ['8.8.8.8', false],
])('the host %s is private without a look-up: %s', (host, expected) =>
  expect(checkPublic(host, 'redirect') !== undefined).toBe(expected),
);

test.each([
  [{ all: true }, [{ address: '8.8.8.8', family: 4 }], undefined],
  [{ all: false }, '8.8.8.8', 4],
])('looks up a public address with %j', async (options, address, family) => {
  const answer = await new Promise((resolve) =>
    createPublicLookup('redirect')('8.8.8.8', options, (...args) => resolve(args)),
  );
  expect(answer).toEqual(family === undefined ? [null, address] : [null, address, family]);
});

test.each([{ all: true }, { all: false }])('refuses a name that resolves to this machine, with %j', async (options) => {
  const error = await new Promise((resolve) => createPublicLookup('redirect')('localhost', options, resolve));
  expect(error).toMatchObject({ class: 'usage', message: 'the redirect leads to a private address: localhost' });
});
