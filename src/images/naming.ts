import { basename, dirname, join, sep } from 'node:path';
import { usageError } from '../errors.ts';
import { sameExtension } from './extension.ts';

/** Where pictures go, as far as that is known before the reply (`-o`). */
export interface OutputPlan {
  /** `numbered`: image-1, image-2 …; `name`: what the user named; `template`: the same for each picture. */
  kind: 'numbered' | 'name' | 'template';
  /** The folder as the user would write it; empty for the current one. */
  folder: string;
  /** The folder was named with a trailing slash: it is made where its parent exists. */
  mayCreateFolder: boolean;
  /** The name without extension, or the template of it; `image` where numbered. */
  stem: string;
  /** The extension that the user gave, without dot. */
  extension: string | undefined;
  /** What the user wrote. */
  output: string | undefined;
  /** How many pictures were asked for: so many names are the user's own. */
  count: number;
}

/** A name to try. */
interface CandidateName {
  /** Relative to the current folder, as it is printed; absolute where the user's was. */
  path: string;
  /** The user named it: with `--force` it may replace, without it nothing else is tried. */
  given: boolean;
}

/** The names to try for one picture, from 0 on; undefined behind the last one. */
export type CandidateNames = (at: number) => CandidateName | undefined;

/** What is known when the output is planned. */
export interface PlanFacts {
  /** Whether `output` is an existing folder. */
  isDirectory: boolean;
  count: number;
  prompt: string;
  model: string;
  /** `2026-11-20` */
  date: string;
}

/** Reads what the user named. Throws GatewayError usage: a template with an unknown placeholder, or one that is not known in time. */
export function planOutput(output: string | undefined, facts: PlanFacts): OutputPlan {
  const { count, isDirectory } = facts;
  const base = { mayCreateFolder: false, extension: undefined, output, count };
  if (output === undefined) return { ...base, kind: 'numbered', folder: '', stem: 'image' };
  if (isDirectory || endsWithSlash(output)) {
    const folder = isDirectory ? output : knownFolder(output, facts);
    return { ...base, kind: 'numbered', folder, stem: 'image', mayCreateFolder: endsWithSlash(output) };
  }
  const name = basename(output);
  const parent = dirname(output);
  // `./x` keeps its dot, as the user wrote it; a bare name has no folder.
  const folder = knownFolder(parent === '.' && !output.startsWith('.') ? '' : parent, facts);
  const { stem, extension } = name.endsWith(anyExtension)
    ? { stem: name.slice(0, -anyExtension.length), extension: undefined }
    : splitExtension(name);
  if (!isTemplate(name)) return { ...base, kind: 'name', folder, stem, extension };
  return { ...base, kind: 'template', folder, stem: expandTemplate(stem, knownValues(facts)), extension };
}

const anyExtension = '.{ext}';

/** The names to try for one picture, in this order, until one is free. */
export function candidateNames(
  plan: OutputPlan,
  { index, extension, id = '' }: { index: number; extension: string; id?: string },
): CandidateNames {
  const own = plan.extension !== undefined && sameExtension(plan.extension, extension) ? plan.extension : extension;
  if (plan.kind === 'numbered')
    return (at) => ({ path: place(plan, `${plan.stem}-${index + 1 + at}.${own}`), given: false });
  if (plan.kind === 'template') return templateNames(plan, { index, extension: own, id });
  const given = index < plan.count && (plan.extension === undefined || own === plan.extension);
  const second = Math.max(index + 2, plan.count + 1);
  return (at) => {
    if (at === 0) return { path: place(plan, withNumber(plan.stem, index + 1, own)), given };
    return given ? undefined : { path: place(plan, withNumber(plan.stem, second + at - 1, own)), given: false };
  };
}

/** Names that the user named for the pictures asked for, where the extension is known. */
export function givenNames(plan: OutputPlan, extension: string | undefined = plan.extension): string[] {
  if (plan.kind !== 'name' || extension === undefined) return [];
  return Array.from({ length: plan.count }, (_, index) => place(plan, withNumber(plan.stem, index + 1, extension)));
}

function templateNames(
  plan: OutputPlan,
  { index, extension, id }: { index: number; extension: string; id: string },
): CandidateNames {
  const numbered = placeholdersIn(plan.stem).has('n');
  return (at) => {
    const n = index + 1 + at;
    const stem = expandTemplate(plan.stem, { n: String(n), id: fileWord(id), ext: extension });
    return { path: place(plan, numbered ? `${stem}.${extension}` : withNumber(stem, n, extension)), given: false };
  };
}

function withNumber(stem: string, n: number, extension: string): string {
  return n === 1 ? `${stem}.${extension}` : `${stem}-${n}.${extension}`;
}

function place({ folder }: OutputPlan, name: string): string {
  if (folder === '' || folder.endsWith('/') || folder.endsWith(sep)) return folder + name;
  return folder === '.' ? `.${sep}${name}` : join(folder, name);
}

function endsWithSlash(path: string): boolean {
  return path.endsWith('/') || path.endsWith(sep);
}

function knownFolder(folder: string, facts: PlanFacts): string {
  if (!isTemplate(folder)) return folder;
  for (const placeholder of placeholdersIn(folder)) {
    if (placeholder in knownValues(facts)) continue;
    throw usageError(
      `{${placeholder}} can stand in the file's name only, not in its folder`,
      'a folder may hold {slug}, {model} and {date}',
    );
  }
  return expandTemplate(folder, knownValues(facts));
}

function knownValues({ prompt, model, date }: PlanFacts): Record<string, string> {
  return { slug: slugOf(prompt), model: fileWord(model), date: fileWord(date) };
}

/** `cat.png` → cat, png. Version numbers (`v1.2`) and longer endings belong to the name. */
function splitExtension(name: string): { stem: string; extension: string | undefined } {
  const match = /^(.+)\.([a-z][a-z0-9]{0,3})$/is.exec(name);
  if (!match?.[1] || !match[2]) return { stem: name.endsWith('.') ? name.slice(0, -1) : name, extension: undefined };
  return { stem: match[1], extension: match[2] };
}

const placeholders = ['n', 'slug', 'model', 'date', 'id', 'ext'];
const pattern = /\{([^{}/\\]{0,40})\}/g;

/** Whether a name holds placeholders such as `{n}`. */
function isTemplate(name: string): boolean {
  return name.search(pattern) >= 0;
}

/** The placeholders of a template. Throws GatewayError usage for one that there is not. */
function placeholdersIn(template: string): Set<string> {
  const found = new Set(Array.from(template.matchAll(pattern), (match) => match[1] as string));
  for (const name of found) {
    if (!placeholders.includes(name)) {
      throw usageError(
        `unknown placeholder {${name}}`,
        `use one of ${placeholders.map((known) => `{${known}}`).join(' ')}`,
      );
    }
  }
  return found;
}

/** Fills in the values that are given; other placeholders stay. Values are used as they are: make them safe first. */
function expandTemplate(template: string, values: Readonly<Record<string, string>>): string {
  placeholdersIn(template);
  return template.replace(pattern, (whole, name: string) => values[name] ?? whole);
}

/** Names that Windows gives to devices, with whatever extension. */
const reserved = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;
const mostBytes = 60;
/** Longer prompts are cut before they are looked at. */
const longestPrompt = 400;

/** A prompt as part of a file name: letters and digits of any script, joined by `-`, at most 60 bytes. */
export function slugOf(prompt: string): string {
  const words = prompt
    .slice(0, longestPrompt)
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-');
  return nameable(cutToBytes(trimDashes(words), mostBytes)) || 'image';
}

/** A model's or a reply's id as part of a file name: ASCII letters, digits, `.`, `_` and `-` only. */
export function fileWord(text: string): string {
  const word = text.slice(0, longestPrompt).replace(/[^A-Za-z0-9._-]+/g, '-');
  return nameable(trimDashes(cutToBytes(word, mostBytes))) || 'unknown';
}

/** Cuts a text to so many bytes of UTF-8 without cutting a character. */
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

/** No leading dot (hidden), no trailing dot and no device name (Windows). */
function nameable(word: string): string {
  return reserved.test(word.split('.', 1)[0] ?? '') ? `_${word}` : word;
}

function trimDashes(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && '-.'.includes(text[start] as string)) start++;
  while (end > start && '-.'.includes(text[end - 1] as string)) end--;
  return text.slice(start, end);
}
