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

/** What a key opens nothing with. */
const harmlessKey = /(?:^|[-_.])(?:idempotency|cache|surrogate|routing|partition)[-_.]key(?=[-_.]|$)/g;

/** A whole word of a name that says credential, compounds such as `apikey` and a number behind it included. */
const credentialWord =
  /^x?(?:(?:api|access|secret|auth|private|client|session|service|subscription|security|app|user|id|refresh|bearer)*(?:key|token|secret)|auth|authorization|password|passwd|passphrase|credentials?|cookie|jwt|signature)\d*$/;

/**
 * Whether a header of this name holds a credential: authorization, cookie, x-api-key and any other with a whole word such as
 * key, token or secret. `x-portkey-provider` and `anthropic-ratelimit-tokens-remaining` have none.
 */
export function isCredentialName(name: string): boolean {
  const words = name
    .toLowerCase()
    .replaceAll(harmlessKey, '')
    .split(/[^a-z\d]+/);
  return words.some((word) => credentialWord.test(word));
}

/** Whether a header is a credential, by its name or because its value holds a long run of letters and digits. */
export function isCredential(name: string, value: string): boolean {
  const runs = value.match(/[A-Za-z\d]{16,}/g) ?? [];
  return isCredentialName(name) || runs.some((run) => /\d/.test(run) && /[A-Za-z]/.test(run));
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
