import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { usageError } from '../errors.ts';
import { describeWriteError } from '../files/file-reason.ts';
import { isFolder } from '../files/temp-file.ts';
import { candidateNames, planOutput } from '../images/naming.ts';
import { checkOutput, publishImage } from '../images/publish.ts';
import { createFileStore, createMemoryStore } from '../images/store.ts';
import type { BlobStore } from '../images/types.ts';
import type { FilePicture, MemoryPicture, Picture, Reply } from './client-types.ts';
import { describeImage } from './image-store.ts';
import type { Result, ResultImage } from './result.ts';

/** A result whose images have their place. */
type KeptResult<Image extends Picture> = Omit<Result, 'images' | 'files'> & Pick<Reply<Image>, 'images' | 'files'>;

/** The place for the images of one call. */
export interface ImageSink<Image extends Picture> {
  store: BlobStore;
  /** The result with its images at their place: those that were stored before the signal ended the call. */
  keep(result: Result, signal: AbortSignal): Promise<KeptResult<Image>>;
}

/** Keeps images in memory. */
export function memorySink(): ImageSink<MemoryPicture> {
  return createImageSink(createMemoryStore(), async (image, details) => {
    const { content } = image.blob;
    return { ...details, data: 'data' in content ? content.data : new Uint8Array() };
  });
}

/** Keeps images in a folder. Throws GatewayError usage if it cannot be written, before anything is sent. */
export async function folderSink(folder: string): Promise<ImageSink<FilePicture>> {
  const path = resolve(folder);
  const isDirectory = await isFolder(path);
  const plan = planOutput(isDirectory ? path : join(path, '/'), {
    isDirectory,
    count: 1,
    prompt: '',
    model: '',
    date: '',
  });
  await checkOutput(plan, { cwd: path, force: false }).catch((error: unknown) => {
    throw usageError(`the folder cannot be used: ${describeWriteError(error)}`, undefined, error);
  });
  let index = 0;
  return createImageSink(createFileStore({ folder: path, spare: tmpdir() }), async ({ blob }, image) => {
    const names = candidateNames(plan, { index: index++, extension: image.extension });
    return { ...image, path: resolve(path, await publishImage(blob, names, { cwd: path, force: false })) };
  });
}

function createImageSink<Image extends Picture>(
  store: BlobStore,
  place: (image: ResultImage, details: Picture) => Promise<Image>,
): ImageSink<Image> {
  return {
    store,
    async keep(result, signal) {
      const warnings = [...result.warnings];
      const placeAll = async (blobs: readonly ResultImage[]): Promise<Image[]> => {
        const placed: Image[] = [];
        for (const blob of blobs) {
          if (signal.aborted) break;
          const { image, warning, blob: written } = await describeImage(blob);
          if (warning !== undefined) warnings.push(warning);
          placed.push(await place({ ...blob, blob: written }, image));
        }
        return placed;
      };
      const { files, ...rest } = result;
      const images = await placeAll(result.images);
      return { ...rest, images, ...(files && { files: await placeAll(files) }), warnings };
    },
  };
}
