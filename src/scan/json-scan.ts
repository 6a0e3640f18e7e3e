import { createBase64Scanner } from './scanner.ts';
import type { ScannerOptions, ScanPiece } from './types.ts';
import type { Base64Diversion, Base64Sink } from '../transport/types.ts';

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
  const scanner = createBase64Scanner(options);
  const divert = createPieceRunner(diversion);
  try {
    for await (const chunk of chunks) {
      for (const piece of scanner.feed(chunk)) {
        const json = piece.type === 'json' ? piece.bytes : await divert(piece);
        if (json) yield json;
      }
    }
  } catch (error) {
    // After a cut too: what was held back is part of what came.
    yield* scanner.finish();
    throw error;
  }
  yield* scanner.finish();
}

/** Carries pieces out, one after the other, and gives the bytes that go on as JSON. */
function createPieceRunner(diversion: Base64Diversion): (piece: ScanPiece) => Promise<Uint8Array | undefined> {
  let open: { sink: Base64Sink; placeholder: string } | undefined;
  return async (piece) => {
    if (piece.type === 'open') open = diversion.open();
    else if (piece.type === 'base64') await open?.sink.write(piece.bytes);
    else if (open) {
      await open.sink.end();
      return Buffer.from(open.placeholder, 'latin1');
    }
    return undefined;
  };
}
