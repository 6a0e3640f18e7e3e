import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { isoTime } from '../../clock.ts';
import type { Check } from './types.ts';

const dayMs = 86_400_000;
/** A certificate that ends sooner is worth a word. */
const soonDays = 14;

interface CertificateOptions {
  host: string;
  /** ms since 1970 */
  now: number;
  /** What to type where nobody that is trusted signed it. */
  untrustedFix: string | undefined;
}

/** What a server's certificate chain says, and whether it is trusted. */
export function checkCertificate(socket: TLSSocket, { host, now, untrustedFix }: CertificateOptions): Check {
  const name = 'tls';
  const chain = chainOf(socket.getPeerCertificate(true));
  const [own] = chain;
  if (own === undefined)
    return { name, state: 'failed', class: 'not-sent', text: `${host} showed no certificate`, fix: wrongHost };
  const ends = Date.parse(own.valid_to);
  const days = Math.floor((ends - now) / dayMs);
  const issuers = chain.slice(1).map(commonName);
  const by = commonName({ subject: own.issuer });
  const path = [...new Set([by, ...issuers])].join(' ← ');
  const until = `${days < 0 ? 'ended' : 'valid until'} ${isoTime(ends)?.slice(0, 10) ?? own.valid_to}`;
  const text = `${socket.getProtocol() ?? 'TLS'}, certificate of ${commonName(own)} by ${path}, ${until}`;
  // Node gives the code as a string, whatever its types say.
  const problem = socket.authorized ? undefined : String(socket.authorizationError);
  if (problem !== undefined)
    return {
      name,
      state: 'failed',
      class: 'not-sent',
      text: `${text}: not trusted (${problem})`,
      fix: fixFor(problem) ?? untrustedFix,
    };
  if (days < soonDays)
    return { name, state: 'warning', text: `${text}: in ${days} days`, fix: `tell the people who run ${host}` };
  return { name, state: 'ok', text };
}

const wrongHost = 'check the host and port: gateway-cli config get baseUrl';

/** From the server's own certificate upwards; the last one issued itself. */
function chainOf(first: DetailedPeerCertificate): DetailedPeerCertificate[] {
  const chain: DetailedPeerCertificate[] = [];
  for (
    let at: DetailedPeerCertificate | undefined = first;
    at?.subject && !chain.includes(at);
    at = at.issuerCertificate
  )
    chain.push(at);
  return chain;
}

function commonName({ subject }: { subject: DetailedPeerCertificate['subject'] }): string {
  const { CN, O } = subject as Record<string, string | string[] | undefined>;
  return String(CN ?? O ?? 'no name');
}

function fixFor(code: string): string | undefined {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `the certificate is for another host; ${wrongHost}`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return 'check the clock of this machine: date -u; if it is right, the gateway needs a new certificate';
  return undefined;
}
