import type { EndOf } from '../../client/deadline.ts';
import type { ResultImage } from '../../client/result.ts';
import type { GatewayError } from '../../errors.ts';
import { createLateStore } from '../../client/picture-store.ts';
import type { BlobStore } from '../../images/types.ts';
import type { JsonObject } from '../../json.ts';
import { shellWord } from '../../shell-word.ts';
import type { Context, WrittenImage } from '../context.ts';

/** Flags that say where pictures go, as they were typed. */
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
  /** Pictures that are sent. */
  image?: readonly string[] | undefined;
}

/** What the output is planned from. */
export interface ImagePlan extends ImageOutputFlags {
  prompt: string | undefined;
  model: string;
  /** Pictures that are asked for. */
  count?: number | undefined;
  /** The payload is a text: paths are told on stderr, and stdout takes no image. */
  besideText?: boolean | undefined;
  /** The file of that text: its pictures get its name. */
  beside?: string | undefined;
  /** What a sidecar says beside the facts of its picture. */
  provenance?: JsonObject | undefined;
}

/** Where the pictures of a command go. */
export interface ImageOutput {
  /** A store for one reply; its temporary files are gone at the end of the run. Tells when its folder takes no more. */
  openStore(onFallback?: () => void): BlobStore;
  /**
   * Publishes the pictures of one reply, prints their paths, and tells what is odd about them. What is not written, as there
   * are too many or for the end that `endOf` tells or throws, is kept for the recovery file.
   */
  save(images: readonly ResultImage[], reply: ReplyFacts, endOf: EndOf): Promise<void>;
  /** Pictures of one reply that are written at most. */
  readonly most: number;
  /** With `--strict`, what did not fit. */
  readonly misfit: GatewayError | undefined;
}

/** Pictures of one reply that are written, unless the user wants more. */
export const mostImages = 256;

/**
 * Checks the output before anything is paid for. Beside a text, where nobody named a place for pictures, nothing is checked:
 * it must go on in a read-only folder, and their place is planned when one comes. Throws GatewayError usage.
 */
export async function planImages(wanted: ImagePlan, context: Context): Promise<ImageOutput> {
  if (!wanted.besideText || wanted.output !== undefined) return planNow(wanted, context);
  let planned: Promise<ImageOutput> | undefined;
  const plan = (): Promise<ImageOutput> => (planned ??= planNow(wanted, context));
  return {
    openStore: (onFallback) => createLateStore(async () => (await plan()).openStore(onFallback)),
    async save(images, reply, endOf) {
      if (images.length > 0) await (await plan()).save(images, reply, endOf);
    },
    most: wanted.maxImages ?? mostImages,
    misfit: undefined,
  };
}

async function planNow(wanted: ImagePlan, context: Context): Promise<ImageOutput> {
  return (await import('./save-pictures.ts')).planSaving(wanted, context);
}

/** `--dry-run` with `-o`: what a real run would refuse is refused, and no folder is made. Throws GatewayError usage. */
export async function checkShownOutput(wanted: ImagePlan, context: Context): Promise<void> {
  if (wanted.dryRun && wanted.output !== undefined) await planImages(wanted, context);
}

/** `-o` was given, and the reply held only text. */
export async function warnOfNoImage({ output }: ImageOutputFlags, { report, ui }: Context): Promise<void> {
  if (output === undefined || report.images.length > 0 || report.files) return;
  await ui.warn(`no image came; text goes to stdout: > ${shellWord(output)}`);
}

/** What is known of the reply that pictures came with. */
export interface ReplyFacts {
  responseId?: string | undefined;
  modelVersion?: string | undefined;
  usage?: object | undefined;
}

interface RequestFacts {
  prompt: string | undefined;
  model: string;
  provenance?: JsonObject | undefined;
}

/** What a sidecar says of its picture and how it came to be. */
export function sidecarFacts(
  image: WrittenImage,
  { responseId, modelVersion, usage }: ReplyFacts,
  { prompt, model, provenance }: RequestFacts,
): JsonObject & { image: JsonObject } {
  const facts = {
    schema: 'gateway-cli/sidecar@1',
    prompt,
    model,
    ...provenance,
    responseId,
    modelVersion,
    usage,
    image,
  };
  return JSON.parse(JSON.stringify(facts)) as ReturnType<typeof sidecarFacts>;
}
