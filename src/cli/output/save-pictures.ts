import { tmpdir } from 'node:os';
import { basename, dirname, extname, join, resolve } from 'node:path';
import type { EndOf } from '../../client/deadline.ts';
import { describePicture, isPicture } from '../../client/pictures.ts';
import type { ResultImage } from '../../client/result.ts';
import { GatewayError, usageError } from '../../errors.ts';
import { isFolder } from '../../files/temp-file.ts';
import { candidateNames, type OutputPlan, planOutput } from '../../images/naming.ts';
import { checkOutput } from '../../images/publish.ts';
import { publish, writeSidecar } from '../../images/publish.ts';
import { createFileStore } from '../../images/store.ts';
import type { Context, WrittenImage } from '../context.ts';
import { behind } from '../flags/flag.ts';
import { showPreview } from './preview.ts';
import { isPrintedAtEnd } from './select.ts';
import { type ReplyFacts, sidecarFacts, type ImageOutput, type ImagePlan, mostImages } from './pictures.ts';
import { fitsAspect, matchesSize } from '../../images/aspect.ts';
import { createReadStream } from 'node:fs';
import type { StoredBlob } from '../../images/types.ts';
import type { Io } from '../../terminal/io.ts';

/** Names the pictures of a command, and finds out whether they can be written. Throws GatewayError usage. */
export async function planSaving(wanted: ImagePlan, context: Context): Promise<ImageOutput> {
  const toStdout = wanted.output === '-';
  if (toStdout) checkStdout(wanted, context.io);
  const { cwd } = context.io;
  const name = toStdout ? undefined : (wanted.output ?? besideName(wanted.beside));
  if (name === '' || name?.includes('\0')) throw usageError('-o needs a name', 'for example: -o cat.png');
  const plan = await checkedPlan(name, wanted, context).catch(behind('-o: '));
  const most = wanted.maxImages ?? mostImages;
  const saving: Saving = { plan, wanted, context, toStdout, saved: 0, written: 0, misfits: [] };
  return {
    openStore(onFallback) {
      const folder = toStdout ? tmpdir() : resolve(cwd, plan.folder);
      const store = createFileStore({ folder, fallback: tmpdir(), onFallback });
      context.atEnd(() => store.discard());
      return store;
    },
    async save(images, reply, endOf) {
      for (const [index, image] of images.entries()) {
        const rest = images.slice(index);
        const end = index < most ? askEnd(endOf, rest, context) : tooMany(images.length, most);
        if (end) return keepRest(rest, end, context);
        await saveOrKeep(image, reply, saving);
      }
    },
    most,
    get misfit() {
      return wanted.strict ? misfitError(saving.misfits) : undefined;
    },
  };
}

/** The text in `out.txt` has its pictures in out.png, out-2.png and so on. */
function besideName(path: string | undefined): string | undefined {
  return path === undefined ? undefined : `${join(dirname(path), basename(path, extname(path)))}.{ext}`;
}

/** Names the pictures, and finds out whether they can be written. Throws GatewayError usage. */
async function checkedPlan(name: string | undefined, wanted: ImagePlan, { io }: Context): Promise<OutputPlan> {
  const { cwd } = io;
  const plan = planOutput(name, {
    isDirectory: name !== undefined && (await isFolder(resolve(cwd, name))),
    count: wanted.count ?? 1,
    prompt: wanted.prompt ?? '',
    model: wanted.model,
    date: localDate(new Date(io.now())),
  });
  // A text in a read-only folder must go on: pictures may come with it, but nobody asked for them.
  const mayFail = wanted.besideText === true && wanted.output === undefined;
  if (wanted.output !== '-' && !mayFail) {
    const { force = false, sidecar, dryRun, image } = wanted;
    await checkOutput(plan, { cwd, force, sidecar, dryRun, inputs: image });
  }
  return plan;
}

function tooMany(found: number, most: number): GatewayError {
  return new GatewayError('incomplete', `the reply has ${found} images; ${most} are written`, {
    hint: `next time, write more of them: --max-images ${found}`,
    sent: 'yes',
    retryable: false,
  });
}

function keepRest(images: readonly ResultImage[], end: GatewayError, { report: { lost } }: Context): void {
  lost.failure ??= end;
  lost.images.push(...images);
}

/** A signal ends the command, and what was paid for is kept all the same. */
function askEnd(endOf: EndOf, rest: readonly ResultImage[], context: Context): GatewayError | undefined {
  try {
    return endOf();
  } catch (reason) {
    const end = new GatewayError('not-written', 'ended before all images were written', { cause: reason, sent: 'yes' });
    keepRest(rest, end, context);
    throw reason;
  }
}

interface Saving {
  plan: OutputPlan;
  wanted: ImagePlan;
  context: Context;
  toStdout: boolean;
  /** Numbers that were given out. */
  saved: number;
  /** Files that are there. */
  written: number;
  misfits: string[];
}

/** `2026-11-20`, by the clock on the user's wall. */
function localDate(now: Date): string {
  const [month, day] = [now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, '0'));
  return `${now.getFullYear()}-${month}-${day}`;
}

/** A picture that cannot be written is kept for the recovery file, and the others are still saved. */
async function saveOrKeep(image: ResultImage, reply: ReplyFacts, saving: Saving): Promise<void> {
  const { lost } = saving.context.report;
  const written = saving.written;
  try {
    await saveOne(image, reply, saving);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.class !== 'not-written') throw error;
    lost.failure ??= error;
    if (saving.written === written) lost.images.push(image);
    return;
  }
  // With hundreds of pictures these would be what fills the memory.
  image.blob.head = new Uint8Array();
}

/** Audio, a document and the like: beside the pictures, and never on stdout. */
async function saveFile(file: ResultImage, saving: Saving): Promise<void> {
  const { context, wanted, plan } = saving;
  const { picture, warning } = await describePicture(file);
  const { extension, ...facts } = picture;
  const names =
    plan.kind === 'numbered'
      ? candidateNames({ ...plan, stem: 'file' }, { index: 0, extension })
      : candidateNames(plan, { index: saving.saved++, extension });
  const path = await publish(file.blob, names, { cwd: context.io.cwd, force: wanted.force === true });
  saving.written++;
  const { width: _width, height: _height, ...written } = facts;
  (context.report.files ??= []).push({ path, ...written, ...(file.reply !== undefined && { reply: file.reply }) });
  await context.ui.warn(`${warning ?? `a file came: ${facts.mimeType}`}; it is in ${path}`);
}

async function saveOne(image: ResultImage, reply: ReplyFacts, saving: Saving): Promise<void> {
  if (!isPicture(image)) return saveFile(image, saving);
  const { context, wanted, plan } = saving;
  const { blob } = image;
  const { picture, warning } = await describePicture(image);
  const { extension, ...facts } = picture;
  if (warning) await context.ui.warn(warning);
  const index = saving.saved++;
  const isFirst = index === 0;
  const options = { cwd: context.io.cwd, force: wanted.force === true };
  const path =
    saving.toStdout && isFirst
      ? await writeToStdout(blob, context.io)
      : await publish(
          blob,
          candidateNames(plan, { index, extension, id: context.ui.clean(reply.responseId ?? '') }),
          options,
        );
  const written: WrittenImage = { path, ...facts, ...(image.reply !== undefined && { reply: image.reply }) };
  context.report.images.push(written);
  saving.written++;
  await warnOfName(path, extension, saving);
  const misfit = misfitOf(written, wanted);
  if (misfit !== undefined) saving.misfits.push(misfit);
  if (misfit !== undefined && !wanted.strict) await context.ui.warn(misfit);
  if (wanted.sidecar && path !== '-') {
    const sidecar = sidecarFacts(written, reply, wanted);
    await writeSidecar(path, { ...context.ui.clean(sidecar), image: sidecar.image }, options);
  }
  if (wanted.preview && path !== '-') await showPreview(written, resolve(context.io.cwd, path), context);
  await tellPath(path, saving);
}

async function tellPath(path: string, { context, toStdout, wanted }: Saving): Promise<void> {
  if (toStdout || context.root.json) return;
  if (wanted.besideText) await context.ui.note(`image saved: ${path}`);
  else if (!isPrintedAtEnd(context)) await context.io.stdout.write(`${path}\n`);
}

async function warnOfName(path: string, extension: string, { plan, context, toStdout }: Saving): Promise<void> {
  if (toStdout && path !== '-') await context.ui.warn(`one more image came; it is in ${path}`);
  const { output, extension: asked } = plan;
  if (asked !== undefined && !path.toLowerCase().endsWith(`.${asked.toLowerCase()}`)) {
    await context.ui.warn(`${output} would hold ${extension} data, so the file is ${path}`);
  }
}

/** In what a picture has not the asked shape: a warning, with `--strict` an error (deviation 42). Undefined where it fits. */
export function misfitOf(
  { path, width, height }: WrittenImage,
  { aspect, size }: { aspect?: string | undefined; size?: string | undefined },
): string | undefined {
  if (width === undefined || height === undefined) return undefined;
  const odd: string[] = [];
  if (aspect !== undefined && !fitsAspect({ width, height }, aspect)) odd.push(`not ${aspect}`);
  if (size !== undefined && matchesSize({ width, height }, size) === false) odd.push(`not ${size}`);
  return odd.length === 0 ? undefined : `${path} is ${width}×${height}, ${odd.join(' and ')}`;
}

/** How a run with `--strict` ends: all its misfits in one error. */
export function misfitError(misfits: readonly string[]): GatewayError | undefined {
  if (misfits.length === 0) return undefined;
  return new GatewayError('incomplete', misfits.join('; '), {
    hint: 'the files are kept; without --strict this is a warning',
    sent: 'yes',
  });
}

/** What would go to stdout, or beside it. */
interface StdoutWish {
  count?: number | undefined;
  sidecar?: boolean | undefined;
}

/** Whether stdout takes what `-o -` would write there. Throws GatewayError usage. */
export function checkStdout({ count = 1, sidecar }: StdoutWish, { stdout }: Io): void {
  if (stdout.isTTY) throw usageError('-o - would write image bytes to the terminal', 'send them on: -o - > image.png');
  if (count > 1) throw usageError('-o - is for one image', 'for several: -o folder/');
  if (sidecar) throw usageError('--sidecar has no file to write it beside with -o -', 'name a file: -o image.png');
}

/** Writes a picture's bytes to stdout, for `-o -`; `-` is its path in the JSON document. */
export async function writeToStdout({ content }: Pick<StoredBlob, 'content'>, { stdout }: Io): Promise<string> {
  if ('data' in content) await stdout.write(content.data);
  else for await (const chunk of createReadStream(content.file)) await stdout.write(chunk as Uint8Array);
  if (stdout.failure !== undefined) throw stdout.failure;
  return '-';
}
