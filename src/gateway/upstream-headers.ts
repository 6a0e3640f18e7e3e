import type { IncomingHttpHeaders } from 'node:http';

/** Headers of one connection (RFC 9110 7.6.1), and those that the connection upstream sets itself. */
const hopHeaders = [
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** What a caller shows to this gateway, or a browser says of the place it calls from. */
const usualHeaders = [
  'authorization',
  'cookie',
  'forwarded',
  'origin',
  'referer',
  'x-api-key',
  'x-goog-api-key',
  'x-vendor-a-api-key',
  'vendor-b-version',
];

/** What upstream may not say in this gateway's name: to a browser these open doors, or close them for good. */
const replyHeaders = [
  'access-control-',
  'alt-svc',
  'clear-site-data',
  'content-security-policy',
  'set-cookie',
  'strict-transport-security',
  'x-content-type-options',
];

/** The caller's headers that go upstream: none of the connection's, none with a key. */
export function forwardedHeaders(
  headers: IncomingHttpHeaders,
  localHeaders: readonly string[],
): Record<string, string> {
  const dropped = new Set([...hopHeaders, ...usualHeaders, ...localHeaders, ...namesIn(headers.connection)]);
  const kept = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || dropped.has(name) || /^(?:sec-|x-forwarded-)/.test(name)) return [];
    return [[name, Array.isArray(value) ? value.join(', ') : value]];
  });
  return Object.fromEntries(kept);
}

/** The reply's headers that go on to the caller. */
export function passedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const dropped = new Set([
    ...hopHeaders.filter((name) => name !== 'content-length'),
    ...namesIn(headers['connection']),
  ]);
  const kept = Object.entries(headers).filter(
    ([name]) => !dropped.has(name) && !replyHeaders.some((start) => name.startsWith(start)),
  );
  return Object.fromEntries(kept);
}

function namesIn(list: string | undefined): string[] {
  return (list ?? '').split(',').map((name) => name.trim().toLowerCase());
}
