import type { Stats } from 'node:fs';
import { chmod, lstat, mkdir, readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, resolve } from 'node:path';
import { getErrorCode, GatewayError, settingError, usageError } from '../errors.ts';
import { describeWriteError } from '../files/file-reason.ts';
import {
  writeNewFile,
  newFileMode,
  notWritten,
  placeFile,
  type Placing,
  removeFile,
  writeFully,
  writeTempFile,
} from '../files/temp-file.ts';
import type { JsonObject } from '../json.ts';
import { shellWord } from '../shell-word.ts';
import { undrawnExtensions } from '../vendors/image-types.ts';
import { isMediaExtension, knownExtensions, sameExtension } from './image-type.ts';
import { type CandidateNames, candidateNames, givenNames, type OutputPlan } from './naming.ts';
import type { StoredBlob } from './types.ts';

/** Options for the check of an output. */
interface OutputCheck {
  cwd: string;
  force: boolean;
  /** Sidecars will be written too. */
  sidecar?: boolean | undefined;
  /** Paths of images that are sent: a file of the same name and another type among them is not an earlier output. */
  inputs?: readonly string[] | undefined;
  /** Nothing will be written, so no folder is made. */
  dryRun?: boolean | undefined;
}

/**
 * Checks before the request is paid whether a plan's names can be written. Makes a folder that was named with a slash. Throws
 * GatewayError usage for a folder that is missing or read-only, and for a name that is too long, taken, or of something
 * that is no regular file.
 */
export async function checkOutput(plan: OutputPlan, options: OutputCheck): Promise<void> {
  const folder = resolve(options.cwd, plan.folder);
  await checkFolder(plan, folder, options);
  await checkNameLength(plan, options.cwd);
  if (plan.kind !== 'name') return;
  if (plan.output !== undefined) {
    const stats = await findStats(resolve(options.cwd, plan.output));
    if (stats && !stats.isFile() && !stats.isDirectory()) throw specialFile(plan.output);
  }
  // Without an extension, an image of any type has the name.
  const extensions = plan.extension === undefined ? drawnExtensions() : [plan.extension];
  for (const extension of extensions) {
    for (const name of givenNames(plan, extension)) await checkName(name, options);
  }
  if (!options.force) await checkOtherTypes(plan, options);
}

/** `-o cat.png` becomes cat.jpg for a JPEG: an existing cat.jpg is an error before the request, not after it is paid. */
async function checkOtherTypes(plan: OutputPlan, { cwd, inputs = [] }: OutputCheck): Promise<void> {
  const { extension } = plan;
  if (extension === undefined || !isMediaExtension(extension)) return;
  const sent = new Set(inputs.map((path) => resolve(cwd, path)));
  const others = drawnExtensions().filter((other) => !sameExtension(other, extension));
  for (const name of others.flatMap((other) => givenNames(plan, other))) {
    if (sent.has(resolve(cwd, name)) || !(await findStats(resolve(cwd, name)))) continue;
    throw settingError(`${JSON.stringify(name)} already exists, and its type decides the name of an image`, {
      reason: 'output-other-type',
      value: `${plan.stem}-2.${extension}`,
    });
  }
}

/** The extensions that an earlier output can have. Types that no service draws are left out: such a file is a photo. */
function drawnExtensions(): string[] {
  return knownExtensions().filter((extension) => !undrawnExtensions.has(extension));
}

/**
 * Whether a name is a place for files beside a text: a folder, a template, or a file with the extension of an image, a sound or a
 * film.
 */
export async function isMediaPlace(output: string, cwd: string): Promise<boolean> {
  if (output === '' || output.includes('\0') || /[/\\]$|\{[^{}/\\]{0,40}\}/.test(output)) return true;
  if (isMediaExtension(extname(output).slice(1))) return true;
  return (await findStats(resolve(cwd, output)))?.isDirectory() === true;
}

/** Checks the name of a file that is not an image. Throws GatewayError usage. */
export async function checkFile(path: string, options: OutputCheck): Promise<void> {
  const folder = dirname(path);
  await checkFolder({ folder, mayCreateFolder: false }, resolve(options.cwd, folder), options);
  if (path.endsWith('/') || (await findStats(resolve(options.cwd, path)))?.isDirectory())
    throw usageError(`${JSON.stringify(path)} is a folder`, 'name a file in it');
  await checkName(path, options);
}

type Folder = Pick<OutputPlan, 'folder' | 'mayCreateFolder'>;

async function checkFolder(plan: Folder, folder: string, { dryRun }: OutputCheck): Promise<void> {
  const stats = await findStats(folder);
  if (!stats) await makeOutputFolder(plan, folder, dryRun === true);
  else if (!stats.isDirectory())
    throw settingError(`${JSON.stringify(plan.folder)} is not a folder`, { reason: 'output' });
  if (!stats && dryRun) return;
  try {
    await newFileMode(folder);
  } catch (error) {
    throw settingError(`cannot write into ${JSON.stringify(plan.folder || '.')}: ${describeWriteError(error)}`, {
      reason: 'output-folder',
      cause: error,
    });
  }
}

async function makeOutputFolder({ folder, mayCreateFolder }: Folder, path: string, dryRun: boolean): Promise<void> {
  const parent = await findStats(dirname(path));
  if (!mayCreateFolder || !parent?.isDirectory()) {
    throw usageError(`there is no folder ${JSON.stringify(folder)}`, `make it first: mkdir -p ${shellWord(folder)}`);
  }
  if (dryRun) return;
  try {
    await mkdir(path);
  } catch (error) {
    if (getErrorCode(error) !== 'EEXIST')
      throw usageError(
        `cannot make the folder ${JSON.stringify(folder)}: ${describeWriteError(error)}`,
        undefined,
        error,
      );
  }
}

/** Checks the longest name that is likely, so that it does not fail after the request. */
async function checkNameLength(plan: OutputPlan, cwd: string): Promise<void> {
  const index = plan.kind === 'name' ? plan.count - 1 : 98;
  const longest = candidateNames(plan, { index, extension: plan.extension ?? 'webp', id: 'x'.repeat(40) })(0);
  if (longest) await findStats(resolve(cwd, longest.path));
}

async function checkName(name: string, { cwd, force, sidecar }: OutputCheck): Promise<void> {
  for (const path of sidecar ? [name, sidecarPath(name)] : [name]) {
    const entry = await lstat(resolve(cwd, path)).catch(ignoreMissingPath);
    if (!entry) continue;
    // A link is written through; a dangling one is replaced.
    const stats = (force ? await findStats(resolve(cwd, path)) : undefined) ?? entry;
    if (stats.isDirectory())
      throw settingError(`${JSON.stringify(path)} is a folder`, { reason: 'output-is-folder', value: path });
    if (!stats.isFile() && !stats.isSymbolicLink()) throw specialFile(path);
    if (!force) throw settingError(`${JSON.stringify(path)} already exists`, { reason: 'output-exists' });
  }
}

function specialFile(path: string): Error {
  return settingError(`${JSON.stringify(path)} is a device, a pipe or a socket`, { reason: 'output-device' });
}

/** The stats of a path, links followed; undefined if it does not exist. Throws GatewayError usage. */
function findStats(path: string): Promise<Stats | undefined> {
  return stat(path).catch(ignoreMissingPath);
}

function ignoreMissingPath(error: unknown): undefined {
  if (getErrorCode(error) === 'ENOENT') return undefined;
  throw settingError(describeWriteError(error), { reason: 'output', cause: error });
}

/** Options for publishing an image. */
interface PublishOptions extends Pick<Placing, 'linkFile'> {
  /** The folder for relative names. */
  cwd: string;
  /** Names that the user gave can replace a file. */
  force: boolean;
}

/** Number of names that other processes may take first. */
const maxTries = 1000;

/**
 * Gives a stored blob the first free name, and returns it. The file appears with all its bytes, and replaces another only if
 * the user gave the name and `force`. Throws GatewayError not-written: then the blob's own file still exists.
 */
export async function publishImage(blob: StoredBlob, names: CandidateNames, options: PublishOptions): Promise<string> {
  let last = '';
  let temp: string | undefined;
  let taken: Set<string> | undefined;
  try {
    for (let at = 0, tries = 0; tries < maxTries; tries++) {
      const name = names(at);
      if (name === undefined) break;
      last = name.path;
      const final = resolve(options.cwd, last);
      temp ??= await finishedFile(blob, dirname(final));
      const replace = name.given && options.force;
      if (await tryName(temp, final, { ...options, bytes: blob.bytes, replace })) return last;
      // A name that the list lacks can still be taken, by another process or in other letters: the write detects it.
      taken ??= new Set(await readdir(dirname(final)).catch(() => []));
      do at++;
      while (taken.has(basename(names(at)?.path ?? '')));
    }
    throw new GatewayError('not-written', `cannot write ${JSON.stringify(last)}: it already exists`, {
      sent: 'yes',
      retryable: false,
    });
  } catch (error) {
    throw notWritten(last, error);
  } finally {
    // A copy of bytes in memory, if it has no name; the blob's own file is kept for recovery.
    if (temp !== undefined && 'data' in blob.content) await removeFile(temp).catch(() => {});
  }
}

/** False if the name is taken. */
async function tryName(temp: string, final: string, placing: Placing): Promise<boolean> {
  try {
    await placeFile(temp, final, placing);
    return true;
  } catch (error) {
    if (getErrorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** The blob as a file with its final mode: its own, or a new one beside the final name for bytes in memory. */
async function finishedFile({ content }: StoredBlob, folder: string): Promise<string> {
  if ('data' in content) return writeTempFile(folder, (handle) => writeFully(handle, content.data, 0), { mode: 0o666 });
  await chmod(content.file, await newFileMode(folder));
  return content.file;
}

/** The name of an image's sidecar. */
function sidecarPath(imagePath: string): string {
  return `${imagePath}.json`;
}

/** Writes `<image>.json`. Replaces an existing file only with `force`. Throws GatewayError not-written. */
export function writeSidecar(
  imagePath: string,
  facts: JsonObject,
  place: { cwd: string; force: boolean },
): Promise<void> {
  return writeNewFile(sidecarPath(imagePath), (append) => append(`${JSON.stringify(facts, null, 2)}\n`), place);
}
