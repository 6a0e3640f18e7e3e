import type { Reason } from '../reasons.ts';
import { badReply, getErrorCode, type ErrorDetails, GatewayError, getErrorMessage, settingError } from '../errors.ts';
import { isLoopback } from './request.ts';

/** A connection that this program closed; the message has the reason. */
export class ConnectionEnd extends Error {}

/** The state of an exchange: before its head is sent, waiting for the reply's head, inside the reply's body. */
export type ConnectionPhase = 'connecting' | 'waiting' | 'body';

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

/** The error for a failure of undici or of a socket in this phase. A GatewayError stays as it is. */
export function networkError(error: unknown, phase: ConnectionPhase, host: string): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = getErrorCode(error) ?? '';
  if (code === 'UND_ERR_INVALID_ARG') return invalidRequest(error);
  if (phase === 'connecting' || isRefusedHandshake(code)) {
    const message = `cannot connect to ${host}: ${describeCause(error, host)}`;
    return new GatewayError('not-sent', message, { ...connectAdvice(error, code, host), sent: 'no', cause: error });
  }
  // This is undici's only message for an interim reply 100 that was not asked for; the reply behind it cannot be read.
  if (getErrorMessage(error) === 'bad response')
    return badReply(`${host} sent 100 Continue unasked, and the reply behind it cannot be read`, {
      reason: 'interim',
      cause: error,
    });
  // Before the head is complete, undici reports contradicting lengths with the code of a body that is too short.
  if (isOtherProtocol(error, code) || (phase === 'waiting' && code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')) {
    // undici has a message, and no code, for a reply that switches to another protocol.
    const why =
      getErrorMessage(error) === 'bad upgrade' ? 'it switches to another protocol' : describeCause(error, host);
    return badReply(`${host} does not speak HTTP: ${why}`, { reason: 'no-http', cause: error });
  }
  const facts = { sent: 'yes', cause: error } as const;
  if (phase === 'body') {
    return new GatewayError('incomplete', `the reply was cut: ${describeCause(error, host)}`, {
      ...facts,
      reason: isOutOfMemory(error, code) ? 'memory' : undefined,
      retryable: true,
    });
  }
  return new GatewayError('no-reply', `no reply from ${host}: ${describeCause(error, host)}`, {
    ...facts,
    reason: isOutOfMemory(error, code) ? 'maybe-billed-memory' : 'maybe-billed',
    retryable: false,
  });
}

/** undici names the header only in its message. */
function invalidRequest(error: unknown): GatewayError {
  const [, header] = /^invalid (\S+) header/.exec(getErrorMessage(error)) ?? [];
  return header === undefined
    ? settingError('the request cannot be sent: its URL or a header is not valid', {
        reason: 'url-or-headers',
        cause: error,
      })
    : settingError(`the header ${header} cannot be sent: its value is not valid`, {
        reason: 'header-value',
        cause: error,
      });
}

function connectAdvice(
  error: unknown,
  code: string,
  host: string,
): Pick<ErrorDetails, 'reason' | 'value' | 'retryable'> {
  if (isTrustCode(code)) return { reason: trustReason(code), retryable: false };
  if (isOutOfMemory(error, code)) return { reason: 'memory', retryable: false };
  if (code === 'EMFILE') return { reason: 'open-files', retryable: true };
  if (code === 'ENOTFOUND') return { reason: 'host-name', retryable: false };
  // This program closed the connection.
  if (code === 'UND_ERR_DESTROYED') return { retryable: false };
  const isClosedHere = code === 'ECONNREFUSED' && isLoopback(new URL(`http://${host}`));
  if (!isClosedHere) return { reason: 'network', retryable: true };
  return { reason: 'nothing-listens', value: host.endsWith(':11434') ? 'ollama' : undefined, retryable: true };
}

/** Whether the system or V8 has no memory left: for buffers, or the 10 GB of address space that WebAssembly reserves. */
function isOutOfMemory(error: unknown, code: string): boolean {
  if (['ENOMEM', 'ENOBUFS', 'ERR_MEMORY_ALLOCATION_FAILED'].includes(code)) return true;
  return error instanceof RangeError && /out of memory|allocation failed/i.test(error.message);
}

/** A certificate or a handshake that failed, and will fail again. */
export function isTrustCode(code: string): boolean {
  return trustCodes.some((start) => code.startsWith(start));
}

function trustReason(code: string): Reason {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') return 'host-name';
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'EPROTO') return 'port-speaks-http';
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return 'certificate-time';
  if (code === 'CERT_REVOKED') return 'certificate-revoked';
  if (isRefusedHandshake(code)) return 'client-certificate';
  return code.startsWith('ERR_SSL_') ? 'tls-version' : 'untrusted';
}

/**
 * Whether the server refused the client certificate. With TLS 1.3 it does that after the first bytes of the request, which it
 * does not read.
 */
function isRefusedHandshake(code: string): boolean {
  return code.startsWith('ERR_SSL_') && /ALERT_.*(?:CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE)/.test(code);
}

/**
 * Whether an error is one of undici's parser, which has no code. An early end of the connection is such an error too, but counts
 * as a cut.
 */
function isOtherProtocol(error: unknown, code: string): boolean {
  const message = getErrorMessage(error);
  if (error instanceof Error && error.name === 'HTTPParserError') return !message.includes('Invalid EOF state');
  return code === 'UND_ERR_HEADERS_OVERFLOW' || message === 'bad upgrade';
}

const words: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  CERT_REVOKED: 'its certificate was revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  EADDRNOTAVAIL: 'this machine has no free port',
  EAI_AGAIN: 'its name cannot be looked up at the moment (DNS)',
  ECONNABORTED: 'the connection was closed',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EHOSTDOWN: 'the host is down',
  EHOSTUNREACH: 'there is no route to the host',
  EACCES: 'this machine does not allow the connection',
  EMFILE: 'too many files are open',
  ENETDOWN: 'the network is down',
  ENETUNREACH: 'there is no route to the network',
  ENOTFOUND: 'there is no host with that name',
  EPERM: 'this machine does not allow the connection',
  EPIPE: 'the connection was closed',
  EPROTO: 'the TLS handshake failed',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not answer in TLS',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  ETIMEDOUT: 'the connection timed out',
  HOSTNAME_MISMATCH: 'its certificate is for another host',
  INVALID_CA: 'its certificate comes from an authority that may not sign certificates',
  INVALID_PURPOSE: 'its certificate is not for servers',
  PATH_LENGTH_EXCEEDED: 'its certificate chain is too long',
  UND_ERR_CLOSED: 'the client was closed',
  UND_ERR_DESTROYED: 'the client was closed',
  UND_ERR_HEADERS_OVERFLOW: 'its headers are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'its length differs from its Content-Length header',
  UND_ERR_SOCKET: 'the connection was closed',
};

/** A failed connection to a host in words, with the system's code and each address that was tried. */
export function describeCause(error: unknown, host: string): string {
  const parts: unknown[] = error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error];
  return [...new Set(parts.map((part) => describeOneCause(part, host)))].join('; ');
}

function describeOneCause(error: unknown, host: string): string {
  if (error instanceof GatewayError || error instanceof ConnectionEnd) return error.message;
  const code = getErrorCode(error) ?? '';
  const known = words[code] ?? describeErrorKind(error, code);
  const message = `${known ?? 'the connection failed'}${formatAddress(error, host)}`;
  return code === '' || (known !== undefined && code.startsWith('UND_ERR_')) ? message : `${message} (${code})`;
}

function describeErrorKind(error: unknown, code: string): string | undefined {
  if (isOutOfMemory(error, code)) return 'there is not enough memory';
  if (/^(?:SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF))/.test(code))
    return 'its certificate comes from an authority that this machine does not know';
  if (isTrustCode(code) && !/^(?:ERR_|EPROTO)/.test(code)) return 'its certificate is not trusted';
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'the TLS handshake failed';
  if (code === 'HPE_INVALID_EOF_STATE') return 'the connection was closed';
  if (code.startsWith('HPE_')) return 'it does not speak HTTP';
  if (!(error instanceof Error) || error.name !== 'HTTPParserError') return undefined;
  return error.message.includes('Invalid EOF state') ? 'the connection was closed' : 'its reply is not HTTP/1.1';
}

/** The address of a host name; an address that the user typed is in the message already. */
function formatAddress(error: unknown, host: string): string {
  if (!(error instanceof Error) || !('address' in error) || !('port' in error)) return '';
  const address = String(error.address);
  const place = `${address.includes(':') ? `[${address}]` : address}:${String(error.port)}`;
  return place === host ? '' : ` at ${place}`;
}
