import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseObject } from '../json.ts';
import { readLines } from './format.ts';
import { listHeads } from './recording-index.ts';

/** The environment variables that name models (README). */
export const modelVariableNames = [
  'GATEWAY_MODEL',
  'GATEWAY_CHAT_MODEL',
  'GATEWAY_IMAGE_MODEL',
  'GATEWAY_EDIT_MODEL',
] as const;

/** The models of the four uses, as far as they are known. */
export interface ModelsByUse {
  text?: string | undefined;
  chat?: string | undefined;
  image?: string | undefined;
  edit?: string | undefined;
}

/** Which models the commands were told while a folder was recorded; beside the recordings, for `serve --replay`. */
const fileName = 'models.json';

/** Keeps the variables with the recordings. Throws what the system says. */
export async function keepVariables(folder: string, variables: Readonly<Record<string, string>>): Promise<void> {
  await writeFile(join(folder, fileName), `${JSON.stringify(variables, null, 2)}\n`, { mode: 0o600 });
}

/** The variables that were kept; undefined where there are none. */
export async function keptVariables(folder: string): Promise<Record<string, string> | undefined> {
  const text = await readFile(join(folder, fileName), 'utf8').catch(() => undefined);
  const kept = text === undefined ? {} : parseObject(text);
  const variables = modelVariableNames.flatMap((name) => {
    const value = kept[name];
    return typeof value === 'string' && /^[^\p{Cc}]+$/u.test(value) ? [[name, value] as const] : [];
  });
  return variables.length === 0 ? undefined : Object.fromEntries(variables);
}

/** The models of the recorded requests, each once. Throws GatewayError usage where there is no recording. */
export async function recordedModels(folder: string): Promise<string[]> {
  const heads = await listHeads(folder);
  return [...new Set(heads.map(({ request: { path, body } }) => modelOf(path, body)))].filter((model) => model !== '');
}

/** For each use the first model that was recorded for it: a picture in the reply tells images from text. */
export async function recordedByUse(folder: string): Promise<ModelsByUse> {
  const found: ModelsByUse = {};
  for (const { path: file, request } of await listHeads(folder)) {
    const use = await useOf(file, request);
    found[use] ??= modelOf(request.path, request.body) || undefined;
  }
  return found;
}

async function useOf(file: string, { path, body }: { path: string; body: unknown }): Promise<keyof ModelsByUse> {
  if (!path.includes('/models/')) return 'chat';
  if (!(await repliesWithImage(file))) return 'text';
  return JSON.stringify(body).includes('"inlineData":') ? 'edit' : 'image';
}

async function repliesWithImage(file: string): Promise<boolean> {
  let number = 0;
  for await (const line of readLines(file)) if (++number > 1 && line.includes('inlineData')) return true;
  return false;
}

/** The model that a recorded request names, or ''. */
export function modelOf(path: string, body: unknown): string {
  const [, model] = /\/models\/([^/?]+):[A-Za-z]+/.exec(path) ?? [];
  if (model !== undefined) return decodeURIComponent(model);
  const named = isObject(body) ? body['model'] : undefined;
  return typeof named === 'string' ? named : '';
}
