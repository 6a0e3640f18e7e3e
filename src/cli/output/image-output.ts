import type { EndOf } from '../../client/deadline.ts';
import { createLateStore } from '../../client/picture-store.ts';
import type { ResultImage } from '../../client/result.ts';
import type { GatewayError } from '../../errors.ts';
import type { BlobStore } from '../../images/types.ts';
import type { JsonObject } from '../../json.ts';
import { shellWord } from '../../shell-word.ts';
import type { Context } from '../context.ts';

/** Flags for the place and the check of images, as they were typed. */
export interface ImageOutputFlags {
  output?: string | undefined;
  force?: boolean | undefined;
  sidecar?: boolean | undefined;
  preview?: boolean | undefined;
  strict?: boolean | undefined;
  aspect?: string | undefined;
  size?: string | undefined;
  dryRun?: boolean | undefined;
  maxImages?: number | undefined;
  /** Images that are sent. */
  image?: readonly string[] | undefined;
}

/** What the output is planned from. */
export interface ImagePlan extends ImageOutputFlags {
  prompt: string | undefined;
  model: string;
  /** Number of requested images. */
  count?: number | undefined;
  /** The payload is a text: paths go to stderr, and stdout takes no image. */
  imagesAreExtra?: boolean | undefined;
  /** The file of that text, whose name its images get. */
  beside?: string | undefined;
  /** What a sidecar says in addition to the facts of its image. */
  provenance?: JsonObject | undefined;
}

/** Saves the images of a command. */
export interface ImageOutput {
  /** A store for one reply; its temporary files are removed at the end of the run. `onFallback`: its folder is full. */
  openStore(onFallback?: () => void): BlobStore;
  /**
   * Publishes the images of one reply, prints their paths, and warns. Images above `most`, and those after the end that `endOf`
   * returns or throws, are left for the recovery file.
   */
  save(images: readonly ResultImage[], reply: ReplyFacts, endOf: EndOf): Promise<void>;
  /** Maximum number of images to write of one reply. */
  readonly most: number;
  /** With `--strict`: the images with another aspect ratio or size. */
  readonly mismatch: GatewayError | undefined;
}

/** Default of `--max-images`. */
export const mostImages = 256;

/**
 * Checks the output before a request is paid for. Without `-o`, the place of images that come with a text is planned when one
 * comes: the command must work in a read-only folder. Throws GatewayError usage.
 */
export async function planImages(wanted: ImagePlan, context: Context): Promise<ImageOutput> {
  if (!wanted.imagesAreExtra || wanted.output !== undefined) return planNow(wanted, context);
  let planned: Promise<ImageOutput> | undefined;
  const plan = (): Promise<ImageOutput> => (planned ??= planNow(wanted, context));
  return {
    openStore: (onFallback) => createLateStore(async () => (await plan()).openStore(onFallback)),
    async save(images, reply, endOf) {
      if (images.length > 0) await (await plan()).save(images, reply, endOf);
    },
    most: wanted.maxImages ?? mostImages,
    mismatch: undefined,
  };
}

async function planNow(wanted: ImagePlan, context: Context): Promise<ImageOutput> {
  return (await import('./save-images.ts')).planSaving(wanted, context);
}

/** Warns if `-o` was given and the reply has only text. */
export async function warnOfNoImage({ output }: ImageOutputFlags, { report, ui }: Context): Promise<void> {
  if (output === undefined || report.images.length > 0 || report.files) return;
  await ui.warn(`no image came; text goes to stdout: > ${shellWord(output)}`);
}

/** The reply of some images. */
export interface ReplyFacts {
  responseId?: string | undefined;
  modelVersion?: string | undefined;
  usage?: object | undefined;
}
