import { readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { isObject, type JsonObject, type JsonValue, objectField, parseObject, textField } from '../json.ts';
import { listEfforts, type ModelEfforts } from '../vendors/effort.ts';
import { type ModelEnd, type ModelFacts, isEnding } from '../vendors/model-rules.ts';
import { userFolders } from './config-file.ts';
import type { PartialSettings } from './types.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** More than any list that is kept. */
const maxBytes = 4 * 1024 * 1024;

/** Shells insert a completed name as it is: one that could be a command, or control the terminal, is never offered. */
const plainName = /^[A-Za-z0-9][\w.:/@+-]{0,199}$/;

/** Whose list it is. */
export type ListOwner = Pick<PartialSettings, 'baseUrl' | 'profile'>;

/**
 * Keeps a list that a service gave: the names, for completion and the hint of an unknown model, which of them end, and which
 * efforts they take.
 * Throws errors of the system.
 */
export async function cacheModels(owner: ListOwner, models: readonly ModelFacts[], now: number): Promise<void> {
  const names = [...new Set(models.map(({ id }) => id))].filter(isPlainModelName);
  const ending = models.filter((model) => isEnding(model, now));
  const ends = ending.map(({ id, endsOn, lifecycle, successor }) => [id, { endsOn, lifecycle, successor }] as const);
  const efforts = models.flatMap(({ id, efforts: takes, thinkingOff: off }) => (takes ? [[id, { takes, off }]] : []));
  await changeFile(owner, { at: now, models: names, ends: toOptional(ends), efforts: toOptional(efforts) });
}

/** The names that were kept within the last day; none if there is no such list, or it cannot be read. */
export async function readCachedModels(owner: ListOwner, now: number): Promise<string[]> {
  const { at, models } = await readFileOf(owner);
  return Array.isArray(models) && isOfToday(at, now) ? models.filter(isPlainModelName) : [];
}

/** What the list of the last day says of the end of a model. */
export async function readCachedEnd(owner: ListOwner, model: string, now: number): Promise<ModelEnd | undefined> {
  const { at, ends } = await readFileOf(owner);
  const id = model.replace(/^models\//, '');
  const end = isObject(ends) && Object.hasOwn(ends, id) ? ends[id] : undefined;
  if (!isObject(end) || !isOfToday(at, now)) return undefined;
  const texts = ['endsOn', 'lifecycle', 'successor'].map((key) => [key, textField(end, key)]);
  return { model, ...Object.fromEntries(texts.filter(([, text]) => text !== undefined)) };
}

/** What the list of the last day says of the efforts of a model. */
export async function readCachedEfforts(
  owner: ListOwner,
  model: string,
  now: number,
): Promise<ModelEfforts | undefined> {
  const { at, efforts } = await readFileOf(owner);
  const id = model.replace(/^models\//, '');
  const known = isObject(efforts) && Object.hasOwn(efforts, id) ? efforts[id] : undefined;
  if (!isObject(known) || !Array.isArray(known['takes']) || !isOfToday(at, now)) return undefined;
  return { takes: listEfforts(known['takes']), off: known['off'] === 'between_tools' ? 'between_tools' : undefined };
}

function toOptional(entries: readonly (readonly unknown[])[]): object | undefined {
  return entries.length > 0 ? (Object.fromEntries(entries) as object) : undefined;
}

/** The model that was chosen for a name within the last day. */
export async function readModelChoice(owner: ListOwner, name: string, now: number): Promise<string | undefined> {
  const choice = objectField(objectField(await readFileOf(owner), 'choices') ?? {}, name);
  return choice && isOfToday(choice['at'], now) ? textField(choice, 'model') : undefined;
}

/** Keeps a choice for a day. Throws errors of the system. */
export async function keepModelChoice(owner: ListOwner, name: string, model: string, now: number): Promise<void> {
  const { choices } = await readFileOf(owner);
  await changeFile(owner, { choices: { ...(isObject(choices) && choices), [name]: { model, at: now } } });
}

/** Whether the end of a model is to be told: once a day. Throws errors of the system. */
export async function isFirstOfDay(owner: ListOwner, model: string, now: number): Promise<boolean> {
  const told = objectField(await readFileOf(owner), 'told') ?? {};
  if (isOfToday(Object.hasOwn(told, model) ? told[model] : undefined, now)) return false;
  const others = Object.entries(told).filter(([, at]) => isOfToday(at, now));
  await changeFile(owner, { told: { ...Object.fromEntries(others), [model]: now } });
  return true;
}

/** A time from the future does not count. */
function isOfToday(at: JsonValue | undefined, now: number): boolean {
  const ageMs = now - Number(at ?? NaN);
  return ageMs >= 0 && ageMs < dayMs;
}

function isPlainModelName(model: unknown): model is string {
  return typeof model === 'string' && plainName.test(model);
}

/** What is kept of a gateway; nothing if it cannot be read. */
async function readFileOf(owner: ListOwner): Promise<JsonObject> {
  try {
    const path = await findCacheFile(owner);
    if (path === undefined) return {};
    const stats = await stat(path);
    // Reading a named pipe would wait for ever.
    if (!stats.isFile() || stats.size > maxBytes) return {};
    return parseObject(await readFile(path, 'utf8'));
  } catch {
    return {};
  }
}

/** Of two programs that change the file at the same time, one may lose what it kept. */
async function changeFile(owner: ListOwner, change: Record<string, unknown>): Promise<void> {
  const path = await findCacheFile(owner);
  if (path === undefined) return;
  const kept = await readFileOf(owner);
  // Every answer looks into the file, and few change it.
  const { makeFolder, writeAtomically } = await import('../files/temp-file.ts');
  await makeFolder(dirname(path), 0o700);
  await writeAtomically(path, (handle) => handle.writeFile(`${JSON.stringify({ ...kept, ...change })}\n`));
}

/** One file for each gateway and profile; their names are not in its own. No list is kept of the local gateway. */
async function findCacheFile({ baseUrl, profile }: ListOwner): Promise<string | undefined> {
  if (baseUrl === undefined) return undefined;
  const { origin, pathname } = new URL(baseUrl.value);
  const { cache } = await userFolders();
  const owner = JSON.stringify([origin, pathname, profile?.value]);
  return isAbsolute(cache) ? join(cache, 'models', `${toFileName(owner)}.json`) : undefined;
}

/** Two hashes by FNV-1a: every answer looks for this file, and node:crypto would take it 2 ms. */
function toFileName(text: string): string {
  let [one, other] = [0x811c9dc5, 0x01000193];
  for (const byte of Buffer.from(text)) {
    one = Math.imul(one ^ byte, 0x01000193);
    other = Math.imul(other ^ byte, 0x0100018d);
  }
  return Buffer.from(Uint32Array.of(one, other).buffer).toString('hex');
}
