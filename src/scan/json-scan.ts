import type { Base64Diversion, DivertedString } from '../transport/types.ts';
import { Scanner, type ScannerOptions } from './scanner.ts';

/**
 * Passes a reply's body through (JSON, or server-sent events that carry JSON), but for long Base64 strings: they go to
 * sinks while they arrive, and the sink's placeholder stands in their place. The placeholder
 * follows once its string is whole, so a body that is cut never holds one of half a picture. Nothing is validated:
 * what is left is parsed by whoever reads it. Throws GatewayError bad-reply (nested too deeply), what the chunks throw,
 * and what the sinks throw.
 */
export async function* divertBase64(
  chunks: AsyncIterable<Uint8Array>,
  diversion: Base64Diversion,
  options: ScannerOptions = {},
): AsyncGenerator<Uint8Array, void> {
  const scanner = new Scanner(options);
  let open: DivertedString | undefined;
  try {
    for await (const chunk of chunks) {
      for (const piece of scanner.feed(chunk)) {
        if (piece.type === 'json') yield piece.bytes;
        else if (piece.type === 'open') open = await diversion.open();
        else if (piece.type === 'base64') await open?.sink.write(piece.bytes);
        else if (open) {
          await open.sink.end();
          yield Buffer.from(open.placeholder, 'latin1');
        }
      }
    }
  } catch (error) {
    // After a cut too: what was held back is part of what came.
    yield* scanner.finish();
    throw error;
  }
  yield* scanner.finish();
}
