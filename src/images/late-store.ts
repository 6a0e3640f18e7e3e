import type { BlobStore } from './types.ts';

/** A store that is opened when the first picture comes: most replies have none. */
export function createLateStore(open: () => Promise<BlobStore>): BlobStore {
  let store: Promise<BlobStore> | undefined;
  const opened = (): Promise<BlobStore> => (store ??= open());
  return {
    open: async () => (await opened()).open(),
    resolve: async (data) => (await opened()).resolve(data),
    discard: async () => (await store)?.discard(),
  };
}
