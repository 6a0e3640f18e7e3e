import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { messageOf, usageError } from '../errors.ts';
import { extensionFor } from '../images/extension.ts';
import { candidateNames, planOutput } from '../images/naming.ts';
import { checkOutput } from '../images/output-check.ts';
import { publish } from '../images/publish.ts';
import { imageFacts } from '../images/sniff.ts';
import { createFileStore, createMemoryStore } from '../images/store.ts';
import type { BlobStore } from '../images/types.ts';
import type { FilePicture, MemoryPicture, Picture, Reply } from './client-types.ts';
import type { Result, ResultImage } from './result.ts';

/** Where the pictures of one call go. */
export interface Keeper<Image extends Picture> {
  store: BlobStore;
  /** The reply for the caller, its pictures kept: as many as there were when the signal ended it. */
  keep(result: Result, signal: AbortSignal): Promise<Reply<Image>>;
}

/** Keeps pictures in memory. */
export function keepInMemory(): Keeper<MemoryPicture> {
  return keeper(createMemoryStore(), async (image, picture) => {
    const { content } = image.blob;
    return { ...picture, data: 'data' in content ? content.data : new Uint8Array() };
  });
}

/** Keeps pictures in a folder. Throws GatewayError usage where it cannot be written, before anything is sent. */
export async function keepInFolder(folder: string): Promise<Keeper<FilePicture>> {
  const path = resolve(folder);
  const isDirectory = await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  const plan = planOutput(isDirectory ? path : join(path, '/'), {
    isDirectory,
    count: 1,
    prompt: '',
    model: '',
    date: '',
  });
  await checkOutput(plan, { cwd: path, force: false }).catch((error: unknown) => {
    throw usageError(`the folder cannot be used: ${messageOf(error).replace(/^-o: /, '')}`, undefined, error);
  });
  let index = 0;
  return keeper(createFileStore({ folder: path, fallback: tmpdir() }), async ({ blob }, picture) => {
    const names = candidateNames(plan, { index: index++, extension: picture.extension });
    return { ...picture, path: resolve(path, await publish(blob, names, { cwd: path, force: false })) };
  });
}

function keeper<Image extends Picture>(
  store: BlobStore,
  place: (image: ResultImage, picture: Picture) => Promise<Image>,
): Keeper<Image> {
  return {
    store,
    async keep(result, signal) {
      const images: Image[] = [];
      const warnings = [...result.warnings];
      for (const image of result.images) {
        if (signal.aborted) break;
        const { blob, candidate, declaredType } = image;
        const { extension, mimeType, warning } = await extensionFor({ declaredType, head: blob.head });
        const { width, height } = await imageFacts(blob.head);
        if (warning !== undefined) warnings.push(warning);
        const { bytes, sha256 } = blob;
        images.push(await place(image, { mimeType, extension, width, height, bytes, sha256, candidate }));
      }
      return { ...result, images, warnings };
    },
  };
}
