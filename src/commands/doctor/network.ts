import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { hintFor } from '../../advice.ts';
import { startDeadline } from '../../client/deadline.ts';
import { isoTime } from '../../clock.ts';
import { codeOf, GatewayError } from '../../errors.ts';
import { ConnectionEnd, describeCause, networkError } from '../../transport/network-error.ts';
import { openTunnel, type Proxy, proxyFor } from '../../transport/proxy.ts';
import { isLoopback } from '../../transport/request.ts';
import { hasMoreAuthorities, openTrust, type Trust } from '../../transport/trust.ts';
import type { TransportOptions } from '../../transport/types.ts';
import { type Check, type Finding, type Row, runRows } from './checks.ts';

/** What the connection to a gateway is examined with. */
export interface NetworkOptions {
  baseUrl: URL;
  transport: TransportOptions;
  signal: AbortSignal;
  /** Wall clock, ms since 1970. */
  now: () => number;
  /** Monotonic clock in ms. */
  elapsed: () => number;
  /** Longest wait of one step in ms. */
  timeoutMs?: number;
}

/** A connection as far as it was made. */
interface Attempt extends Required<NetworkOptions> {
  /** The host to connect to: the proxy, or the gateway itself. */
  next: URL;
  proxy?: Proxy | undefined;
  trust?: Trust | undefined;
  socket?: Socket | TLSSocket;
  reply?: IncomingMessage;
}

/**
 * Connects as a request does, step by step, without a key. The first failure ends it; returns whether there was none.
 * Rejects with the reason of the signal.
 */
export async function* examineNetwork(options: NetworkOptions): AsyncGenerator<Check, boolean> {
  const attempt: Attempt = { timeoutMs: 10_000, ...options, next: options.baseUrl };
  try {
    return yield* runRows(rows, attempt, attempt.signal);
  } finally {
    attempt.socket?.destroy();
  }
}

const rows: readonly Row<Attempt>[] = [
  { name: 'proxy', check: findProxy },
  { name: 'trust', check: readTrust },
  { name: 'dns', check: resolveName },
  { name: 'tcp', check: connectSocket },
  { name: 'tls', check: shakeHands },
  {
    name: 'http',
    check: askHead,
    fix: () => 'check that the base URL is that of the gateway; the real test is: gateway-cli doctor --live',
  },
  { name: 'clock', check: compareClocks, fix: () => 'set the clock: timedatectl set-ntp true' },
].map(withNetworkErrors);

/** A step that throws what a request would report. */
function withNetworkErrors({ check, ...row }: Row<Attempt>): Row<Attempt> {
  return {
    ...row,
    async check(attempt) {
      try {
        return await check(attempt);
      } catch (error) {
        throw connectionError(error, attempt);
      }
    },
  };
}

function connectionError(cause: unknown, { timeoutMs, next }: Attempt): GatewayError {
  const why = isAbort(cause) ? new ConnectionEnd(`no answer within ${timeoutMs / 1000} s`) : cause;
  const { class: name, details } = networkError(why, 'connecting', next.host);
  const text = why instanceof GatewayError ? why.message : describeCause(why, next.host);
  const hint = 'check the name in the base URL; a VPN or a proxy (HTTPS_PROXY) may be needed';
  return new GatewayError(name, text, codeOf(cause) === 'ENOTFOUND' ? { hint } : details);
}

async function findProxy(attempt: Attempt): Promise<Finding> {
  const { baseUrl, transport } = attempt;
  attempt.proxy = proxyFor(baseUrl, transport);
  const { proxy } = attempt;
  attempt.next = proxy?.url ?? baseUrl;
  if (proxy) return `${proxy.url.protocol}//${proxy.url.host} (${proxy.from})`;
  if (transport.proxy === undefined) return 'none';
  const why = isLoopback(baseUrl) ? 'the gateway is on this machine' : 'NO_PROXY names the gateway';
  return `none: ${why}, so the proxy of ${transport.proxy.from} is not used`;
}

async function readTrust(attempt: Attempt): Promise<Finding> {
  const { baseUrl, next, transport } = attempt;
  attempt.trust = await openTrust(transport);
  if (baseUrl.protocol !== 'https:' && next.protocol !== 'https:') return undefined;
  const extra = transport.env['NODE_EXTRA_CA_CERTS'];
  const sources = [
    "Node's own authorities",
    transport.systemCa && "the system's certificate store",
    extra && `NODE_EXTRA_CA_CERTS ${extra}`,
    transport.ca !== undefined && '--cacert',
  ];
  return sources.filter(Boolean).join(', ');
}

async function resolveName({ next, elapsed }: Attempt): Promise<Finding> {
  const host = withoutBrackets(next.hostname);
  if (isIP(host) !== 0) return `${host} is an address`;
  const started = elapsed();
  const found = await lookup(host, { all: true });
  return `${host} is ${found.map(({ address }) => address).join(', ')} (${Math.round(elapsed() - started)} ms)`;
}

async function connectSocket(attempt: Attempt): Promise<Finding> {
  const { baseUrl, next, proxy, trust, signal, timeoutMs, elapsed } = attempt;
  const started = elapsed();
  const address = { host: withoutBrackets(next.hostname), port: portOf(next) };
  if (proxy === undefined) {
    attempt.socket = connect({ ...address, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 2000 });
    await untilEvent(attempt.socket, 'connect', attempt);
  } else {
    const { hostname, protocol, host } = baseUrl;
    const target = { hostname: withoutBrackets(hostname), host, protocol, port: String(portOf(baseUrl)) };
    attempt.socket = await openTunnel({ proxy, target, authorities: trust?.authorities, timeoutMs, signal });
    attempt.socket.on('error', () => undefined);
  }
  const through = proxy === undefined ? '' : `, and through it to ${baseUrl.host}`;
  return `connected to ${address.host}:${address.port}${through} (${Math.round(elapsed() - started)} ms)`;
}

/** The certificate is not verified before it is read: one that is not trusted is shown, too. Nothing is sent to it. */
async function shakeHands(attempt: Attempt): Promise<Finding> {
  const { baseUrl, transport, trust, socket } = attempt;
  if (baseUrl.protocol !== 'https:') return undefined;
  if (transport.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0' && !isLoopback(baseUrl)) return unchecked;
  attempt.next = baseUrl;
  const host = withoutBrackets(baseUrl.hostname);
  const secure = connectTls({
    ...(socket && { socket }),
    ...(trust && { secureContext: trust.secureContext }),
    ...(isIP(host) === 0 && { servername: host }),
    host,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: false,
  });
  attempt.socket = secure;
  await untilEvent(secure, 'secureConnect', attempt);
  return certificateFinding(secure, attempt);
}

const unchecked: Finding = {
  state: 'failed',
  class: 'usage',
  text: 'NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off',
  fix: 'unset NODE_TLS_REJECT_UNAUTHORIZED; to trust a certificate: --cacert <file>',
};

const dayMs = 86_400_000;
const soonDays = 14;

function certificateFinding(socket: TLSSocket, { baseUrl, transport, now }: Attempt): Finding {
  const host = withoutBrackets(baseUrl.hostname);
  const chain = chainOf(socket.getPeerCertificate(true));
  const [own] = chain;
  if (own === undefined)
    return { state: 'failed', class: 'not-sent', text: `${host} showed no certificate`, fix: wrongHost };
  const ends = Date.parse(own.valid_to);
  const days = Math.floor((ends - now()) / dayMs);
  const issuers = [{ subject: own.issuer }, ...chain.slice(1)].map(commonName);
  const until = `${days < 0 ? 'ended' : 'valid until'} ${isoTime(ends)?.slice(0, 10) ?? own.valid_to}`;
  const text = `${socket.getProtocol() ?? 'TLS'}, certificate of ${commonName(own)} by ${[...new Set(issuers)].join(' ← ')}, ${until}`;
  // Node gives the code as a string, whatever its types say.
  const problem = socket.authorized ? undefined : String(socket.authorizationError);
  if (problem !== undefined) {
    const fix = mendCertificate(problem, transport);
    return { state: 'failed', class: 'not-sent', text: `${text}: not trusted (${problem})`, fix };
  }
  if (days >= soonDays) return text;
  return { state: 'warning', text: `${text}: in ${days} days`, fix: `tell the people who run ${host}` };
}

const wrongHost = 'check the host and port of the base URL';

function mendCertificate(code: string, transport: TransportOptions): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `the certificate is for another host; ${wrongHost}`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return 'check the clock of this machine: date -u; if it is right, the gateway needs a new certificate';
  return hintFor('untrusted', { value: hasMoreAuthorities(transport) ? 'system' : undefined });
}

/** From the server's own certificate upwards; the last one issued itself. */
function chainOf(first: DetailedPeerCertificate): DetailedPeerCertificate[] {
  const chain: DetailedPeerCertificate[] = [];
  let at: DetailedPeerCertificate | undefined = first;
  for (; at?.subject && !chain.includes(at); at = at.issuerCertificate) chain.push(at);
  return chain;
}

function commonName({ subject }: { subject: DetailedPeerCertificate['subject'] }): string {
  const { CN, O } = subject as Record<string, string | string[] | undefined>;
  return String(CN ?? O ?? 'no name');
}

/** One HEAD without a key: whether the host speaks HTTP, and what time it has. */
async function askHead(attempt: Attempt): Promise<Finding> {
  const { baseUrl, socket, signal, timeoutMs } = attempt;
  if (socket === undefined) return undefined;
  const asking = request({
    method: 'HEAD',
    path: baseUrl.pathname,
    headers: { host: baseUrl.host, connection: 'close' },
    createConnection: () => socket,
  });
  try {
    const reply = untilEvent(asking, 'response', attempt);
    asking.end();
    [attempt.reply] = (await reply) as [IncomingMessage];
    attempt.reply.resume();
    return `HTTP ${attempt.reply.statusCode} to HEAD ${baseUrl.pathname} without a key; any status will do`;
  } catch (error) {
    signal.throwIfAborted();
    const why = isAbort(error) ? `none within ${timeoutMs / 1000} s` : describeCause(error, baseUrl.host);
    return { state: 'warning', text: `no reply to HEAD ${baseUrl.pathname}: ${why}` };
  }
}

/** Certificates and signed requests tolerate a difference of this size, rarely more. */
const toleratedSkewMs = 300_000;

async function compareClocks({ reply, now }: Attempt): Promise<Finding> {
  if (reply === undefined) return undefined;
  const skew = now() - Date.parse(reply.headers.date ?? '');
  if (Number.isNaN(skew)) return { state: 'skipped', text: 'the reply has no Date' };
  const seconds = Math.round(Math.abs(skew) / 1000);
  if (Math.abs(skew) <= toleratedSkewMs) return `within ${seconds} s of the gateway's`;
  return { state: 'warning', text: `this machine is ${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} the gateway` };
}

/** Waits for an event of a socket or a request, whose later errors are ignored. */
async function untilEvent(
  emitter: Socket | ReturnType<typeof request>,
  event: string,
  { signal, timeoutMs }: Attempt,
): Promise<unknown[]> {
  emitter.on('error', () => undefined);
  const deadline = startDeadline(timeoutMs, signal);
  return await once(emitter, event, { signal: deadline.signal }).finally(deadline.end);
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}
