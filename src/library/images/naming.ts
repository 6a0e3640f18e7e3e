import { basename, dirname, join, sep } from 'node:path';
import { usageError } from '../errors.ts';
import { sameExtension } from './image-type.ts';

/** The names of images, as far as they are known before the reply. */
export interface OutputPlan {
  /** `numbered`: image-1, image-2 …; `name`: the name that the user gave; `template`: a name with placeholders. */
  kind: 'numbered' | 'name' | 'template';
  /** The folder as the user wrote it; empty for the current one. */
  folder: string;
  /** The folder has a trailing slash: it is made if its parent exists. */
  mayCreateFolder: boolean;
  /** The name or template without extension; `image` if numbered. */
  stem: string;
  /** The extension of the user's name, without dot. */
  extension: string | undefined;
  /** The user's text. */
  output: string | undefined;
  /** Number of requested images, and so of names that the user gave. */
  count: number;
}

/** A name to try. */
interface CandidateName {
  /** The path relative to the current folder, for printing; absolute if the user's name was. */
  path: string;
  /** The user gave it: it can replace a file with `--force`, and no other name is tried. */
  given: boolean;
}

/** The names to try for one image, from 0 on; undefined after the last one. */
export type CandidateNames = (at: number) => CandidateName | undefined;

/** The facts that the names depend on. */
interface PlanFacts {
  /** Whether `output` is an existing folder. */
  isDirectory: boolean;
  count: number;
  prompt: string;
  model: string;
  /** `2026-11-20` */
  date: string;
}

/**
 * Plans the names. Throws GatewayError usage: a template with an unknown placeholder, or with a placeholder in its folder whose
 * value is unknown before the reply.
 */
export function planOutput(output: string | undefined, facts: PlanFacts): OutputPlan {
  const { count, isDirectory } = facts;
  const base = { mayCreateFolder: false, extension: undefined, output, count };
  if (output === undefined) return { ...base, kind: 'numbered', folder: '', stem: 'image' };
  if (isDirectory || endsWithSlash(output)) {
    const folder = isDirectory ? output : expandFolder(output, facts);
    return { ...base, kind: 'numbered', folder, stem: 'image', mayCreateFolder: endsWithSlash(output) };
  }
  const name = basename(output);
  const parent = dirname(output);
  // `./x` keeps its dot; a bare name has no folder.
  const folder = expandFolder(parent === '.' && !output.startsWith('.') ? '' : parent, facts);
  const { stem, extension } = name.endsWith(anyExtension)
    ? { stem: name.slice(0, -anyExtension.length), extension: undefined }
    : splitExtension(name);
  if (!isTemplate(name)) return { ...base, kind: 'name', folder, stem, extension };
  return { ...base, kind: 'template', folder, stem: expandTemplate(stem, knownValues(facts)), extension };
}

const anyExtension = '.{ext}';

/** The names to try for one image, in this order, until one is free. */
export function candidateNames(
  plan: OutputPlan,
  { index, extension, id = '' }: { index: number; extension: string; id?: string },
): CandidateNames {
  const actual = plan.extension !== undefined && sameExtension(plan.extension, extension) ? plan.extension : extension;
  if (plan.kind === 'numbered')
    return (at) => ({ path: inFolder(plan, `${plan.stem}-${index + 1 + at}.${actual}`), given: false });
  if (plan.kind === 'template') return templateNames(plan, { index, extension: actual, id });
  const given = index < plan.count && (plan.extension === undefined || actual === plan.extension);
  const second = Math.max(index + 2, plan.count + 1);
  return (at) => {
    if (at === 0) return { path: inFolder(plan, withNumber(plan.stem, index + 1, actual)), given };
    return given ? undefined : { path: inFolder(plan, withNumber(plan.stem, second + at - 1, actual)), given: false };
  };
}

/** The names that the user gave for the requested images, if the extension is known. */
export function givenNames(plan: OutputPlan, extension: string | undefined = plan.extension): string[] {
  if (plan.kind !== 'name' || extension === undefined) return [];
  return Array.from({ length: plan.count }, (_, index) => inFolder(plan, withNumber(plan.stem, index + 1, extension)));
}

function templateNames(
  plan: OutputPlan,
  { index, extension, id }: { index: number; extension: string; id: string },
): CandidateNames {
  const numbered = placeholdersIn(plan.stem).has('n');
  return (at) => {
    const n = index + 1 + at;
    const stem = expandTemplate(plan.stem, { n: String(n), id: fileWord(id), ext: extension });
    return { path: inFolder(plan, numbered ? `${stem}.${extension}` : withNumber(stem, n, extension)), given: false };
  };
}

function withNumber(stem: string, n: number, extension: string): string {
  return n === 1 ? `${stem}.${extension}` : `${stem}-${n}.${extension}`;
}

function inFolder({ folder }: OutputPlan, name: string): string {
  if (folder === '' || folder.endsWith('/') || folder.endsWith(sep)) return folder + name;
  return folder === '.' ? `.${sep}${name}` : join(folder, name);
}

function endsWithSlash(path: string): boolean {
  return path.endsWith('/') || path.endsWith(sep);
}

function expandFolder(folder: string, facts: PlanFacts): string {
  if (!isTemplate(folder)) return folder;
  for (const placeholder of placeholdersIn(folder)) {
    if (placeholder in knownValues(facts)) continue;
    throw usageError(
      `{${placeholder}} can be used only in the file's name, not in its folder`,
      'a folder may hold {slug}, {model} and {date}',
    );
  }
  return expandTemplate(folder, knownValues(facts));
}

function knownValues({ prompt, model, date }: PlanFacts): Record<string, string> {
  return { slug: toSlug(prompt), model: fileWord(model), date: fileWord(date) };
}

/** `cat.png` → cat, png. Version numbers (`v1.2`) and longer endings are part of the name. */
function splitExtension(name: string): { stem: string; extension: string | undefined } {
  const [, stem, extension] = /^(.+)\.([a-z][a-z0-9]{0,3})$/is.exec(name) ?? [];
  return stem === undefined ? { stem: name.replace(/\.$/, ''), extension } : { stem, extension };
}

const placeholders = ['n', 'slug', 'model', 'date', 'id', 'ext'];
const pattern = /\{([^{}/\\]{0,40})\}/g;

/** Whether a name has placeholders such as `{n}`. */
function isTemplate(name: string): boolean {
  return name.search(pattern) >= 0;
}

/** The placeholders of a template. Throws GatewayError usage for an unknown one. */
function placeholdersIn(template: string): Set<string> {
  const found = new Set(Array.from(template.matchAll(pattern), (match) => match[1] as string));
  const unknown = [...found].find((name) => !placeholders.includes(name));
  if (unknown === undefined) return found;
  throw usageError(
    `unknown placeholder {${unknown}}`,
    `use one of ${placeholders.map((name) => `{${name}}`).join(' ')}`,
  );
}

/** Replaces the placeholders that have a value; the values must be safe in file names. */
function expandTemplate(template: string, values: Readonly<Record<string, string>>): string {
  placeholdersIn(template);
  return template.replace(pattern, (whole, name: string) => values[name] ?? whole);
}

/** Names of devices on Windows, with any extension. */
const reserved = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;
const maxBytes = 60;
/** The rest of a longer prompt is ignored. */
const longestPrompt = 400;

/** A prompt as part of a file name: letters and digits of any script, joined by `-`, at most 60 bytes. */
export function toSlug(prompt: string): string {
  const words = prompt
    .slice(0, longestPrompt)
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-');
  return avoidReserved(cutToBytes(trimDashes(words), maxBytes)) || 'image';
}

/** The id of a job, model or reply as part of a file name: letters and digits of any script, `.`, `_` and `-`. */
export function fileWord(text: string): string {
  const word = text
    .slice(0, longestPrompt)
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '-');
  return avoidReserved(trimDashes(cutToBytes(word, maxBytes))) || 'unknown';
}

/** Cuts a text to a number of bytes of UTF-8, at a character. */
function cutToBytes(text: string, bytes: number): string {
  let size = 0;
  let cut = '';
  for (const char of text) {
    size += Buffer.byteLength(char);
    if (size > bytes) break;
    cut += char;
  }
  return trimDashes(cut);
}

function avoidReserved(word: string): string {
  return reserved.test(word.split('.', 1)[0] ?? '') ? `_${word}` : word;
}

/** Removes dots too: a file with a leading dot is hidden, and Windows ignores a trailing one. */
function trimDashes(text: string): string {
  return text.replaceAll(/^[-.]+|[-.]+$/g, '');
}
