import { codeOf, messageOf } from '../errors.ts';

const words: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  CERT_REVOKED: 'its certificate was revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by nobody but itself',
  EADDRNOTAVAIL: 'this machine has no free port',
  EAI_AGAIN: 'its name cannot be looked up now',
  ECONNABORTED: 'the connection was closed',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EHOSTDOWN: 'the host is down',
  EHOSTUNREACH: 'there is no way to the host',
  ENETDOWN: 'the network is down',
  ENETUNREACH: 'there is no way to the network',
  ENOTFOUND: 'there is no host of that name',
  EPIPE: 'the connection was closed',
  EPROTO: 'the TLS handshake failed',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not answer in TLS',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  ETIMEDOUT: 'the connection timed out',
  HOSTNAME_MISMATCH: 'its certificate is for another host',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that this machine does not know',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate comes from an authority that this machine does not know',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an authority that this machine does not know',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an authority that this machine does not know',
  UND_ERR_CLOSED: 'the client was closed',
  UND_ERR_CONNECT_TIMEOUT: 'no connection came in time',
  UND_ERR_DESTROYED: 'the client was closed',
  UND_ERR_HEADERS_OVERFLOW: 'its headers are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'its length is not the one that it promised',
  UND_ERR_SOCKET: 'the connection was closed',
};

/** What a failed connection to a host means, in words, with the system's code. Each address that was tried is told. */
export function faultWords(error: unknown, host: string): string {
  const parts: unknown[] = error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error];
  return [...new Set(parts.map((part) => partWords(part, host)))].join('; ');
}

function partWords(error: unknown, host: string): string {
  const code = codeOf(error) ?? '';
  const known = words[code] ?? wordsOfKind(error, code);
  const message = known === undefined ? messageOf(error) : `${known}${addressOf(error, host)}`;
  return code === '' || code.startsWith('UND_ERR_') || message.includes(code) ? message : `${message} (${code})`;
}

function wordsOfKind(error: unknown, code: string): string | undefined {
  if (code.startsWith('ERR_SSL_')) return 'the TLS handshake failed';
  if (code === 'HPE_INVALID_EOF_STATE') return 'the connection was closed';
  if (code.startsWith('HPE_')) return 'it does not speak HTTP';
  if (!(error instanceof Error) || error.name !== 'HTTPParserError') return undefined;
  return error.message.includes('Invalid EOF state') ? 'the connection was closed' : 'it is no HTTP/1.1';
}

/** Of a name that has several; an address that the user typed is told already. */
function addressOf(error: unknown, host: string): string {
  if (!(error instanceof Error) || !('address' in error) || !('port' in error)) return '';
  const address = String(error.address);
  const place = `${address.includes(':') ? `[${address}]` : address}:${String(error.port)}`;
  return place === host ? '' : ` at ${place}`;
}
