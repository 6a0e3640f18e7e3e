import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import * as tls from 'node:tls';
import { getErrorCode, settingError, usageError } from '../errors.ts';
import type { ConnectionOptions } from './types.ts';

/** Lists the certificate authorities of a store, as PEM. */
type ListAuthorities = (place: 'default' | 'system') => string[];

/** Node 22.15, 23.10, 24 and later have it. */
const { getCACertificates }: { getCACertificates?: ListAuthorities } = tls as object;

/** The trust settings of connections, if they differ from Node's default. */
export interface Trust {
  /** PEM; undefined for Node's own. */
  authorities: string[] | undefined;
  /** The authorities and the client certificate. */
  secureContext: tls.SecureContext;
}

/** OpenSSL's codes for a certificate and a key that cannot be used. */
const certificateFaults: Readonly<Record<string, string>> = {
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: 'the key belongs to another certificate',
  ERR_OSSL_X509_KEY_TYPE_MISMATCH: 'the key belongs to another certificate',
  ERR_OSSL_PEM_NO_START_LINE: 'one of them is not PEM',
  ERR_OSSL_PEM_BAD_BASE64_DECODE: 'one of them is not valid PEM',
  ERR_OSSL_BAD_DECRYPT: 'the key has a password',
  ERR_OSSL_CRYPTO_INTERRUPTED_OR_CANCELLED: 'the key has a password',
  ERR_OSSL_UNSUPPORTED: 'the key is not a PEM private key',
  ERR_OSSL_ASN1_WRONG_TAG: 'one of them is damaged',
  ERR_OSSL_ASN1_HEADER_TOO_LONG: 'one of them is damaged',
  ERR_OSSL_ASN1_NOT_ENOUGH_DATA: 'one of them is damaged',
};

/**
 * TLS settings in addition to Node's own: certificates are added to those that Node trusts and never replace them. Undefined if
 * there are none. Throws GatewayError usage for texts that are not certificates or keys.
 */
export async function openTrust(options: ConnectionOptions): Promise<Trust | undefined> {
  const { clientCert, clientKey } = options;
  const authorities = await loadAuthorities(options);
  if (authorities === undefined && clientCert === undefined && clientKey === undefined) return undefined;
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw usageError('a client certificate must come with its key', 'give both, as PEM');
  }
  try {
    const secureContext = tls.createSecureContext({ ca: authorities, cert: clientCert, key: clientKey });
    return { authorities, secureContext };
  } catch (error) {
    const reason =
      certificateFaults[getErrorCode(error) ?? ''] ?? `one of them is not valid (${getErrorCode(error) ?? 'no code'})`;
    throw usageError(
      `the client certificate and its key cannot be used: ${reason}`,
      'give the certificate and its own private key, both as PEM without a password',
      error,
    );
  }
}

/**
 * Node's authorities and further ones: Node replaces its own and those of NODE_EXTRA_CA_CERTS by a given list, so the list has to
 * contain all. Undefined if there are no further ones. Throws GatewayError usage.
 */
export async function loadAuthorities(
  { ca, systemCa = false, env }: Pick<ConnectionOptions, 'ca' | 'systemCa' | 'env'>,
  list: ListAuthorities | undefined = getCACertificates,
): Promise<string[] | undefined> {
  if (ca === undefined && !systemCa) return undefined;
  if (ca !== undefined) requireCertificate(ca);
  const system = systemCa ? requireSystemStore(list)('system') : [];
  const own = list?.('default') ?? tls.rootCertificates;
  return [...own, ...system, ...(await extraCertificates(env)), ...(ca === undefined ? [] : [ca])];
}

/** Throws GatewayError usage if this version of Node cannot read the system's certificate store. */
export function requireSystemStore(list: ListAuthorities | undefined = getCACertificates): ListAuthorities {
  if (list !== undefined) return list;
  throw settingError("this version of Node cannot read the system's certificate store", { reason: 'system-ca' });
}

/** Whether adding the system's store could make a certificate trusted. */
export function hasMoreAuthorities({ systemCa = false }: Pick<ConnectionOptions, 'systemCa'>): boolean {
  return getCACertificates !== undefined && !systemCa;
}

async function extraCertificates(env: ConnectionOptions['env']): Promise<string[]> {
  const path = env['NODE_EXTRA_CA_CERTS'];
  if (path === undefined || path === '') return [];
  try {
    return [await readFile(path, 'utf8')];
  } catch (error) {
    throw usageError(
      `cannot read NODE_EXTRA_CA_CERTS ${path} (${getErrorCode(error) ?? 'no code'})`,
      'correct the variable, or unset it',
      error,
    );
  }
}

/** Throws GatewayError usage for a PEM text without a certificate, which Node treats as an empty list; `what` begins its message. */
export function requireCertificate(pem: string, what = 'the certificate authorities contain'): void {
  try {
    const { subject } = new X509Certificate(pem);
    if (subject !== undefined) return;
  } catch (error) {
    const hint = 'give certificates as PEM: -----BEGIN CERTIFICATE-----';
    throw usageError(`${what} no valid PEM certificate`, hint, error);
  }
}
