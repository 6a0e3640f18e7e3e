import { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { badReply, GatewayError, getErrorMessage } from '../errors.ts';
import { toReadableBody } from './readable-body.ts';
import type { HttpReply } from './types.ts';

/** A few kilobytes could become terabytes: past the first bytes, no reply is so much smaller when it is compressed. */
const firstBytes = 16 * 1024 * 1024;
const maxRatio = 100;

/** Bytes that are kept of a body that cannot be read. */
const maxKeptBytes = 256 * 1024 * 1024;

/**
 * A reply whose body is compressed although the request accepts no encoding: its body is decoded. Reading a success throws
 * GatewayError bad-reply, with its bytes, if they cannot be decoded; of a failure the status says enough.
 */
export function decompress(reply: HttpReply, encoding: string, request: string): HttpReply {
  const { 'content-encoding': _, 'content-length': _length, ...headers } = reply.headers;
  const names = encoding.split(',').map((name) => name.trim());
  const [name = '', ...more] = names.filter((each) => each !== '' && each !== 'identity');
  const open = more.length === 0 ? decoders.get(name) : undefined;
  const source = reply.body[Symbol.asyncIterator]();
  if (reply.status >= 400 && open === undefined) {
    void source.return?.();
    return { ...reply, headers, body: Readable.from([]) };
  }
  const wire: WireBody = { source, chunks: [], bytes: 0, failure: undefined };
  const failUnread = (fault: string): Promise<never> =>
    throwUnread(wire, { status: reply.status, request, encoding, fault });
  return {
    ...reply,
    headers,
    body: decodeWire(wire, open, failUnread),
  };
}

/** Node has zstd since 22.15. */
const { createZstdDecompress } = zlib as { createZstdDecompress?: () => zlib.Unzip };

type OpenDecoder = () => zlib.Unzip | zlib.BrotliDecompress;

const openUnzip: OpenDecoder = () => zlib.createUnzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH });

/** The decoders by the names of encodings. The part of a cut body that came is read. */
const decoders = new Map<string, OpenDecoder | undefined>([
  ['gzip', openUnzip],
  ['deflate', openUnzip],
  ['br', () => zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH })],
  ['zstd', createZstdDecompress],
]);

/** A body as it comes, which is kept while it is read. */
interface WireBody {
  source: AsyncIterator<Uint8Array>;
  chunks: Uint8Array[];
  bytes: number;
  /** The reason that the body ended early. */
  failure: unknown;
}

/** Never throws: a failure is in `wire`. */
async function* readWire(wire: WireBody): AsyncGenerator<Uint8Array> {
  try {
    for (let next = await wire.source.next(); !next.done; next = await wire.source.next()) {
      wire.bytes += next.value.byteLength;
      if (wire.bytes <= maxKeptBytes) wire.chunks.push(next.value);
      yield next.value;
    }
  } catch (error) {
    wire.failure = error;
  }
}

/** Throws the error of a body that cannot be read, with all of its bytes; after an abort by the caller, its reason. */
async function throwUnread(
  wire: WireBody,
  { encoding, fault, ...known }: { status: number; request: string; encoding: string; fault: string },
): Promise<never> {
  const pieces = readWire(wire);
  while (wire.bytes <= maxKeptBytes && !(await pieces.next()).done);
  if (wire.failure !== undefined && !(wire.failure instanceof GatewayError && wire.failure.class === 'incomplete'))
    throw wire.failure;
  void wire.source.return?.();
  const isKept = wire.bytes > 0 && wire.bytes <= maxKeptBytes;
  const message = `the reply (${known.status}) is encoded as ${encoding.slice(0, 40)}, although the request accepts no encoding, ${fault}`;
  throw badReply(message, {
    ...known,
    reason: 'compressed',
    ...(isKept && { unread: Buffer.concat(wire.chunks) }),
  });
}

type Fail = (fault: string) => Promise<never>;

/** The body without its encoding; `open` is undefined for an encoding that cannot be read. */
function decodeWire(wire: WireBody, open: OpenDecoder | undefined, fail: Fail): AsyncIterableIterator<Uint8Array> {
  let decoder: ReturnType<OpenDecoder> | undefined;
  let output: AsyncIterator<Uint8Array> | undefined;
  return toReadableBody(
    async () => {
      if (open === undefined) return fail('which this program cannot read');
      try {
        decoder ??= Readable.from(readWire(wire)).pipe(open());
        output ??= bounded(decoder[Symbol.asyncIterator]() as AsyncIterator<Buffer>, wire);
        const next = await output.next();
        if (!next.done) return next;
      } catch (error) {
        if (wire.failure === undefined)
          return fail(error instanceof TooLarge ? error.message : `and cannot be read: ${getErrorMessage(error)}`);
      }
      if (wire.failure !== undefined) throw wire.failure;
      return { done: true, value: undefined };
    },
    async () => {
      await wire.source.return?.();
      decoder?.destroy();
    },
  );
}

async function* bounded(chunks: AsyncIterator<Uint8Array>, wire: WireBody): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    bytes += next.value.byteLength;
    if (bytes > firstBytes && bytes > maxRatio * wire.bytes) throw new TooLarge();
    yield next.value;
  }
}

class TooLarge extends Error {
  constructor() {
    super(`and is more than ${maxRatio} times as large without it`);
  }
}
