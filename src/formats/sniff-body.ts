const fieldNames = ['event:', 'data:', 'id:', 'retry:', ':'];

/**
 * Whether a body is a stream of server-sent events, whatever its Content-Type says (deviations 37 and 38).
 * Wants the first 16 bytes, or the whole body where it is shorter; a byte order mark and blank lines are passed over.
 */
export function looksLikeSse(firstBytes: Uint8Array): boolean {
  const start = new TextDecoder().decode(firstBytes.subarray(0, 64)).trimStart();
  return fieldNames.some((name) => start.startsWith(name));
}
