import { createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join, resolve } from 'node:path';
import {
  type BlobStore,
  type CandidateNames,
  candidateNames,
  type CheckEnd,
  checkOutput,
  createFileStore,
  describeImage,
  fitsAspect,
  GatewayError,
  getErrorCode,
  isCutImage,
  isFolder,
  isImageBlob,
  type JsonObject,
  matchesSize,
  mostImages,
  notWritten,
  type OutputPlan,
  planOutput,
  publishImage,
  type Result,
  type ResultImage,
  type StoredBlob,
  usageError,
  writeSidecar,
} from '../../library/index.ts';
import type { Io } from '../terminal/io.ts';
import type { AnswerContext, Outcome, SavedFiles, UnsavedReply, WrittenFile, WrittenImage } from '../context.ts';
import { prefixUsageError } from '../flags/flag.ts';
import { isPrintedAtEnd } from './print.ts';

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

/** The flags and facts from which the output is planned. */
export interface ImagePlan extends ImageOutputFlags {
  prompt: string | undefined;
  model: string;
  /** Number of requested images. */
  count?: number | undefined;
  /** The payload is a text: paths go to stderr, and stdout takes no image. */
  imagesAreExtra?: boolean | undefined;
  /** The file of the text, whose name the images get. */
  beside?: string | undefined;
  /** Facts for a sidecar beside those of its image. */
  provenance?: JsonObject | undefined;
}

/** Saves the images of a command. */
export interface ImageOutput {
  /** A store for one reply; its temporary files are removed at the end of the run. `onSpare`: its folder is full. */
  openStore(onSpare?: () => void): BlobStore;
  /**
   * Publishes the images of one reply, prints their paths, and warns. Images above `most`, and images after the end that `endOf`
   * returns or throws, are left for the recovery file. Never throws.
   */
  save(images: readonly ResultImage[], reply: ReplyOfImages, endOf: CheckEnd): Promise<Saved>;
  /** Maximum number of images to write of one reply. */
  readonly most: number;
}

/** The saved files, and the exception that ended the saving early: a signal, or a bug. */
type Saved = SavedFiles & Pick<Outcome, 'thrown'>;

/** The reply of some images. */
type ReplyOfImages = Partial<Pick<Result, 'responseId' | 'modelVersion' | 'usage'>>;

/** The surroundings for saving images: of a command, or of a job of a batch, which prints nothing. */
export interface SavingContext {
  readonly io: { readonly cwd: string; now(): number };
  readonly ui: { warn(text: string): Promise<void>; clean<T>(value: T): T };
  atEnd(cleanup: () => Promise<void>): void;
}

/** The files that came of one part of a reply. */
type SavedPart = Partial<Pick<Saved, 'images' | 'files' | 'mismatches' | 'thrown'>> & {
  unsaved?: Omit<UnsavedReply, 'text'>;
};

/** The output of one command. */
interface Saving {
  readonly plan: OutputPlan;
  readonly wanted: ImagePlan;
  readonly context: SavingContext;
  /** The command that shows them. */
  readonly shownBy: AnswerContext | undefined;
  readonly toStdout: boolean;
  /** Counts the names that were given, and the files that were written, of all replies. */
  readonly counts: { names: number; files: number };
}

/** Plans the names of a command's images, and checks that they can be written. Throws GatewayError usage. */
export async function planSaving(wanted: ImagePlan, context: AnswerContext): Promise<ImageOutput> {
  if (wanted.output === '-') checkStdout(wanted, context.io);
  return planImageFiles(wanted, context, context);
}

/** Plans files for images that only `shownBy` prints; without it, nothing is printed. */
export async function planImageFiles(
  wanted: ImagePlan,
  context: SavingContext,
  shownBy?: AnswerContext,
): Promise<ImageOutput> {
  const toStdout = wanted.output === '-';
  const { cwd } = context.io;
  const { beside } = wanted;
  // The images of the text in `out.txt` are out.png, out-2.png and so on.
  const nameBeside =
    beside === undefined ? undefined : `${join(dirname(beside), basename(beside, extname(beside)))}.{ext}`;
  const name = toStdout ? undefined : (wanted.output ?? nameBeside);
  if (name === '' || name?.includes('\0')) throw usageError('-o needs a name', 'for example: -o cat.png');
  const plan = await checkedPlan(name, wanted, context).catch(prefixUsageError('-o: '));
  const most = wanted.maxImages ?? mostImages;
  const saving: Saving = { plan, wanted, context, shownBy, toStdout, counts: { names: 0, files: 0 } };
  return {
    openStore(onSpare) {
      const folder = toStdout ? tmpdir() : resolve(cwd, plan.folder);
      const store = createFileStore({ folder, spare: tmpdir(), onSpare });
      context.atEnd(() => store.discard());
      return store;
    },
    save: async (images, reply, endOf) => joinParts(await saveAll(images, reply, { endOf, most, saving })),
    most,
  };
}

/** The error of `--strict` for images that are cut, or have another aspect ratio or size. */
export function mismatchError({ mismatches }: SavedFiles, { strict }: ImageOutputFlags): GatewayError | undefined {
  if (!strict || mismatches.length === 0) return undefined;
  const hint = 'the files are kept; without --strict this is a warning';
  return new GatewayError('incomplete', mismatches.join('; '), { hint, sent: 'yes' });
}

function joinParts(parts: readonly SavedPart[]): Saved {
  const unsaved = parts.flatMap((part) => part.unsaved ?? []);
  return {
    images: parts.flatMap(({ images = [] }) => images),
    files: parts.flatMap(({ files = [] }) => files),
    mismatches: parts.flatMap(({ mismatches = [] }) => mismatches),
    unsaved: {
      failure: unsaved[0]?.failure,
      images: unsaved.flatMap(({ images }) => images),
      place: unsaved.find(({ place }) => place !== undefined)?.place,
      text: false,
    },
    thrown: parts.at(-1)?.thrown,
  };
}

/** Whether stdout takes what `-o -` would write. Throws GatewayError usage. */
function checkStdout({ count = 1, sidecar }: ImagePlan, { stdout }: Io): void {
  if (stdout.isTTY) throw usageError('-o - would write image bytes to the terminal', 'send them on: -o - > image.png');
  if (count > 1) throw usageError('-o - is for one image', 'for several: -o folder/');
  if (sidecar) throw usageError('--sidecar has no file to write it beside with -o -', 'name a file: -o image.png');
}

async function checkedPlan(name: string | undefined, wanted: ImagePlan, { io }: SavingContext): Promise<OutputPlan> {
  const { cwd } = io;
  const plan = planOutput(name, {
    isDirectory: name !== undefined && (await isFolder(resolve(cwd, name))),
    count: wanted.count ?? 1,
    prompt: wanted.prompt ?? '',
    model: wanted.model,
    date: localDate(new Date(io.now())),
  });
  // A text in a read-only folder must work: the images that can come with it were not requested.
  const mayFail = wanted.imagesAreExtra === true && wanted.output === undefined;
  const { output, force = false, sidecar, dryRun, image } = wanted;
  if (output !== '-' && !mayFail) await checkOutput(plan, { cwd, force, sidecar, dryRun, inputs: image });
  return plan;
}

/** `2026-11-20`, in the user's time zone. */
function localDate(now: Date): string {
  const [month, day] = [now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, '0'));
  return `${now.getFullYear()}-${month}-${day}`;
}

function tooManyImagesError(found: number, most: number): GatewayError {
  return new GatewayError('incomplete', `the reply has ${found} images; ${most} are written`, {
    hint: `next time, write more of them: --max-images ${found}`,
    sent: 'yes',
    retryable: false,
  });
}

/** Saves images one after the other. The last part says what ended the saving, if something did. */
async function saveAll(
  images: readonly ResultImage[],
  reply: ReplyOfImages,
  { endOf, most, saving }: { endOf: CheckEnd; most: number; saving: Saving },
): Promise<SavedPart[]> {
  const parts: SavedPart[] = [];
  for (const [index, image] of images.entries()) {
    const rest = images.slice(index);
    try {
      const end = index < most ? endOf() : tooManyImagesError(images.length, most);
      if (end) return [...parts, leaveForRecovery(rest, end, saving)];
    } catch (value) {
      // A signal ends the command; the images that are left were paid for, too.
      const end = endedEarly(value);
      return [...parts, { ...leaveForRecovery(rest, end, saving), thrown: { value } }];
    }
    const part = await saveOrLeave(image, reply, saving);
    parts.push(part);
    if (part.thrown === undefined) continue;
    // A closed stdout ends the command; the images that are left were paid for, too.
    const left = images.slice(index + 1);
    return left.length === 0 ? parts : [...parts, leaveForRecovery(left, endedEarly(part.thrown.value), saving)];
  }
  return parts;
}

function endedEarly(cause: unknown): GatewayError {
  return new GatewayError('not-written', 'ended before all images were written', { cause, sent: 'yes' });
}

/** Leaves images for the recovery file. */
function leaveForRecovery(
  images: readonly ResultImage[],
  failure: GatewayError,
  { plan, counts }: Saving,
): Pick<Required<SavedPart>, 'unsaved'> {
  // A name that the first image took is not used again.
  const place = plan.kind !== 'name' || counts.files === 0 ? plan.output : undefined;
  return { unsaved: { failure, images, place } };
}

/** Saves an image, or leaves it for the recovery file if it cannot be written. */
async function saveOrLeave(image: ResultImage, reply: ReplyOfImages, saving: Saving): Promise<SavedPart> {
  let published: SavedPart = {};
  try {
    if (isImageBlob(image)) {
      const written = await publishOne(image, reply, saving);
      published = { images: [written.image], mismatches: written.mismatches };
      await presentImage(written, reply, saving);
    } else {
      const written = await publishFile(image, saving);
      published = { files: [written.file] };
      await saving.context.ui.warn(written.note);
    }
  } catch (thrown) {
    // The temporary file of an image may be unreadable, for example.
    const error = getErrorCode(thrown) === undefined ? thrown : notWritten('the picture', thrown);
    if (!(error instanceof GatewayError) || error.class !== 'not-written')
      return { ...published, thrown: { value: error } };
    // An image is not lost if it was published and only its sidecar was not written.
    const isLost = published.images === undefined && published.files === undefined;
    return { ...published, ...leaveForRecovery(isLost ? [image] : [], error, saving) };
  }
  // The heads of hundreds of images would fill the memory.
  image.blob.head = new Uint8Array();
  return published;
}

/** Saves audio, documents and similar files beside the images, never on stdout. */
async function publishFile(file: ResultImage, saving: Saving): Promise<{ file: WrittenFile; note: string }> {
  const { context, wanted, plan, counts } = saving;
  const { image, warning, blob } = await describeImage(file);
  const { extension, width: _width, height: _height, ...facts } = image;
  const names =
    plan.kind === 'numbered'
      ? candidateNames({ ...plan, stem: 'file' }, { index: 0, extension })
      : namesBesideText(saving, { index: counts.names++, extension });
  const path = await publishImage(blob, names, { cwd: context.io.cwd, force: wanted.force === true });
  counts.files++;
  return {
    file: { path, ...facts, ...(file.reply !== undefined && { reply: file.reply }) },
    note: `${warning ?? `a file came: ${facts.mimeType}`}; it is in ${path}`,
  };
}

/** An image that was written, its extension, and its differences from the wanted one. */
interface PublishedImage {
  image: WrittenImage;
  extension: string;
  mismatches: string[];
}

async function publishOne(image: ResultImage, reply: ReplyOfImages, saving: Saving): Promise<PublishedImage> {
  const { context, wanted, plan, shownBy, counts } = saving;
  const { image: details, warning } = await describeImage(image);
  const { extension, ...facts } = details;
  if (warning) await context.ui.warn(warning);
  const isCut = await isCutImage(image.blob);
  const index = counts.names++;
  // Only the name from a template can have the id of the reply.
  const id = plan.kind === 'template' ? context.ui.clean(reply.responseId ?? '') : '';
  const path =
    shownBy && saving.toStdout && index === 0
      ? await writeToStdout(image.blob, shownBy.io)
      : await publishImage(image.blob, namesBesideText(saving, { index, extension, id }), writeOptions(saving));
  const written: WrittenImage = { path, ...facts, ...(image.reply !== undefined && { reply: image.reply }) };
  counts.files++;
  const cut = isCut ? [`${path} is cut: its last part did not come`] : [];
  return { image: written, extension, mismatches: [...cut, ...aspectMismatch(written, wanted)] };
}

function writeOptions({ context, wanted }: Saving): { cwd: string; force: boolean } {
  return { cwd: context.io.cwd, force: wanted.force === true };
}

/** Warns of an image, writes its sidecar, and shows it. */
async function presentImage(
  { image, extension, mismatches }: PublishedImage,
  reply: ReplyOfImages,
  saving: Saving,
): Promise<void> {
  const { context, wanted, shownBy } = saving;
  const { path } = image;
  await warnOfName(path, extension, saving);
  if (!wanted.strict) for (const mismatch of mismatches) await context.ui.warn(mismatch);
  if (wanted.sidecar && path !== '-') {
    const sidecar = sidecarFacts(image, reply, wanted);
    await writeSidecar(path, { ...context.ui.clean(sidecar), image: sidecar.image }, writeOptions(saving));
  }
  if (shownBy && wanted.preview && path !== '-') {
    const { showPreview } = await import('./preview.ts');
    await showPreview(image, resolve(context.io.cwd, path), shownBy);
  }
  await printPath(path, saving);
}

/** The possible names of an image or a file. The name of the text file is left out. */
function namesBesideText({ plan, wanted }: Saving, facts: Parameters<typeof candidateNames>[1]): CandidateNames {
  const names = candidateNames(plan, facts);
  const skipped = wanted.beside !== undefined && names(0)?.path === join(wanted.beside) ? 1 : 0;
  return (at) => names(at + skipped);
}

/** The facts of an image and its request for the sidecar. */
function sidecarFacts(
  image: WrittenImage,
  { responseId, modelVersion, usage }: ReplyOfImages,
  { prompt, model, provenance }: Pick<ImagePlan, 'prompt' | 'model' | 'provenance'>,
): JsonObject & { image: JsonObject } {
  const request = { schema: 'gateway-cli/sidecar@1', prompt, model, ...provenance };
  const facts = { ...request, responseId, modelVersion, usage, image };
  return JSON.parse(JSON.stringify(facts)) as ReturnType<typeof sidecarFacts>;
}

/** The bytes of a blob, piece by piece. */
export async function* readBlobChunks({ content }: Pick<StoredBlob, 'content'>): AsyncGenerator<Uint8Array> {
  if ('data' in content) yield content.data;
  else yield* createReadStream(content.file) as AsyncIterable<Uint8Array>;
}

/** Writes the bytes of an image to stdout, for `-o -`; its path in the JSON document is `-`. */
export async function writeToStdout(blob: Pick<StoredBlob, 'content'>, { stdout }: Io): Promise<string> {
  for await (const chunk of readBlobChunks(blob)) await stdout.write(chunk);
  if (stdout.failure !== undefined) throw stdout.failure;
  return '-';
}

async function warnOfName(path: string, extension: string, { plan, context, toStdout }: Saving): Promise<void> {
  if (toStdout && path !== '-') await context.ui.warn(`one more image came; it is in ${path}`);
  const { output, extension: requested } = plan;
  if (requested !== undefined && !path.toLowerCase().endsWith(`.${requested.toLowerCase()}`)) {
    await context.ui.warn(`${output} would hold ${extension} data, so the file is ${path}`);
  }
}

async function printPath(path: string, { shownBy, toStdout, wanted }: Saving): Promise<void> {
  if (!shownBy || toStdout || shownBy.root.json) return;
  if (wanted.imagesAreExtra) await shownBy.ui.note(`image saved: ${path}`);
  else if (!isPrintedAtEnd(shownBy)) await shownBy.io.stdout.write(`${path}\n`);
}

/** How an image differs from the requested aspect ratio or size, if it does (deviation 42). */
function aspectMismatch({ path, width, height }: WrittenImage, { aspect, size }: ImagePlan): string[] {
  if (width === undefined || height === undefined) return [];
  const odd: string[] = [];
  if (aspect !== undefined && !fitsAspect({ width, height }, aspect)) odd.push(`not ${aspect}`);
  if (size !== undefined && !matchesSize({ width, height }, size)) odd.push(`not ${size}`);
  return odd.length === 0 ? [] : [`${path} is ${width}×${height}, ${odd.join(' and ')}`];
}
