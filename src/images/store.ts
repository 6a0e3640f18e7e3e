import { createHash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import { BlockWriter, type TempFolders } from '../files/block-writer.ts';
import { type Nonce, randomNonce } from '../files/temp-file.ts';
import type { StoredBlob } from '../images/types.ts';
import { Base64Decoder } from '../scan/base64.ts';
import type { Base64Sink, DivertedString } from '../scan/json-scan.ts';
import type { BlobStore } from './types.ts';

/** Bytes of each blob that stay at hand for its type and size. */
const headBytes = 32 * 1024;
/** By the first byte: a JPEG may tell its size late; PNG, GIF and RIFF (WebP) tell it at once. */
const knownHeadBytes = new Map([
  [0xff, 256 * 1024],
  [0x89, 1024],
  [0x47, 1024],
  [0x52, 1024],
]);

/**
 * Stores the pictures of one reply as temporary files in the folder where they will be published. When that folder takes
 * no more, `fallback` takes over, so that a paid picture is not lost. Sinks and `resolve` throw GatewayError bad-reply,
 * not-written.
 */
export function createFileStore({
  nonce = randomNonce,
  ...folders
}: Omit<TempFolders, 'nonce'> & Partial<TempFolders>): BlobStore {
  const writers: BlockWriter[] = [];
  return createStore(nonce, {
    open() {
      const writer = new BlockWriter({ ...folders, nonce });
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

/** Keeps the pictures of one reply in memory. */
export function createMemoryStore(nonce = randomNonce): BlobStore {
  return createStore(nonce, { open: createMemoryTarget, discard: () => Promise.resolve() });
}

/** Looks at the pictures of one reply and keeps none of them. */
export function createEmptyStore(nonce = randomNonce): BlobStore {
  const content = { data: new Uint8Array() };
  const target = { write: () => undefined, end: async () => ({ content, ready: Promise.resolve() }) };
  return createStore(nonce, { open: () => target, discard: () => Promise.resolve() });
}

function fileTarget(writer: BlockWriter): Target {
  return {
    write: (bytes) => writer.write(bytes),
    async end() {
      await writer.end();
      const synced = writer.sync();
      // The next picture may come in meanwhile; `ready` is waited for before anybody sees the file.
      synced.catch(() => {});
      return { content: { file: writer.path as string }, ready: synced };
    },
  };
}

interface Targets {
  open(): Target;
  discard(): Promise<void>;
}

interface Entry {
  blob: StoredBlob;
  ready: Promise<void>;
}

function createStore(nonce: Nonce, targets: Targets): BlobStore {
  let known: string | undefined;
  // Made of Base64 characters, so that a placeholder inside a data URL is found like any other; made for the first picture
  // only, since node:crypto costs a text 2 ms.
  const prefixOf = (): string => (known ??= `gatewayCliBlob_${nonce()}_`);
  const entries = new Map<string, Entry | undefined>();

  async function open(): Promise<DivertedString> {
    const placeholder = `${prefixOf()}${entries.size}`;
    entries.set(placeholder, undefined);
    return { placeholder, sink: createSink(targets.open(), (entry) => entries.set(placeholder, entry)) };
  }

  const isPlaceholder = (data: string): boolean => data.startsWith(prefixOf()) && entries.has(data);
  return {
    open,
    async resolve(data) {
      if (data.startsWith(prefixOf()) && !isPlaceholder(data)) throw notWhole();
      const name = isPlaceholder(data) ? data : await storeShort(data, await open());
      const entry = entries.get(name);
      if (!entry) throw notWhole();
      await entry.ready;
      return entry.blob;
    },
    discard: () => targets.discard(),
  };
}

const pieceBytes = 256 * 1024;

function notWhole(): GatewayError {
  return new GatewayError('bad-reply', 'an image of the reply did not come whole', { sent: 'yes', retryable: false });
}

async function storeShort(data: string, { sink, placeholder }: DivertedString): Promise<string> {
  // UTF-8, not Latin-1: that would make ASCII of foreign characters.
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
  let wanted = headBytes;

  function take(decoded: Uint8Array): void | Promise<void> {
    if (decoded.byteLength === 0) return;
    hash.update(decoded);
    if (bytes === 0) wanted = knownHeadBytes.get(decoded[0] as number) ?? headBytes;
    if (bytes < wanted) heads.push(new Uint8Array(decoded.subarray(0, wanted - bytes)));
    bytes += decoded.byteLength;
    return target.write(decoded);
  }

  return {
    write: (base64) => take(decoder.feed(base64)),
    async end() {
      await take(decoder.end());
      decoder.release();
      if (bytes === 0)
        throw new GatewayError('bad-reply', 'an image of the reply is empty', { sent: 'yes', retryable: false });
      const { content, ready } = await target.end();
      done({ blob: { bytes, sha256: hash.digest('hex'), head: Buffer.concat(heads), content }, ready });
    },
  };
}

/** Where the decoded bytes of one blob go. */
interface Target {
  /** The bytes are valid until the returned promise resolves. */
  write(bytes: Uint8Array): void | Promise<void>;
  /** `ready` resolves when the content is safe to be used. */
  end(): Promise<{ content: StoredBlob['content']; ready: Promise<void> }>;
}

/** Collects the bytes of one blob in memory. */
function createMemoryTarget(): Target {
  const parts: Uint8Array[] = [];
  return {
    write(bytes) {
      parts.push(new Uint8Array(bytes));
    },
    end: () => Promise.resolve({ content: { data: Buffer.concat(parts) }, ready: Promise.resolve() }),
  };
}
