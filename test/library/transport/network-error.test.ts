import { expect, test } from 'vitest';
import { chooseHint } from '../../../src/library/reasons.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import { networkError, type ConnectionPhase } from '../../../src/library/transport/network-error.ts';

const withCode = (code: string, message = 'it failed'): Error => Object.assign(new Error(message), { code });
const manifold = Object.assign(new AggregateError([withCode('ECONNREFUSED', 'connect ECONNREFUSED ::1:1')], ''), {
  code: 'ECONNREFUSED',
});

test.each<[ConnectionPhase, Error, string, boolean | undefined, string]>([
  ['connecting', manifold, 'not-sent', true, 'cannot connect to h:1: the connection was refused (ECONNREFUSED)'],
  [
    'connecting',
    withCode('EHOSTUNREACH'),
    'not-sent',
    true,
    'cannot connect to h:1: there is no route to the host (EHOSTUNREACH)',
  ],
  ['connecting', withCode('ENOTFOUND'), 'not-sent', false, 'ENOTFOUND'],
  ['connecting', withCode('EAI_AGAIN'), 'not-sent', true, 'EAI_AGAIN'],
  ['connecting', withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), 'not-sent', false, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['connecting', withCode('CERT_HAS_EXPIRED'), 'not-sent', false, 'CERT_HAS_EXPIRED'],
  ['connecting', withCode('UND_ERR_DESTROYED', 'x'), 'not-sent', false, 'the client was closed'],
  ['connecting', new Error(''), 'not-sent', true, 'cannot connect to h:1: the connection failed'],
  ['waiting', withCode('ECONNRESET'), 'no-reply', false, 'no reply from h:1: the connection was reset (ECONNRESET)'],
  [
    'waiting',
    withCode('UND_ERR_SOCKET', 'other side closed'),
    'no-reply',
    false,
    'no reply from h:1: the connection was closed',
  ],
  ['waiting', withCode('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), 'not-sent', false, 'CERTIFICATE_REQUIRED'],
  ['waiting', withCode('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'), 'not-sent', false, 'UNKNOWN_CA'],
  ['waiting', withCode('ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR'), 'no-reply', false, 'INTERNAL_ERROR'],
  ['waiting', withCode('UND_ERR_HEADERS_OVERFLOW'), 'bad-reply', false, 'does not speak HTTP'],
  ['body', withCode('ECONNRESET'), 'incomplete', true, 'the reply was cut: the connection was reset (ECONNRESET)'],
  ['body', withCode('UND_ERR_RES_CONTENT_LENGTH_MISMATCH'), 'incomplete', true, 'the reply was cut'],
  [
    'connecting',
    withCode('UND_ERR_INVALID_ARG', 'invalid x-api-key header'),
    'usage',
    false,
    'the header x-api-key cannot be sent: its value is not valid',
  ],
  [
    'connecting',
    withCode('EXXX', 'raw words'),
    'not-sent',
    true,
    'cannot connect to h:1: the connection failed (EXXX)',
  ],
  ['waiting', new Error('other side closed'), 'no-reply', false, 'no reply from h:1: the connection failed'],
])('while %s, %s is %s', (phase, error, kind, retryable, message) => {
  const fault = networkError(error, phase, 'h:1');
  expect([fault.class, fault.details.retryable]).toEqual([kind, retryable]);
  expect(fault.message).toContain(message);
  expect(fault.cause).toBe(error);
});

test.each([
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'HOSTNAME_MISMATCH',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'EPROTO',
])('a handshake that ends with %s is not repeated', (code) => {
  expect(networkError(withCode(code), 'connecting', 'h:1')).toMatchObject({
    class: 'not-sent',
    details: { sent: 'no', retryable: false },
  });
});

test.each([
  ['CERT_HAS_EXPIRED', 'date -u'],
  ['CERT_NOT_YET_VALID', 'the clock of this machine'],
  ['CERT_REVOKED', 'renew the certificate'],
  ['SELF_SIGNED_CERT_IN_CHAIN', '--cacert'],
  ['HOSTNAME_MISMATCH', 'the host name'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', '--client-cert'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'TLS 1.2'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'the host name'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'http://'],
  ['EPROTO', 'http://'],
])('the hint for %s mentions %s', (code, words) => {
  expect(chooseHint(networkError(withCode(code), 'connecting', 'h:1'))).toContain(words);
});

test("the HTTP client's own words and codes are not shown", () => {
  const error = withCode('UND_ERR_SOCKET', 'other side closed');
  expect(networkError(error, 'waiting', 'h:1').message).toBe('no reply from h:1: the connection was closed');
});

test('a GatewayError stays as it is', () => {
  const error = new GatewayError('usage', 'changed');
  expect(networkError(error, 'waiting', 'h')).toBe(error);
});

test.each<[ConnectionPhase, Error]>([
  ['connecting', new RangeError('WebAssembly.Instance(): Out of memory: Cannot allocate Wasm memory for new instance')],
  ['connecting', withCode('ENOMEM')],
  ['waiting', new RangeError('Array buffer allocation failed')],
  ['body', withCode('ERR_MEMORY_ALLOCATION_FAILED')],
])('without memory, %s, the hint mentions memory and not the network: %s', (phase, error) => {
  const fault = networkError(error, phase, 'h:1');
  expect(chooseHint(fault, 'library')).toContain('memory');
  expect(chooseHint(fault, 'library')).not.toContain('network');
});
