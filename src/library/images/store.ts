import { createHash } from 'node:crypto';
import { badReply } from '../errors.ts';
import { BlockWriter, type TempFolders } from '../files/block-writer.ts';
import { randomNonce } from '../files/temp-file.ts';
import { Base64Decoder } from '../scan/base64.ts';
import type { Base64Sink, DivertedString } from '../scan/json-scan.ts';
import type { BlobStore, StoredBlob } from './types.ts';

/** Number of first bytes of each blob that stay in memory: its type and size are read from them. */
const headBytes = 32 * 1024;
/** The number of first bytes to keep for known types, by the first byte of the file. */
const headBytesByFirstByte = new Map([
  // JPEG: metadata can come before the size.
  [0xff, 256 * 1024],
  // PNG, GIF, RIFF (WebP): the size is at the start.
  [0x89, 1024],
  [0x47, 1024],
  [0x52, 1024],
]);

/**
 * Stores the images of one reply as temporary files in the folder where they will be published. If that folder is full,
 * `spare` is used, so that a paid image is not lost. Sinks and `resolve` throw GatewayError bad-reply, not-written.
 */
export function createFileStore(folders: TempFolders): BlobStore {
  const writers: BlockWriter[] = [];
  return createStore(
    () => {
      const writer = new BlockWriter(folders);
      writers.push(writer);
      return createFileTarget(writer);
    },
    async () => {
      const results = await Promise.allSettled(writers.splice(0).map((writer) => writer.discard()));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    },
  );
}

/** Stores the images of one reply in memory. */
export function createMemoryStore(): BlobStore {
  return createStore(createMemoryTarget);
}

/** Opens a store that checks the images of one reply and keeps none. */
export function createEmptyStore(): BlobStore {
  const content = { data: new Uint8Array() };
  return createStore(() => ({ write: () => undefined, end: async () => ({ content, ready: Promise.resolve() }) }));
}

function createFileTarget(writer: BlockWriter): BlobTarget {
  return {
    write: (bytes) => writer.write(bytes),
    async end() {
      await writer.end();
      const content = { file: writer.path as string };
      const synced = writer.sync().then(() => void (content.file = writer.path as string));
      // The sync is not awaited here, so that the next image can be read meanwhile. `resolve` reports a failure when it awaits
      // `ready`.
      synced.catch(() => {});
      return { content, ready: synced };
    },
  };
}

interface StoreEntry {
  blob: StoredBlob;
  ready: Promise<void>;
}

function createStore(openTarget: () => BlobTarget, discard = async (): Promise<void> => undefined): BlobStore {
  let prefix: string | undefined;
  // The prefix has only Base64 characters, so that a placeholder in a data URL is read like any Base64. It is created with the
  // first image: a reply without images needs no random bytes.
  const placeholderPrefix = (): string => (prefix ??= `gatewayCliBlob_${randomNonce()}_`);
  const entries = new Map<string, StoreEntry | undefined>();

  async function open(): Promise<DivertedString> {
    const placeholder = `${placeholderPrefix()}${entries.size}`;
    entries.set(placeholder, undefined);
    return { placeholder, sink: createSink(openTarget(), (entry) => entries.set(placeholder, entry)) };
  }

  return {
    open,
    async resolve(data) {
      const name = data.startsWith(placeholderPrefix()) ? data : await storeUndiverted(data, await open());
      const entry = entries.get(name);
      if (!entry) throw badReply('an image of the reply did not come whole');
      await entry.ready;
      return entry.blob;
    },
    discard,
  };
}

const pieceBytes = 256 * 1024;

/** Stores Base64 that was too short to be diverted. Returns its placeholder. */
async function storeUndiverted(data: string, { sink, placeholder }: DivertedString): Promise<string> {
  // UTF-8 keeps characters that are not Base64 visible to the decoder; Latin-1 could turn them into ASCII.
  const text = Buffer.from(data, 'utf8');
  for (let at = 0; at < text.length; at += pieceBytes) await sink.write(text.subarray(at, at + pieceBytes));
  await sink.end();
  return placeholder;
}

function createSink(target: BlobTarget, done: (entry: StoreEntry) => void): Base64Sink {
  const decoder = new Base64Decoder();
  const hash = createHash('sha256');
  const heads: Uint8Array[] = [];
  let bytes = 0;
  let headSize = headBytes;

  function take(decoded: Uint8Array): void | Promise<void> {
    if (decoded.byteLength === 0) return;
    hash.update(decoded);
    if (bytes === 0) headSize = headBytesByFirstByte.get(decoded[0] as number) ?? headBytes;
    if (bytes < headSize) heads.push(new Uint8Array(decoded.subarray(0, headSize - bytes)));
    bytes += decoded.byteLength;
    return target.write(decoded);
  }

  return {
    write: (base64) => take(decoder.feed(base64)),
    async end() {
      await take(decoder.end());
      decoder.release();
      if (bytes === 0) throw badReply('an image of the reply is empty');
      const { content, ready } = await target.end();
      done({ blob: { bytes, sha256: hash.digest('hex'), head: Buffer.concat(heads), content }, ready });
    },
  };
}

/** The target for the decoded bytes of one blob. */
interface BlobTarget {
  /** The bytes are valid until the returned promise resolves. */
  write(bytes: Uint8Array): void | Promise<void>;
  /** `ready` resolves when the content can be used. */
  end(): Promise<{ content: StoredBlob['content']; ready: Promise<void> }>;
}

function createMemoryTarget(): BlobTarget {
  const parts: Uint8Array[] = [];
  return {
    write(bytes) {
      parts.push(new Uint8Array(bytes));
    },
    end: () => Promise.resolve({ content: { data: Buffer.concat(parts) }, ready: Promise.resolve() }),
  };
}
