import { Scanner, type ScannerOptions } from './scanner.ts';

/** Receives the Base64 text of one long string of a reply, as it arrives. */
export interface Base64Sink {
  /** A returned promise applies back-pressure: the next bytes follow when it resolves. The bytes are valid until then. */
  write(base64: Uint8Array): void | Promise<void>;
  /** The string is complete. Throws GatewayError bad-reply if it was not Base64. */
  end(): void | Promise<void>;
}

/** A long Base64 string that is removed from the reply. */
export interface DivertedString {
  sink: Base64Sink;
  placeholder: string;
}

/** Where long Base64 strings of a reply are written, to keep them out of memory. */
export interface Base64Diversion {
  /** Opens the sink of the next string; the JSON has its placeholder instead. */
  open(): Promise<DivertedString>;
}

/**
 * Passes a reply's body through (JSON, or server-sent events that contain JSON), except for long Base64 strings: they are
 * written to sinks as they arrive and replaced by the sink's placeholder. The placeholder follows when its string is complete,
 * so a body that is cut never has one for half a picture. The JSON is not validated; its reader does that. Throws GatewayError
 * bad-reply (nested too deeply), errors of the chunks and of the sinks.
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
    // The bytes that were held back arrived before the error.
    yield* scanner.finish();
    throw error;
  }
  yield* scanner.finish();
}
