import { GatewayError } from '../errors.ts';

/** What a request is for; it decides the header that carries the key (formats 1). */
export type Use = 'text' | 'image' | 'messages';

/** How the key is carried: `auto` is what the service takes for the use (formats 1). */
export type AuthForm = 'auto' | 'api-key' | 'bearer';

/** Names of headers that differ from one service to another. */
export interface HeaderNames {
  /** Carries the key in the content format, in the form `api-key`. */
  apiKey: string;
  /** Carries the version of the messages format. */
  version: string;
}

/** What the headers are made of. */
export interface AuthOptions {
  use: Use;
  form: AuthForm;
  names: HeaderNames;
  key: string;
}

const messagesVersion = '2023-06-01';

/** Headers that carry the key, with lower-case names. White space around the key is cut. Throws GatewayError auth, never showing the key. */
export function authHeaders({ use, form, names, key }: AuthOptions): Record<string, string> {
  const value = checkedKey(key.trim());
  const bearer = form === 'bearer' || (form === 'auto' && use === 'image');
  const apiKeyName = use === 'messages' ? 'x-api-key' : names.apiKey;
  const headers: Record<string, string> = bearer
    ? { authorization: `Bearer ${value}` }
    : { [apiKeyName.toLowerCase()]: value };
  return { ...headers, ...versionHeaders(use, names) };
}

/** The header that names the version of the messages format; it needs no key. */
export function versionHeaders(use: Use, names: HeaderNames): Record<string, string> {
  return use === 'messages' ? { [names.version.toLowerCase()]: messagesVersion } : {};
}

/** Only visible ASCII: everything else breaks a header, or is a slip of copying. */
function checkedKey(key: string): string {
  if (key === '') throw authError('the key is empty');
  for (let index = 0; index < key.length; index++) {
    const code = key.charCodeAt(index);
    if (code < 0x21 || code > 0x7e) throw authError(`the key has an invalid character at position ${index + 1}`);
  }
  return key;
}

function authError(message: string): GatewayError {
  return new GatewayError('auth', message, {
    hint: 'copy the key again: it is one word of letters, digits and signs',
    sent: 'no',
    retryable: false,
  });
}
