import { access } from 'node:fs/promises';
import {
  type BatchHost,
  findImageName,
  type Job,
  type AnsweredParent,
  type JobProduct,
  type JobUse,
} from '../../../../batch/index.ts';
import { isObject, type JsonObject, usageError } from '../../../../library/index.ts';
import type { FetchedFile } from '../../../input/attachments.ts';
import type { Var } from '../../../flags/flag.ts';
import { joinIds } from '../next-command.ts';

/** A job's name for the text of another one: `{{@outline.text}}`. */
const textName = /\{\{[ \t]*@([^{}]+?)\.text[ \t]*\}\}/g;

/** A text that looks like such a name; a name in another form would be sent unchanged. */
const nearName = /(?<![${])\{\{[ \t]*@([^{}]*?)[ \t]*\}\}(?!\})/g;

const fileKeys = ['image', 'attach', 'mask'] as const;
const textKeys = ['prompt', 'system'] as const;

/**
 * The other jobs that a job uses: `"image": ["@hero"]`, or `{{@outline.text}}` in its prompt or its system instruction. Undefined
 * for most jobs.
 */
export function findUses({ values }: Pick<Job, 'values'>): JobUse[] | undefined {
  const texts = listTextNames({ values });
  if (texts.length === 0 && fileKeys.every((key) => values[key] === undefined)) return undefined;
  const words = fileKeys.flatMap((key) => [values[key] ?? []].flat()).filter(isReference);
  const pictures = words.map((word) => word.slice(1));
  const names = new Set([...pictures, ...texts]);
  const uses = [...names].map((name) => ({ name, text: texts.includes(name), picture: pictures.includes(name) }));
  return uses.length > 0 ? uses : undefined;
}

/** The texts of a job that can name others, by their keys. */
function listTexts(values: Job['values']): [key: string, text: string][] {
  if (values['vars'] === false) return [];
  return textKeys.flatMap((key) => {
    const text = values[key];
    return typeof text === 'string' && text.includes('{{') ? [[key, text]] : [];
  });
}

/** The jobs whose texts a job uses. */
function listTextNames({ values }: Pick<Job, 'values'>): string[] {
  return listTexts(values).flatMap(([, text]) => Array.from(text.matchAll(textName), ([, name = '']) => name));
}

/** Throws GatewayError usage for a text that looks like the text of another job and is not: it would be sent unchanged, and paid. */
export function refuseNearNames({ values }: Pick<Job, 'values'>): void {
  for (const [, text] of listTexts(values)) {
    const [near] = text.replaceAll(textName, '').matchAll(nearName);
    if (!near) continue;
    const [blank, inside = ''] = near;
    const name = inside.replace(/\.[a-z]*$/i, '') || 'id';
    const picture = `for its picture: "image":["@${name}"]; `;
    throw usageError(
      `${blank} is not the text of another job`,
      `for its text: {{@${name}.text}}; ${picture}to send it as it stands: "vars":false`,
    );
  }
}

export function productOf({ command, values }: Job): JobProduct {
  if (command.startsWith('image')) return 'pictures';
  // A body of the user's own can ask for pictures too.
  return ['body', 'set', 'tools'].some((key) => values[key] !== undefined) ? 'any' : 'text';
}

/** Throws GatewayError usage for a use that another job does not make: both jobs would be paid before that is found. */
export function requireUsable({ name, text, picture }: JobUse, product: JobProduct, place: string): void {
  if (text && product === 'pictures')
    throw usageError(
      `${place}: {{@${name}.text}}: ${name} makes pictures, and no text`,
      'name a job that answers in words',
    );
  if (picture && product === 'text')
    throw usageError(
      `${place}: @${name}: ${name} answers in words, and makes no picture`,
      `for its text: {{@${name}.text}}`,
    );
}

function isReference(word: unknown): word is string {
  return typeof word === 'string' && word.length > 1 && word.startsWith('@');
}

/** The address in place of the picture of a job until the picture is there. Nothing is fetched from such an address. */
const addressOf = (name: string): string => `https://job.invalid/${encodeURIComponent(name)}`;

/** The values of a job with other words in place of its names for other jobs. `text` also gets the whole blank in which a name is. */
function replaceNames(
  values: Job['values'],
  { file, text: fill }: { file: (name: string) => string; text: (name: string, blank: string) => string },
): Job['values'] {
  const replaced = { ...values };
  const replace = (word: unknown): unknown => (isReference(word) ? file(word.slice(1)) : word);
  for (const key of fileKeys) {
    const words = values[key];
    if (words !== undefined) replaced[key] = Array.isArray(words) ? words.map(replace) : replace(words);
  }
  for (const [key, text] of listTexts(values))
    replaced[key] = text.replaceAll(textName, (blank: string, name: string) => fill(name, blank));
  return replaced;
}

/** The job with inputs in place of its names for other jobs, so that a request can be built. Without `texts`, names for texts stay. */
export function fillReferences(job: Job, texts?: ReadonlyMap<string, string>): Job {
  const filled: Var[] = [];
  const values = replaceNames(job.values, {
    file: addressOf,
    text(name, blank) {
      const variable = `_result_${filled.length}`;
      filled.push({ name: variable, value: texts?.get(name) ?? blank });
      return `{{${variable}}}`;
    },
  });
  return { ...job, values: filled.length > 0 ? { ...values, var: filled } : values };
}

/** The job with numbers as its names for other jobs, in the order of these names, whatever the ids of the jobs are. */
export function nameByPlace(job: Job): Job {
  const places = new Map(job.uses?.map(({ name }, at) => [name, `@${at}`]));
  const values = replaceNames(job.values, {
    file: (name) => places.get(name) ?? '',
    text: (name, blank) => blank.replace(`@${name}`, () => places.get(name) ?? ''),
  });
  return { ...job, values };
}

/** Whether a prompt uses the text of another job. */
export function usesText(prompt: string): boolean {
  return listTextNames({ values: { prompt } }).length > 0;
}

/**
 * The results that a job uses, as inputs of its request. Throws GatewayError usage for a result that is missing, or lacks the used
 * text or picture.
 */
export async function readReferences(
  job: Job,
  read: (parent: AnsweredParent) => Promise<{ document: JsonObject; folder: string } | undefined>,
  { nextCommand }: Pick<BatchHost, 'nextCommand'>,
): Promise<{ files: [string, FetchedFile][]; texts: Map<string, string> }> {
  const files: [string, FetchedFile][] = [];
  const texts = new Map<string, string>();
  for (const parent of job.parents ?? []) {
    const { name, id, text: usesText, picture: usesPicture } = parent;
    const result = await read(parent);
    const redo = (name: string): string => nextCommand('redo', { operand: name });
    const { word, count } = joinIds([id, job.id]);
    const steps = count === 2 ? redo(word) : `${redo(id)} and then ${redo(job.id)}`;
    if (result === undefined)
      throw usageError(`the result of ${id} is not in results.jsonl any more; to make both again: ${steps}`);
    const { document, folder } = result;
    const { text, images } = document;
    if (usesText) {
      if (typeof text !== 'string' || text === '')
        throw usageError(`the result of ${id} has no text`, 'name a job that answers in words');
      texts.set(name, text);
    }
    if (!usesPicture) continue;
    const [first] = Array.isArray(images) ? images : [];
    const picture = isObject(first) ? findImageName(first['path']) : undefined;
    if (picture === undefined) throw usageError(`the result of ${id} has no picture`, 'name a job that makes one');
    const path = `${folder}/${picture}`;
    await access(path).catch((error: unknown) => {
      const what = `the picture of ${id} is not in images any more; to make both again: ${steps}`;
      throw usageError(what, undefined, error);
    });
    files.push([addressOf(name), { path, mimeType: undefined }]);
  }
  return { files, texts };
}
