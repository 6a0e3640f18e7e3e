import { createHash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import { BlockWriter, type TempFolders } from '../files/block-writer.ts';
import { randomNonce } from '../files/temp-file.ts';
import { Base64Decoder } from '../scan/base64.ts';
import type { Base64Sink, DivertedString } from '../scan/json-scan.ts';
import type { BlobStore, StoredBlob } from './types.ts';

/** First bytes of each blob that stay in memory, for its type and size. */
const headBytes = 32 * 1024;
/** By the first byte: the size of a JPEG can be late in the file; of PNG, GIF and RIFF (WebP) it is at the start. */
const knownHeadBytes = new Map([
  [0xff, 256 * 1024],
  [0x89, 1024],
  [0x47, 1024],
  [0x52, 1024],
]);

/**
 * Stores the images of one reply as temporary files in the folder where they will be published. If that folder is full,
 * `fallback` is used, so that a paid image is not lost. Sinks and `resolve` throw GatewayError bad-reply, not-written.
 */
export function createFileStore(folders: TempFolders): BlobStore {
  const writers: BlockWriter[] = [];
  return createStore({
    open() {
      const writer = new BlockWriter(folders);
      writers.push(writer);
      return fileTarget(writer);
    },
    async discard() {
      if (writers.length === 0) return;
      const results = await Promise.allSettled(writers.splice(0).map((writer) => writer.discard()));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    },
  });
}

/** Stores the images of one reply in memory. */
export function createMemoryStore(): BlobStore {
  return createStore({ open: createMemoryTarget, discard: () => Promise.resolve() });
}

/** Checks the images of one reply and stores none of them. */
export function createEmptyStore(): BlobStore {
  const content = { data: new Uint8Array() };
  const target = { write: () => undefined, end: async () => ({ content, ready: Promise.resolve() }) };
  return createStore({ open: () => target, discard: () => Promise.resolve() });
}

function fileTarget(writer: BlockWriter): Target {
  return {
    write: (bytes) => writer.write(bytes),
    async end() {
      await writer.end();
      const synced = writer.sync();
      // The next image can arrive meanwhile; `resolve` waits for `ready`.
      synced.catch(() => {});
      return { content: { file: writer.path as string }, ready: synced };
    },
  };
}

interface Entry {
  blob: StoredBlob;
  ready: Promise<void>;
}

function createStore(targets: { open(): Target; discard(): Promise<void> }): BlobStore {
  let prefix: string | undefined;
  // Only Base64 characters, so that a placeholder in a data URL is read like any Base64. Created for the first image only:
  // node:crypto takes a text 2 ms.
  const placeholderPrefix = (): string => (prefix ??= `gatewayCliBlob_${randomNonce()}_`);
  const entries = new Map<string, Entry | undefined>();

  async function open(): Promise<DivertedString> {
    const placeholder = `${placeholderPrefix()}${entries.size}`;
    entries.set(placeholder, undefined);
    return { placeholder, sink: createSink(targets.open(), (entry) => entries.set(placeholder, entry)) };
  }

  return {
    open,
    async resolve(data) {
      const name = data.startsWith(placeholderPrefix()) ? data : await storeShort(data, await open());
      const entry = entries.get(name);
      if (!entry) throw badImage('an image of the reply did not come whole');
      await entry.ready;
      return entry.blob;
    },
    discard: () => targets.discard(),
  };
}

function badImage(message: string): GatewayError {
  return new GatewayError('bad-reply', message, { sent: 'yes', retryable: false });
}

const pieceBytes = 256 * 1024;

async function storeShort(data: string, { sink, placeholder }: DivertedString): Promise<string> {
  // Not Latin-1, which would turn other characters into ASCII.
  const text = Buffer.from(data, 'utf8');
  for (let at = 0; at < text.length; at += pieceBytes) await sink.write(text.subarray(at, at + pieceBytes));
  await sink.end();
  return placeholder;
}

function createSink(target: Target, done: (entry: Entry) => void): Base64Sink {
  const decoder = new Base64Decoder();
  const hash = createHash('sha256');
  const heads: Uint8Array[] = [];
  let bytes = 0;
  let headSize = headBytes;

  function take(decoded: Uint8Array): void | Promise<void> {
    if (decoded.byteLength === 0) return;
    hash.update(decoded);
    if (bytes === 0) headSize = knownHeadBytes.get(decoded[0] as number) ?? headBytes;
    if (bytes < headSize) heads.push(new Uint8Array(decoded.subarray(0, headSize - bytes)));
    bytes += decoded.byteLength;
    return target.write(decoded);
  }

  return {
    write: (base64) => take(decoder.feed(base64)),
    async end() {
      await take(decoder.end());
      decoder.release();
      if (bytes === 0) throw badImage('an image of the reply is empty');
      const { content, ready } = await target.end();
      done({ blob: { bytes, sha256: hash.digest('hex'), head: Buffer.concat(heads), content }, ready });
    },
  };
}

/** Where the decoded bytes of one blob are written. */
interface Target {
  /** The bytes are valid until the returned promise resolves. */
  write(bytes: Uint8Array): void | Promise<void>;
  /** `ready` resolves when the content can be used. */
  end(): Promise<{ content: StoredBlob['content']; ready: Promise<void> }>;
}

function createMemoryTarget(): Target {
  const parts: Uint8Array[] = [];
  return {
    write(bytes) {
      parts.push(new Uint8Array(bytes));
    },
    end: () => Promise.resolve({ content: { data: Buffer.concat(parts) }, ready: Promise.resolve() }),
  };
}
