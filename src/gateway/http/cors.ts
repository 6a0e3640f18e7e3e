import type { IncomingMessage } from 'node:http';
import type { Reply } from '../types.ts';
import { headerText } from './keys.ts';

/** What a browser needs to show a reply to a page of an allowed origin; nothing for other callers. */
export function corsHeaders({ headers }: IncomingMessage, origins: readonly string[]): Record<string, string> {
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin.toLowerCase())) return {};
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'request-id, retry-after',
    vary: 'origin',
  };
}

/** Whether a browser only asks if a page may send a request. It asks without the key. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

/** Allows a page of an allowed origin what it asks for: the key is checked when the request comes. */
export function preflightReply({ headers }: IncomingMessage): Reply {
  const local = headerText(headers, 'access-control-request-private-network');
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': headerText(headers, 'access-control-request-headers') ?? '',
      'access-control-max-age': '600',
      ...(local !== undefined && { 'access-control-allow-private-network': 'true' }),
    },
    body: '',
  };
}
