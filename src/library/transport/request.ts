import { GatewayError, settingError, usageError } from '../errors.ts';

/**
 * Parses a base URL: keeps its path, but for slashes at the end, and its query. Throws GatewayError usage; the message never
 * repeats the text, which may contain a password.
 */
export function parseBaseUrl(text: string): URL {
  const hint = 'it looks like https://host or https://host/prefix';
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url === undefined || url.host === '') throw usageError('the base URL is not a URL', hint);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw usageError(`the base URL begins with ${url.protocol}//, not with https://`, hint);
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError('the base URL holds a user name or password', 'the key goes into GATEWAY_API_KEY');
  }
  if (text.includes('#')) throw usageError('the base URL has a fragment', hint);
  url.pathname = withoutSlashes(url.pathname);
  return url;
}

function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/** The URL of a path below a base URL. Throws GatewayError usage if characters of the path would change the URL (`..`, `?`, `#`). */
export function joinUrl(base: Pick<URL, 'origin' | 'pathname'>, path: string): URL {
  const pathname = withoutSlashes(base.pathname) + path;
  const url = new URL(base.origin + pathname);
  // The URL class resolves dots silently, even percent-encoded ones, and takes ? and # for the end of the path.
  if (url.pathname !== pathname) {
    throw usageError(
      'the path of the request is not plain',
      'a model is one name: without / ? or #, and not only dots',
    );
  }
  return url;
}

/**
 * Names of this machine as URL normalises them: localhost and names below it, 127.0.0.0/8 as four numbers or mapped into IPv6,
 * and the addresses on which a server listens that listens on all.
 */
const loopback =
  /^(?:(?:[^.]+\.)*localhost\.?|0\.0\.0\.0|127\.\d+\.\d+\.\d+|\[::1?\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/** Whether an http(s) URL points to this machine. All other code asks this function. */
export function isLoopback(url: URL): boolean {
  return loopback.test(url.hostname);
}

/**
 * The host to connect to for a host name. Names below `localhost` are not looked up, so that no name server can lead them to
 * another machine; not every system connects to the address of all.
 */
export function connectedHost(hostname: string): string {
  if (hostname === '0.0.0.0') return '127.0.0.1';
  if (hostname === '::') return '::1';
  return /(?:^|\.)localhost\.?$/i.test(hostname) ? 'localhost' : hostname;
}

/** Throws GatewayError usage if a key would be sent unencrypted. */
export function requireSafeUrl(url: URL, { allowHttp, hasKey }: { allowHttp: boolean; hasKey: boolean }): void {
  if (url.protocol === 'https:' || !hasKey || allowHttp || isLoopback(url)) return;
  throw settingError(`the key would go to ${url.origin} unencrypted`, { reason: 'insecure' });
}

/**
 * A key in the form for a header, without white space around it. Only visible ASCII is allowed: any other character breaks the
 * header, or was copied by mistake. A caller's function can return a value that is no text. Throws GatewayError auth, without the
 * key in it.
 */
export function checkHeaderKey(given: unknown): string {
  const key = typeof given === 'string' ? given.trim() : '';
  const position = key.search(/[^\x21-\x7e]/);
  if (key !== '' && position === -1) return key;
  const fault = key === '' ? 'is empty' : `has an invalid character at position ${position + 1}`;
  throw new GatewayError('auth', `the key ${fault}`, { reason: 'key-characters', sent: 'no', retryable: false });
}
