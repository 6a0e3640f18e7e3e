import { GatewayError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { shellWord } from '../shell-word.ts';
import type { Keep } from './types.ts';

/** A longer line is hard on every reader, of which ours takes four times as much. */
const mostLineBytes = 64 * 1024 * 1024;

/**
 * The text of a result's line. Where it is too long to be read again, the whole reply goes to a recovery file, and the line
 * says so and leaves the long values out. Throws GatewayError not-written.
 */
export function resultLine(
  document: JsonObject,
  keep: Keep | undefined,
  mostBytes = mostLineBytes,
): string | Promise<string> {
  const line = lineOf(document);
  if (line !== undefined && (line.length * 3 <= mostBytes || Buffer.byteLength(line) <= mostBytes)) return line;
  return keepWhole(document, keep, mostBytes / 64);
}

/** Undefined where no string of V8 could hold it. */
function lineOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

async function keepWhole(document: JsonObject, keep: Keep | undefined, mostLength: number): Promise<string> {
  const tooLong = new GatewayError('not-written', 'the result is too long for a line', { retryable: false });
  const { failure, path } = (await keep?.(tooLong)) ?? { failure: tooLong };
  if (path === undefined) throw failure;
  const short = Object.entries(document).filter(([, value]) => (lineOf(value)?.length ?? Infinity) <= mostLength);
  const warnings = Array.isArray(document['warnings']) ? document['warnings'] : [];
  const told = `the result is too long for a line: write it out with gateway-cli recover ${shellWord(path)}`;
  return JSON.stringify({ ...Object.fromEntries(short), warnings: [...warnings, told] });
}
