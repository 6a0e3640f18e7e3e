import { GatewayError, type Reason } from '../errors.ts';

/** What to type, for the reasons of layers that know no flags. */
const hints: Record<Reason, (value: number) => string> = {
  authorities: () => 'name a PEM file: --cacert <file>',
  'client-certificate': () => 'the host wants a client certificate that it trusts: --client-cert and --client-key',
  insecure: () => 'use https://, or say --allow-http if the way there is safe',
  'retry-time': (seconds) => `run it again after ${seconds} s, or wait longer: --retry-max-time ${seconds + 1}`,
  timeout: (minutes) => `give it more time: --timeout ${minutes}m`,
  unchecked: () => 'unset it; to trust a certificate, use --cacert <file>',
  untrusted: () => 'if you trust the certificate, name its authority with --cacert <file> or NODE_EXTRA_CA_CERTS',
};

/** The same failure; where it has a reason, the last line of its hint names the flag. */
export function withFlags(error: GatewayError): GatewayError {
  const { reason, value = 0, hint = '' } = error.details;
  if (reason === undefined) return error;
  const told = new GatewayError(error.class, error.message, {
    ...error.details,
    hint: [...hint.split('\n').slice(0, -1), hints[reason](value)].join('\n'),
    reason: undefined,
    cause: error.cause,
  });
  if (error.stack !== undefined) told.stack = error.stack;
  return told;
}

/** What to type next after a failure. */
export function hintOf(error: GatewayError): string | undefined {
  return withFlags(error).details.hint;
}
