/** Headers of the connection, or that the client itself sets: nobody else may. */
const refusedNames = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Names that only look as if they held a credential. */
const harmlessNames = new Set(['idempotency-key', 'x-idempotency-key']);

const credentialWord =
  /(?:key|token|secret|auth|authorization|password|passwd|credentials?|cookie|jwt|signature)(?![a-z])/;

/**
 * Whether a header of this name holds a credential: authorization, cookie, x-api-key and anything that ends a word
 * with key, token, secret and the like. `anthropic-ratelimit-tokens-remaining` does not.
 */
export function isCredentialName(name: string): boolean {
  const lower = name.toLowerCase();
  return !harmlessNames.has(lower) && credentialWord.test(lower);
}

/** Why a user cannot set a header of this name, or undefined. */
export function invalidNameReason(name: string): string | undefined {
  if (name.length > 200 || !/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) return 'is not a header name';
  if (refusedNames.has(name.toLowerCase())) return 'is set by the connection itself';
  return undefined;
}

/** Why a text cannot be a header's value, or undefined. The value, which may be a key, is never quoted. */
export function invalidValueReason(value: string): string | undefined {
  const position = value.search(/[^\t\x20-\x7e]/);
  return position === -1 ? undefined : `has a character at position ${position + 1} that a header cannot carry`;
}
