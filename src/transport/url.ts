import { usageError } from '../errors.ts';

const versions = ['/v1', '/v1beta'];

/** A base URL ready for `joinUrl`, and what was changed in it. */
export interface BaseUrl {
  url: URL;
  warnings: string[];
}

/**
 * Reads a base URL: a path prefix stays, trailing slashes and one trailing `/v1` or `/v1beta` go.
 * Throws GatewayError usage; the message never repeats the text, which may hold a password.
 */
export function parseBaseUrl(text: string): BaseUrl {
  const hint = 'it looks like https://host or https://host/prefix';
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url === undefined || url.host === '') throw usageError('the base URL is not a URL', hint);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw usageError(`the base URL begins with ${url.protocol}//, not with https://`, hint);
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError('the base URL holds a user name or password', 'the key goes into GATEWAY_API_KEY');
  }
  if (text.includes('?')) throw usageError('the base URL has a query', hint);
  if (text.includes('#')) throw usageError('the base URL has a fragment', hint);
  return cutVersion(url);
}

function cutVersion(url: URL): BaseUrl {
  const path = withoutSlashes(url.pathname);
  const version = versions.find((suffix) => path.endsWith(suffix));
  if (version === undefined) {
    url.pathname = path;
    return { url, warnings: [] };
  }
  url.pathname = withoutSlashes(path.slice(0, -version.length));
  const warnings = [`${version} at the end of the base URL is cut: the paths of the service begin with it`];
  return { url, warnings };
}

function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/** The URL of a path below a base URL. Throws GatewayError usage when the path would leave its place (`..`, `?`, `#`). */
export function joinUrl(base: URL, path: string): URL {
  const pathname = withoutSlashes(base.pathname) + path;
  const url = new URL(base.origin);
  url.pathname = pathname;
  // The URL class resolves dots silently, also those that are percent-encoded.
  if (url.pathname !== pathname) {
    throw usageError(
      'the path of the request is not plain',
      'a model is one name, without slashes, dots alone, ? or #',
    );
  }
  return url;
}

/** As a URL writes them: 127.0.0.0/8 in four numbers, also as an IPv6 address that stands for one of them. */
const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/** Whether an http(s) URL points to this machine: localhost, 127.0.0.0/8 or ::1. */
export function isLoopback(url: URL): boolean {
  return loopback.test(url.hostname);
}

/** Refuses to send a key in the clear. Throws GatewayError usage. */
export function requireSafeUrl(url: URL, { allowHttp, hasKey }: { allowHttp: boolean; hasKey: boolean }): void {
  if (url.protocol === 'https:' || !hasKey || allowHttp || isLoopback(url)) return;
  throw usageError(
    `the key would go to ${url.origin} unencrypted`,
    'use https://, or allow http if the way there is safe',
  ).with({ reason: 'insecure' });
}
