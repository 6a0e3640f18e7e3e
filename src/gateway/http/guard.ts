import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';
import type { OptionNames } from '../types.ts';

/** Who may call beside this machine. */
export interface Allowed {
  /** Hosts beside the loopback ones that callers may name, as a URL writes them in lower case, with or without port. */
  hosts?: readonly string[] | undefined;
  /** Origins of pages that may call from a browser, in lower case. */
  origins?: readonly string[] | undefined;
}

/**
 * Refuses what a web page could make a browser send here: a foreign or missing Host (DNS rebinding), a
 * foreign Origin, a request from another site. `hosts` are allowed beside the loopback names: as `name` at every port, as
 * `name:port` there alone. Throws Problem 403.
 */
export function guard(request: IncomingMessage, { hosts = [], origins = [] }: Allowed, names: OptionNames): void {
  const own = ['127.0.0.1', 'localhost', '[::1]'].flatMap((host) => authorities(host, request.socket.localPort ?? 0));
  const named = headerValues(request, 'host');
  const host = named[0]?.toLowerCase() ?? '';
  const isAllowed = hosts.includes(host) || hosts.includes(host.replace(/:\d*$/, ''));
  if (named.length !== 1 || !(isAllowed || own.includes(host))) {
    throw new Problem(403, `the Host header must name this gateway: ${own[0] ?? ''}, or what ${names.hosts} allows`);
  }
  if (!(request.url ?? '').startsWith('/')) throw new Problem(403, 'the request target must be a path');
  const pages = new Set([...own.map((authority) => `http://${authority}`), ...(isAllowed ? ownPages(host) : [])]);
  const shown = headerValues(request, 'origin').map((origin) => origin.toLowerCase());
  if (shown.some((origin) => !pages.has(origin) && !origins.includes(origin))) {
    throw new Problem(403, `requests from another origin are refused unless ${names.origins} allows it`);
  }
  if (shown.some((origin) => origins.includes(origin))) return;
  const sites = headerValues(request, 'sec-fetch-site');
  if (sites.some((site) => site !== 'same-origin' && site !== 'none')) {
    throw new Problem(403, 'requests from another site are refused');
  }
}

/** What stands before an allowed name may speak TLS for it. */
function ownPages(host: string): string[] {
  return [`http://${host}`, `https://${host}`];
}

function authorities(host: string, port: number): string[] {
  return port === 80 ? [`${host}:80`, host] : [`${host}:${port}`];
}

/** All values of a header, also where Node keeps the first only. */
function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}
