import { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { GatewayError, messageOf } from '../errors.ts';
import type { HttpReply } from './types.ts';

/** A few kilobytes could become terabytes: past the first bytes, no reply is so much smaller when it is compressed. */
const firstBytes = 16 * 1024 * 1024;
const maxRatio = 100;

/**
 * A reply whose body is compressed although the request accepts no encoding, with its body as it was before. Throws
 * GatewayError bad-reply for a success in an encoding that this Node does not have; of a failure the status says enough.
 */
export function decompress(reply: HttpReply, encoding: string): HttpReply {
  const { 'content-encoding': _, 'content-length': _length, ...headers } = reply.headers;
  const source = reply.body[Symbol.asyncIterator]();
  const decoder = decoderOf(encoding);
  if (decoder !== undefined) return { ...reply, headers, body: decoded(source, decoder, encoding) };
  void source.return?.();
  if (reply.status >= 400) return { ...reply, headers, body: Readable.from([]) };
  throw badEncoding(encoding, 'which this program cannot read');
}

function decoderOf(encoding: string): zlib.Unzip | zlib.BrotliDecompress | undefined {
  // What came of a body that was cut is read.
  if (/^(?:x-)?gzip$|^deflate$/.test(encoding)) return zlib.createUnzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH });
  if (encoding === 'br') return zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH });
  // Since Node 22.15.
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => zlib.Unzip };
  return encoding === 'zstd' ? createZstdDecompress?.() : undefined;
}

/** Not a generator: its `return` would wait for the next chunk. */
function decoded(
  source: AsyncIterator<Uint8Array>,
  decoder: zlib.Unzip | zlib.BrotliDecompress,
  encoding: string,
): AsyncIterableIterator<Uint8Array> {
  let failure: unknown;
  const count = { in: 0, out: 0 };
  async function* untilCut(): AsyncGenerator<Uint8Array> {
    try {
      for (let next = await source.next(); !next.done; next = await source.next()) {
        count.in += next.value.byteLength;
        yield next.value;
      }
    } catch (error) {
      failure = error;
    }
  }
  const input = Readable.from(untilCut());
  const output = input.pipe(decoder)[Symbol.asyncIterator]();
  return {
    async next() {
      const next = await output.next().catch((error: unknown) => {
        throw failure ?? badEncoding(encoding, `and cannot be read: ${messageOf(error)}`);
      });
      if (next.done && failure !== undefined) throw failure;
      if (next.done) return { done: true, value: undefined };
      const chunk = next.value as Buffer;
      count.out += chunk.byteLength;
      if (count.out > firstBytes && count.out > maxRatio * count.in)
        throw badEncoding(encoding, `and is more than ${maxRatio} times as large without it`);
      return { done: false, value: chunk };
    },
    async return() {
      await source.return?.();
      input.destroy();
      decoder.destroy();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function badEncoding(encoding: string, what: string): GatewayError {
  const message = `the reply is encoded as ${encoding.slice(0, 40)}, although the request accepts no encoding, ${what}`;
  return new GatewayError('bad-reply', message, { sent: 'yes', retryable: false, reason: 'compressed' });
}
