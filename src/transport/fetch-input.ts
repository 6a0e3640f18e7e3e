import { GatewayError, usageError } from '../errors.ts';
import { version } from '../version.ts';
import { openTransport } from './transport.ts';
import type { HttpReply, InputFetcher, Transport, TransportOptions } from './types.ts';

const mostRedirects = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

/** Opens the way to URLs. They get no key, no header and no certificate of the user; a redirect is followed to public addresses alone. */
export function openInputFetcher({ clientCert: _cert, clientKey: _key, ...options }: TransportOptions): InputFetcher {
  const direct = openTransport(options);
  const redirected = openTransport({ ...options, publicOnly: true });
  return {
    async fetch(url, signal) {
      let at = url;
      let reply = await get(direct, at, signal);
      for (let hops = 0; redirects.has(reply.status); hops++) {
        await leave(reply);
        if (hops === mostRedirects) throw usageError(`it redirects more than ${mostRedirects} times`);
        at = nextUrl(reply, at);
        reply = await get(redirected, at, signal);
      }
      const refusal = refusalOf(reply);
      if (refusal === undefined) return { mimeType: typeOf(reply), body: reply.body };
      await leave(reply);
      throw refusal;
    },
    async close() {
      await Promise.all([direct.close(), redirected.close()]);
    },
  };
}

function get(transport: Transport, url: URL, signal: AbortSignal): Promise<HttpReply> {
  const headers = { accept: '*/*', 'user-agent': `gateway-cli/${version}` };
  return transport.exchange(
    { method: 'GET', url, headers, body: { segments: [], bytes: 0 } },
    { signal, acceptsAnyHead: true },
  );
}

/** Nobody reads the body: the connection ends. */
async function leave({ body }: HttpReply): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}

/** Where a redirect leads; messages name the origin alone, for paths and queries of redirects hold tokens. */
function nextUrl({ headers: { location } }: HttpReply, base: URL): URL {
  if (location === undefined || !URL.canParse(location, base.href))
    throw usageError('it redirects, and does not say where to');
  const url = new URL(location, base);
  if (url.protocol !== 'https:')
    throw usageError(`it redirects to a ${url.protocol} URL, and only https:// is followed`);
  url.username = '';
  url.password = '';
  return url;
}

function refusalOf({ status, headers }: HttpReply): GatewayError | undefined {
  const facts = { sent: 'no', status, retryable: status === 429 || status >= 500 } as const;
  if (status !== 200) {
    const hint =
      status === 401 || status === 403
        ? 'no key or password goes along: save the file, and name that'
        : 'check the URL, or save the file and name that';
    return new GatewayError('usage', `the host answered ${status}`, { ...facts, hint });
  }
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return undefined;
  return usageError(
    `it comes encoded as ${coding.slice(0, 40)}, although the request accepts no encoding`,
    'save the file, and name that',
  );
}

function typeOf({ headers }: HttpReply): string | undefined {
  const type = headers['content-type']?.split(/[;,]/)[0]?.trim().toLowerCase();
  return type !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : undefined;
}
