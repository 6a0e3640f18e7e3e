import { GatewayError } from '../errors.ts';

/** Why a reply must not be read on: a redirect would carry key and prompt away, a coding was not asked for (faults.md 2a, 2b). */
export function checkHead(
  status: number,
  headers: Readonly<Record<string, string>>,
  url: URL,
): GatewayError | undefined {
  if (status >= 300 && status < 400) {
    return new GatewayError(
      'bad-reply',
      `the gateway redirects (${status})${redirectTarget(headers['location'], url)}`,
      {
        hint: 'redirects are not followed: set the base URL to where the gateway really is',
        status,
        sent: 'yes',
        billed: 'unknown',
        retryable: false,
      },
    );
  }
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return undefined;
  return new GatewayError('bad-reply', `the reply is encoded as ${coding.slice(0, 40)}, which was not asked for`, {
    hint: 'the gateway, or a proxy before it, compresses though Accept-Encoding: identity is sent: switch that off there',
    status,
    sent: 'yes',
    retryable: false,
  });
}

/** Only the origin: paths and queries of redirects hold tokens. */
function redirectTarget(location: string | undefined, base: URL): string {
  if (location === undefined || !URL.canParse(location, base.href)) return '';
  const target = new URL(location, base);
  return target.origin === 'null' ? ` to a ${target.protocol} URL` : ` to ${target.origin}`;
}
