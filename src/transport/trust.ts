import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { codeOf, messageOf, usageError } from '../errors.ts';
import type { TransportOptions } from './types.ts';

/**
 * TLS settings beside Node's own: certificates are added to the system's, never put in their place.
 * Undefined when there are none. Throws GatewayError usage for PEM texts that are no certificates or keys.
 */
export async function openTrust({
  ca,
  clientCert,
  clientKey,
  env,
}: TransportOptions): Promise<SecureContext | undefined> {
  if (ca === undefined && clientCert === undefined && clientKey === undefined) return undefined;
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw usageError('a client certificate and its key go together', 'give both, as PEM');
  }
  const roots = ca === undefined ? undefined : await authoritiesWith(ca, env);
  try {
    return createSecureContext({ ca: roots, cert: clientCert, key: clientKey });
  } catch (error) {
    throw usageError(`the client certificate and its key do not work: ${messageOf(error)}`, undefined, error);
  }
}

/** Node's authorities with one more: a list of one's own replaces Node's, and what NODE_EXTRA_CA_CERTS added to that too. */
export async function authoritiesWith(ca: string, env: TransportOptions['env']): Promise<string[]> {
  requireCertificate(ca);
  return [...rootCertificates, ...(await extraCertificates(env)), ca];
}

async function extraCertificates(env: TransportOptions['env']): Promise<string[]> {
  const path = env['NODE_EXTRA_CA_CERTS'];
  if (path === undefined || path === '') return [];
  try {
    return [await readFile(path, 'utf8')];
  } catch (error) {
    throw usageError(
      `cannot read NODE_EXTRA_CA_CERTS ${path} (${codeOf(error) ?? messageOf(error)})`,
      undefined,
      error,
    );
  }
}

/** Node takes a PEM text without a certificate for an empty list. */
function requireCertificate(pem: string): void {
  try {
    const { subject } = new X509Certificate(pem);
    if (subject !== undefined) return;
  } catch (error) {
    throw usageError('the certificate authorities hold no PEM certificate', 'give them as PEM', error).with({
      reason: 'authorities',
    });
  }
}
