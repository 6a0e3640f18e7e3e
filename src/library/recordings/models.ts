import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseObject } from '../json.ts';
import type { Use } from '../vendors/services.ts';
import { readRecordingLines } from './format.ts';
import { listFiles, listRequestFolders, readRecordings, type Recording } from './folder.ts';
import { findRequestModel } from './request-name.ts';

/** The variables that name the service whose format the recorded requests have, if that is not a gateway's. */
const serviceVariableNames = ['GATEWAY_SERVICE', 'GATEWAY_FORMAT'] as const;

/** The environment variables that name models. */
export const modelVariableNames = [
  'GATEWAY_MODEL',
  'GATEWAY_CHAT_MODEL',
  'GATEWAY_IMAGE_MODEL',
  'GATEWAY_EDIT_MODEL',
] as const;

/** A model for each use, if one is known. */
export type ModelsByUse = { [use in Use]?: string | undefined };

/** The file, in the folder of the recordings, with the variables of the recorded command. They are for `serve --replay`. */
const variablesFile = 'models.json';

/** Saves the variables with the recordings. Throws errors of the system. */
export async function saveVariables(folder: string, variables: Readonly<Record<string, string>>): Promise<void> {
  await writeFile(join(folder, variablesFile), `${JSON.stringify(variables, null, 2)}\n`, { mode: 0o600 });
}

/** The saved variables; undefined if there are none. */
export async function savedVariables(folder: string): Promise<Record<string, string> | undefined> {
  const saved = parseObject(await readFile(join(folder, variablesFile), 'utf8').catch(() => ''));
  const variables = [...modelVariableNames, ...serviceVariableNames].flatMap((name) => {
    const value = saved[name];
    return typeof value === 'string' && isVisible(value) ? [[name, value] as const] : [];
  });
  return variables.length === 0 ? undefined : Object.fromEntries(variables);
}

/** Whether a value is safe to show. Recordings can come from others: a line break in a model would make a new line in a list of variables. */
function isVisible(value: string): boolean {
  return /^[^\p{Cc}\u2028\u2029]+$/u.test(value);
}

/** The models of the recorded requests, each once. Throws GatewayError usage if there is no recording. */
export async function recordedModels(folder: string): Promise<string[]> {
  const recordings = await readAll(folder);
  return [...new Set(recordings.map(({ request: { path, body } }) => findRequestModel(path, body)))].filter(isVisible);
}

/** The first recorded model of each use: an image in the reply distinguishes images from text. */
export async function recordedModelsByUse(folder: string): Promise<ModelsByUse> {
  const found: ModelsByUse = {};
  for (const { path: file, request } of await readAll(folder)) {
    const use = await findRecordedUse(file, request);
    const model = findRequestModel(request.path, request.body);
    if (isVisible(model)) found[use] ??= model;
  }
  return found;
}

/** Reads all recordings of a folder. Throws GatewayError usage if there is none. */
async function readAll(folder: string): Promise<Recording[]> {
  const requests = await listRequestFolders(folder);
  return requests.flatMap((request) => readRecordings(listFiles(folder, request)));
}

async function findRecordedUse(file: string, { path, body }: { path: string; body: unknown }): Promise<Use> {
  if (!path.includes('/models/')) return 'chat';
  if (!(await repliesWithImage(file))) return 'text';
  return JSON.stringify(body).includes('"inlineData":') ? 'edit' : 'image';
}

async function repliesWithImage(file: string): Promise<boolean> {
  let lineNumber = 0;
  for await (const line of readRecordingLines(file)) if (++lineNumber > 1 && line.includes('inlineData')) return true;
  return false;
}
