import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';

/**
 * Refuses what a web page could make a browser send here (faults.md 2f): a foreign or missing Host (DNS rebinding), a
 * foreign Origin, a request from another site. `hosts` are allowed beside the loopback names, without port.
 * Throws Problem 403.
 */
export function guard(request: IncomingMessage, hosts: readonly string[]): void {
  const port = request.socket.localPort ?? 0;
  const own = ['127.0.0.1', 'localhost', '[::1]', ...hosts].flatMap((host) => authorities(host.toLowerCase(), port));
  const named = headerValues(request, 'host');
  const host = named[0]?.toLowerCase();
  if (named.length !== 1 || host === undefined || !own.includes(host)) {
    throw new Problem(403, `the Host header must name this gateway: ${own[0] ?? ''}`);
  }
  if (!(request.url ?? '').startsWith('/')) throw new Problem(403, 'the request target must be a path');
  const origins = headerValues(request, 'origin');
  if (origins.some((origin) => !own.some((authority) => origin.toLowerCase() === `http://${authority}`))) {
    throw new Problem(403, 'requests from another origin are refused');
  }
  const sites = headerValues(request, 'sec-fetch-site');
  if (sites.some((site) => site !== 'same-origin' && site !== 'none')) {
    throw new Problem(403, 'requests from another site are refused');
  }
}

function authorities(host: string, port: number): string[] {
  return port === 80 ? [`${host}:80`, host] : [`${host}:${port}`];
}

/** All values of a header, also where Node keeps the first only. */
function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}
