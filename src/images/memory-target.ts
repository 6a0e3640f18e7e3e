import type { StoredBlob } from '../files/types.ts';

/** Where the decoded bytes of one blob go. */
export interface Target {
  /** The bytes are valid until the returned promise resolves. */
  write(bytes: Uint8Array): void | Promise<void>;
  /** `ready` resolves when the content is safe to be used. */
  end(): Promise<{ content: StoredBlob['content']; ready: Promise<void> }>;
}

/** Collects the bytes of one blob in memory. */
export function createMemoryTarget(): Target {
  const parts: Uint8Array[] = [];
  return {
    write(bytes) {
      parts.push(new Uint8Array(bytes));
    },
    end: () => Promise.resolve({ content: { data: Buffer.concat(parts) }, ready: Promise.resolve() }),
  };
}
