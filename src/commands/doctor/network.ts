import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { codeOf, GatewayError } from '../../errors.ts';
import { ConnectionEnd, describeCause, networkError } from '../../transport/network-error.ts';
import { type Proxy, proxyFor } from '../../transport/proxy.ts';
import { hasMoreAuthorities, openTrust, type Trust } from '../../transport/trust.ts';
import { openTunnel } from '../../transport/proxy.ts';
import type { TransportOptions } from '../../transport/types.ts';
import { isLoopback } from '../../transport/request.ts';
import { checkCertificate } from './certificate.ts';
import { askHead } from './head.ts';
import type { Check } from './types.ts';

/** What the connection to a gateway is examined with. */
export interface NetworkOptions {
  baseUrl: URL;
  transport: TransportOptions;
  signal: AbortSignal;
  /** Wall clock, ms since 1970. */
  now: () => number;
  /** Monotonic clock in ms. */
  elapsed: () => number;
  /** What to type after a failure. */
  fixOf: (error: GatewayError) => string | undefined;
  /** Longest wait of one step in ms. */
  timeoutMs?: number;
}

const defaultTimeoutMs = 10_000;

/** Connects as a request does, step by step, without a key: proxy, trust, DNS, TCP, TLS, HTTP. The first failure ends it. */
export async function* examineNetwork(options: NetworkOptions): AsyncGenerator<Check> {
  const { baseUrl, transport, fixOf } = options;
  const proxy = attemptProxy(options);
  yield proxy.check;
  if (proxy.check.state === 'failed') return;
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  const next = proxy.found?.url ?? baseUrl;
  const isSecure = baseUrl.protocol === 'https:';
  const trust = await openTrust(transport).catch((error: unknown) =>
    failure('trust', error, { host: baseUrl.host, fixOf }),
  );
  if (trust !== undefined && 'state' in trust) return yield trust;
  if (isSecure || next.protocol === 'https:') yield { name: 'trust', state: 'ok', text: trustWords(transport) };
  const attempt: Attempt = { options, timeoutMs, proxy: proxy.found, trust, next, socket: undefined };
  const steps: [string, () => Promise<Check>][] = [
    ['dns', () => resolveName(attempt)],
    ['tcp', () => connectTo(attempt)],
    ...(isSecure ? [['tls', () => shakeHands(attempt)] as [string, () => Promise<Check>]] : []),
  ];
  try {
    for (const [name, step] of steps) {
      const check = await step().catch((error: unknown) => {
        options.signal.throwIfAborted();
        return failure(name, isAbort(error) ? new ConnectionEnd(`no answer within ${timeoutMs / 1000} s`) : error, {
          host: attempt.next.host,
          fixOf,
        });
      });
      yield check;
      if (check.state === 'failed') return;
    }
    if (attempt.socket) yield* askHead(attempt.socket, { ...options, timeoutMs });
  } finally {
    attempt.socket?.destroy();
  }
}

/** How far the examination got. */
interface Attempt {
  options: NetworkOptions;
  timeoutMs: number;
  proxy: Proxy | undefined;
  trust: Trust | undefined;
  /** Who is connected to: the proxy, or the gateway itself. */
  next: URL;
  socket: Socket | TLSSocket | undefined;
}

function attemptProxy({ baseUrl, transport, fixOf }: NetworkOptions): { found: Proxy | undefined; check: Check } {
  try {
    const found = proxyFor(baseUrl, transport);
    const text =
      found === undefined
        ? withoutProxy(baseUrl, transport)
        : `${found.url.protocol}//${found.url.host} (${found.from})`;
    return { found, check: { name: 'proxy', state: 'ok', text } };
  } catch (error) {
    return { found: undefined, check: failure('proxy', error, { host: baseUrl.host, fixOf }) };
  }
}

/** Why a proxy that a setting names is not asked. */
function withoutProxy(baseUrl: URL, { proxy }: TransportOptions): string {
  if (proxy === undefined) return 'none';
  const why = isLoopback(baseUrl) ? 'the gateway is on this machine' : 'NO_PROXY names the gateway';
  return `none: ${why}, so the proxy of ${proxy.from} is not used`;
}

/** Whose certificates are trusted. */
function trustWords({ env, systemCa, ca }: TransportOptions): string {
  const extra = env['NODE_EXTRA_CA_CERTS'];
  return [
    "Node's own authorities",
    systemCa && "the system's certificate store",
    extra && `NODE_EXTRA_CA_CERTS ${extra}`,
    ca !== undefined && '--cacert',
  ]
    .filter(Boolean)
    .join(', ');
}

async function resolveName({ next, options }: Attempt): Promise<Check> {
  const host = bare(next.hostname);
  if (isIP(host) !== 0) return { name: 'dns', state: 'ok', text: `${host} is an address` };
  const started = options.elapsed();
  const found = await lookup(host, { all: true });
  const addresses = found.map(({ address }) => address).join(', ');
  return { name: 'dns', state: 'ok', text: `${host} is ${addresses} (${ms(options.elapsed() - started)})` };
}

async function connectTo(attempt: Attempt): Promise<Check> {
  const { next, proxy, trust, options, timeoutMs } = attempt;
  const started = options.elapsed();
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  const port = portOf(next);
  if (proxy === undefined) {
    const socket = connect({
      host: bare(next.hostname),
      port,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: 2000,
    });
    socket.on('error', () => undefined);
    attempt.socket = socket;
    await once(socket, 'connect', { signal });
  } else {
    const { hostname, protocol, host } = options.baseUrl;
    const target = { hostname: bare(hostname), host, protocol, port: String(portOf(options.baseUrl)) };
    attempt.socket = await openTunnel({
      proxy,
      target,
      authorities: trust?.authorities,
      timeoutMs,
      signal: options.signal,
    });
  }
  attempt.socket.on('error', () => undefined);
  const through = proxy === undefined ? '' : `, and through it to ${options.baseUrl.host}`;
  return {
    name: 'tcp',
    state: 'ok',
    text: `connected to ${bare(next.hostname)}:${port}${through} (${ms(options.elapsed() - started)})`,
  };
}

/** Shakes hands with whoever it is: a certificate that is not trusted shall be shown too. Nothing is sent then. */
async function shakeHands(attempt: Attempt): Promise<Check> {
  const { options, trust, socket, timeoutMs } = attempt;
  const host = bare(options.baseUrl.hostname);
  if (options.transport.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0' && !isLoopback(options.baseUrl)) return unchecked;
  attempt.next = options.baseUrl;
  const secure = connectTls({
    ...(socket && { socket }),
    ...(trust && { secureContext: trust.secureContext }),
    ...(isIP(host) === 0 && { servername: host }),
    host,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: false,
  });
  secure.on('error', () => undefined);
  attempt.socket = secure;
  await once(secure, 'secureConnect', { signal: AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]) });
  const value = hasMoreAuthorities(options.transport) ? 'system' : undefined;
  const untrusted = new GatewayError('not-sent', 'not trusted', { reason: 'untrusted', value });
  return checkCertificate(secure, { host, now: options.now(), untrustedFix: options.fixOf(untrusted) });
}

const unchecked: Check = {
  name: 'tls',
  state: 'failed',
  class: 'usage',
  text: 'NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off',
  fix: 'unset NODE_TLS_REJECT_UNAUTHORIZED; to trust a certificate: --cacert <file>',
};

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

function failure(
  name: string,
  cause: unknown,
  { host, fixOf }: { host: string; fixOf: NetworkOptions['fixOf'] },
): Check {
  const error = networkError(cause, 'connecting', host);
  const fix = codeOf(cause) === 'ENOTFOUND' ? nameFix : fixOf(error);
  const text = cause instanceof GatewayError ? cause.message : describeCause(cause, host);
  return { name, state: 'failed', class: error.class, text, fix };
}

const nameFix = 'check the name: gateway-cli config get baseUrl; a VPN or a proxy (HTTPS_PROXY) may be needed';

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}

function bare(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

function ms(duration: number): string {
  return `${Math.round(duration)} ms`;
}
