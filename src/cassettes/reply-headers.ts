/** Headers of one connection: they say nothing of the reply. */
const hopHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Names under which replies carry what opens a door. */
const secretWord = /cookie|authenticat|authorization|api-?key|secret|(?:^|-)token$|session/;

/** The headers of a reply that are kept in a cassette: none of the connection's, none that holds a secret. */
export function keptHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const named = new Set((headers['connection'] ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const kept = Object.entries(headers).filter(
    ([name]) => !hopHeaders.has(name) && !named.has(name) && !secretWord.test(name),
  );
  return Object.fromEntries(kept);
}
