import type { Stats } from 'node:fs';
import { lstat, mkdir, stat } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { codeOf, settingError, usageError } from '../errors.ts';
import { writeReason } from '../files/file-reason.ts';
import { shellWord } from '../shell-word.ts';
import { isImageExtension, knownExtensions, sameExtension } from './extension.ts';
import { candidateNames, givenNames, type OutputPlan } from './naming.ts';
import { newFileMode } from '../files/temp-file.ts';
import { sidecarPath } from './publish.ts';

/** How an output is checked. */
export interface OutputCheck {
  cwd: string;
  force: boolean;
  /** Sidecars will be written too. */
  sidecar?: boolean | undefined;
  /** Pictures that are sent: one of the same name and another type is no earlier output. */
  inputs?: readonly string[] | undefined;
  /** Nothing will be written: no folder is made. */
  dryRun?: boolean | undefined;
}

/**
 * Finds out whether a plan's names can be written, before the request is paid for; makes a folder that was named with a
 * slash. Throws GatewayError usage: a missing or read-only folder, names that are too long, taken, or no files.
 */
export async function checkOutput(plan: OutputPlan, options: OutputCheck): Promise<void> {
  const folder = resolve(options.cwd, plan.folder);
  await checkFolder(plan, folder, options);
  await checkLength(plan, options.cwd);
  if (plan.kind !== 'name') return;
  await checkLiteral(plan.output, options);
  // Without an extension the name is taken by a picture of any kind.
  const extensions = plan.extension === undefined ? knownExtensions() : [plan.extension];
  for (const extension of extensions) {
    for (const name of givenNames(plan, extension)) await checkName(name, options);
  }
  if (!options.force) await checkOtherTypes(plan, options);
}

/** `-o cat.png` is cat.jpg where a JPEG comes: an earlier one is found now, and not when the next is paid for. */
async function checkOtherTypes(plan: OutputPlan, { cwd, inputs = [] }: OutputCheck): Promise<void> {
  const { extension } = plan;
  if (extension === undefined || !isImageExtension(extension)) return;
  const sent = new Set(inputs.map((path) => resolve(cwd, path)));
  const others = knownExtensions().filter((other) => !sameExtension(other, extension));
  for (const name of others.flatMap((other) => givenNames(plan, other))) {
    if (sent.has(resolve(cwd, name)) || !(await find(resolve(cwd, name)))) continue;
    throw settingError(`${shown(name)} already exists, and its type decides the name of an image`, {
      reason: 'output-other-type',
      value: `${plan.stem}-2.${extension}`,
    });
  }
}

/** Whether a name is one for pictures: a folder, a template, or a file with the extension of an image. */
export async function isPicturePlace(output: string, cwd: string): Promise<boolean> {
  if (output === '' || output.includes('\0') || /[/\\]$|\{[^{}/\\]{0,40}\}/.test(output)) return true;
  if (isImageExtension(extname(output).slice(1))) return true;
  return (await find(resolve(cwd, output)))?.isDirectory() === true;
}

/** The same for a file of another kind, by its name. Throws GatewayError usage. */
export async function checkFile(path: string, options: OutputCheck): Promise<void> {
  const folder = dirname(path);
  await checkFolder({ folder, mayCreateFolder: false }, resolve(options.cwd, folder), options);
  if (path.endsWith('/') || (await find(resolve(options.cwd, path)))?.isDirectory())
    throw usageError(`${shown(path)} is a folder`, 'name a file in it');
  await checkName(path, options);
}

/**
 * Of a file that is gone at once, and was created exclusively: not worth the 2 ms that node:crypto costs every text. It looks
 * like any other nonce, so that what a killed run leaves is cleared.
 */
function passingName(): string {
  return Array.from({ length: 24 }, () => Math.floor(Math.random() * 16).toString(16)).join('');
}

type Folder = Pick<OutputPlan, 'folder' | 'mayCreateFolder'>;

async function checkFolder(plan: Folder, folder: string, { dryRun }: OutputCheck): Promise<void> {
  const stats = await find(folder);
  if (!stats) await makeFolder(plan, folder, dryRun === true);
  else if (!stats.isDirectory()) throw settingError(`${shown(plan.folder)} is not a folder`, { reason: 'output' });
  if (!stats && dryRun) return;
  try {
    await newFileMode(folder, passingName);
  } catch (error) {
    throw settingError(`cannot write into ${shown(plan.folder || '.')}: ${writeReason(error)}`, {
      reason: 'output-folder',
      cause: error,
    });
  }
}

async function makeFolder({ folder, mayCreateFolder }: Folder, path: string, dryRun: boolean): Promise<void> {
  const parent = await find(dirname(path));
  if (!mayCreateFolder || !parent?.isDirectory()) {
    throw usageError(`there is no folder ${shown(folder)}`, `make it first: mkdir -p ${shellWord(folder)}`);
  }
  if (dryRun) return;
  try {
    await mkdir(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST')
      throw usageError(`cannot make the folder ${shown(folder)}: ${writeReason(error)}`, undefined, error);
  }
}

/** A name of ordinary length must not fail when the picture is there. */
async function checkLength(plan: OutputPlan, cwd: string): Promise<void> {
  const index = plan.kind === 'name' ? plan.count - 1 : 98;
  const longest = candidateNames(plan, { index, extension: plan.extension ?? 'webp', id: 'x'.repeat(40) })(0);
  if (longest) await find(resolve(cwd, longest.path));
}

/** `/dev/null` and a FIFO name no file that could be written: refused, whatever their extension. */
async function checkLiteral(output: string | undefined, { cwd }: OutputCheck): Promise<void> {
  if (output === undefined) return;
  const stats = await find(resolve(cwd, output));
  if (stats && !stats.isFile() && !stats.isDirectory()) throw special(output);
}

async function checkName(name: string, { cwd, force, sidecar }: OutputCheck): Promise<void> {
  for (const path of sidecar ? [name, sidecarPath(name)] : [name]) {
    const stats = await lstat(resolve(cwd, path)).catch(ignoreMissing);
    if (!stats) continue;
    if (stats.isDirectory())
      throw settingError(`${shown(path)} is a folder`, { reason: 'output-is-folder', value: path });
    if (!stats.isFile() && !stats.isSymbolicLink()) throw special(path);
    if (!force) throw settingError(`${shown(path)} already exists`, { reason: 'output-exists' });
  }
}

function special(path: string): Error {
  return settingError(`${shown(path)} is a device, a pipe or a socket`, { reason: 'output-device' });
}

/** What is there, links followed; undefined when nothing is. Throws GatewayError usage when it cannot be known. */
async function find(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    return ignoreMissing(error);
  }
}

function ignoreMissing(error: unknown): undefined {
  if (codeOf(error) === 'ENOENT') return undefined;
  throw settingError(writeReason(error), { reason: 'output', cause: error });
}

function shown(path: string): string {
  return JSON.stringify(path);
}
