import { type Advice, codeOf, GatewayError, messageOf, usageError } from '../errors.ts';
import { faultWords } from './fault-words.ts';

/** How far an exchange got: before its head went out, waiting for the reply's head, inside the reply's body. */
export type Phase = 'connecting' | 'waiting' | 'body';

const trustCodes = [
  'CERT_',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'HOSTNAME_MISMATCH',
  'ERR_TLS_',
  'ERR_SSL_',
  'EPROTO',
];

const billedHint = 'it may have been billed: look before you run it again';
const memoryHint = 'the process may not have as much memory: free some, or raise its limit (ulimit -v, the container)';

/** What a failure of undici or of a socket means at this phase (faults.md 2a). An error that is ours already stays as it is. */
export function faultOf(error: unknown, phase: Phase, host: string): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = codeOf(error) ?? '';
  if (code === 'UND_ERR_INVALID_ARG')
    return usageError(`the request cannot be written: ${messageOf(error)}`, undefined, error);
  if (phase === 'connecting' || isRefusedHandshake(code)) return notSent(error, code, host);
  // Before the head is whole, undici tells contradicting lengths by the code of a body that is too short.
  if (isForeignProtocol(error, code) || (phase === 'waiting' && code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')) {
    return new GatewayError('bad-reply', `${host} does not speak HTTP: ${foreignWords(error, host)}`, {
      hint: 'check the base URL and its port',
      sent: 'yes',
      retryable: false,
      cause: error,
    });
  }
  const facts = { sent: 'yes', cause: error } as const;
  if (phase === 'body') {
    return new GatewayError('incomplete', `the reply was cut: ${faultWords(error, host)}`, {
      ...facts,
      hint: isOutOfMemory(error, code) ? memoryHint : undefined,
      retryable: true,
    });
  }
  return new GatewayError('no-reply', `no reply from ${host}: ${faultWords(error, host)}`, {
    ...facts,
    hint: isOutOfMemory(error, code) ? `${billedHint}; ${memoryHint}` : billedHint,
    retryable: false,
  });
}

function notSent(error: unknown, code: string, host: string): GatewayError {
  const what = `cannot connect to ${host}: ${faultWords(error, host)}`;
  const facts = { sent: 'no', cause: error } as const;
  if (isTrustCode(code)) {
    return new GatewayError('not-sent', what, { ...facts, ...trustAdvice(code), retryable: false });
  }
  if (isOutOfMemory(error, code))
    return new GatewayError('not-sent', what, { ...facts, hint: memoryHint, retryable: false });
  if (code === 'ENOTFOUND') {
    return new GatewayError('not-sent', what, {
      ...facts,
      hint: 'check the host name in the base URL',
      retryable: false,
    });
  }
  const hint = 'check the network, the base URL and the proxy variables';
  return new GatewayError('not-sent', what, { ...facts, hint, retryable: true });
}

/** Of the system, or of V8: buffers, and the 10 GB of addresses that WebAssembly reserves. */
function isOutOfMemory(error: unknown, code: string): boolean {
  if (['ENOMEM', 'ENOBUFS', 'ERR_MEMORY_ALLOCATION_FAILED'].includes(code)) return true;
  return error instanceof RangeError && /out of memory|allocation failed/i.test(error.message);
}

/** A certificate or a handshake that failed, and will fail again. */
export function isTrustCode(code: string): boolean {
  return trustCodes.some((start) => code.startsWith(start));
}

function trustAdvice(code: string): Advice {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH')
    return { hint: 'the certificate is for another host: check the base URL' };
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'EPROTO')
    return { hint: 'that port may speak http://, not https://' };
  const renewal = 'those who run the host must renew the certificate';
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return { hint: `check the clock of this machine: date -u\nif it is right, ${renewal}` };
  if (code === 'CERT_REVOKED') return { hint: renewal };
  if (isRefusedHandshake(code))
    return { hint: 'the host wants a client certificate that it trusts', reason: 'client-certificate' };
  if (code.startsWith('ERR_SSL_'))
    return { hint: 'check the port in the base URL, and whether it speaks TLS 1.2 or newer' };
  return { hint: 'if you trust the certificate, add its authority, also in NODE_EXTRA_CA_CERTS', reason: 'untrusted' };
}

/** With TLS 1.3 the server's no to a client certificate comes after the request's first bytes, which it never looks at. */
function isRefusedHandshake(code: string): boolean {
  return code.startsWith('ERR_SSL_') && /ALERT_.*(?:CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE)/.test(code);
}

/** Parser errors have no code (faults.md 2a). An early end of the connection is one of them too, but that is a cut. */
function isForeignProtocol(error: unknown, code: string): boolean {
  const message = messageOf(error);
  if (error instanceof Error && error.name === 'HTTPParserError') return !message.includes('Invalid EOF state');
  return code === 'UND_ERR_HEADERS_OVERFLOW' || message === 'bad response' || message === 'bad upgrade';
}

/** undici has a message, and no code, for a reply that asks for another protocol. */
function foreignWords(error: unknown, host: string): string {
  return messageOf(error) === 'bad upgrade' ? 'it changes to another protocol' : faultWords(error, host);
}
