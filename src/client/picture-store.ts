import { GatewayError } from '../errors.ts';
import type { BlobStore, StoredBlob } from '../images/types.ts';
import type { Base64Diversion, Base64Sink } from '../transport/types.ts';

/** Takes the pictures of one reply. One that is no Base64 does not spoil the others: they were paid for too. */
export interface PictureStore extends Base64Diversion {
  /** Undefined for a picture that was no Base64. Throws GatewayError not-written. */
  resolve(data: string): Promise<StoredBlob | undefined>;
  /** Why the first bad picture was bad (bad-reply). */
  failure(): GatewayError | undefined;
}

/** Keeps the good pictures of a reply in a store, and remembers that one was bad. */
export function keepGoodPictures(store: BlobStore): PictureStore {
  const bad = new Map<string, GatewayError>();
  let failure: GatewayError | undefined;
  return {
    open() {
      const { sink, placeholder } = store.open();
      return { placeholder, sink: untilBad(sink, (error) => bad.set(placeholder, error)) };
    },
    async resolve(data) {
      let error = bad.get(data);
      const blob = error
        ? undefined
        : await orBad(
            () => store.resolve(data),
            (thrown) => (error = thrown),
          );
      failure ??= error;
      return blob;
    },
    failure() {
      return failure;
    },
  };
}

/** A sink that takes what is left of a bad picture without a word. */
function untilBad(sink: Base64Sink, fail: (error: GatewayError) => void): Base64Sink {
  let isBad = false;
  const attempt = async (step: () => void | Promise<void>): Promise<void> => {
    if (isBad) return;
    await orBad(step, (error) => {
      isBad = true;
      fail(error);
    });
  };
  return { write: (base64) => attempt(() => sink.write(base64)), end: () => attempt(() => sink.end()) };
}

async function orBad<T>(step: () => T | Promise<T>, fail: (error: GatewayError) => void): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof GatewayError) || error.class !== 'bad-reply') throw error;
    fail(error);
    return undefined;
  }
}
