import { readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import {
  findOwn,
  isEnding,
  isObject,
  type JsonObject,
  type JsonValue,
  listEfforts,
  makeFolder,
  type ModelEfforts,
  type ModelEnd,
  type ModelFacts,
  parseObject,
  textField,
  writeAtomically,
} from '../../library/index.ts';
import { userFolders } from './config-file.ts';
import type { PartialSettings } from './types.ts';

/*
 * Facts that services told about their models, and lessons that they taught, are kept for a day: one file holds for each address
 * its facts by name, each with its time. The program works without them.
 */

const dayMs = 24 * 60 * 60 * 1000;

/** A file of another version is ignored. */
const version = 1;

/** The limit is larger than the lists of all services. */
const maxBytes = 16 * 1024 * 1024;

/** Shells insert a completed name as it is: a name that could be a command, or control the terminal, is never offered. */
const plainName = /^[A-Za-z0-9][\w.:/@+-]{0,199}$/;

/** The endpoint and profile that a memory belongs to. */
export type MemoryOwner = Pick<PartialSettings, 'baseUrl' | 'profile'>;

/**
 * Keeps facts of a service's list: the names, for completion and the hint of an unknown model, the ends of models, and their
 * efforts. Throws errors of the system.
 */
export async function keepModels(owner: MemoryOwner, models: readonly ModelFacts[], now: number): Promise<void> {
  const names = [...new Set(models.map(({ id }) => id))].filter(isPlainModelName);
  const ending = models.filter((model) => isEnding(model, now));
  const ends = ending.map(({ id, endsOn, lifecycle, successor }) => [id, { endsOn, lifecycle, successor }] as const);
  const efforts = models.flatMap(({ id, efforts: takes, thinkingOff: off }) => (takes ? [[id, { takes, off }]] : []));
  await remember(owner, 'models', { names, ends: Object.fromEntries(ends), efforts: Object.fromEntries(efforts) }, now);
}

/** The names that were kept within the last day; none if there is no such list, or it cannot be read. */
export async function readKeptModels(owner: MemoryOwner, now: number): Promise<string[]> {
  const names = (await readKeptList(owner, now))['names'];
  return Array.isArray(names) ? names.filter(isPlainModelName) : [];
}

/** The end of a model, by the list of the last day. */
export async function readKeptEnd(owner: MemoryOwner, model: string, now: number): Promise<ModelEnd | undefined> {
  const end = await readOfModel(owner, 'ends', model, now);
  if (end === undefined) return undefined;
  const texts = ['endsOn', 'lifecycle', 'successor'].map((key) => [key, textField(end, key)]);
  return { model, ...Object.fromEntries(texts.filter(([, text]) => text !== undefined)) };
}

/** The efforts of a model, by the list of the last day. */
export async function readKeptEfforts(
  owner: MemoryOwner,
  model: string,
  now: number,
): Promise<ModelEfforts | undefined> {
  const known = await readOfModel(owner, 'efforts', model, now);
  if (!Array.isArray(known?.['takes'])) return undefined;
  return { takes: listEfforts(known['takes']), off: known['off'] === 'between_tools' ? 'between_tools' : undefined };
}

async function readOfModel(
  owner: MemoryOwner,
  about: 'ends' | 'efforts',
  model: string,
  now: number,
): Promise<JsonObject | undefined> {
  const known = (await readKeptList(owner, now))[about];
  const id = model.replace(/^models\//, '');
  const found = isObject(known) ? findOwn(known, id) : undefined;
  return isObject(found) ? found : undefined;
}

async function readKeptList(owner: MemoryOwner, now: number): Promise<JsonObject> {
  const list = (await readFacts(owner, now)).get('models')?.value;
  return isObject(list) ? list : {};
}

/** The model that was chosen for a name within the last day. */
export async function readModelChoice(owner: MemoryOwner, name: string, now: number): Promise<string | undefined> {
  const choice = (await readFacts(owner, now)).get(`choice ${name}`)?.value;
  return typeof choice === 'string' ? choice : undefined;
}

/** Keeps a choice for a day. Throws errors of the system. */
export function keepModelChoice(owner: MemoryOwner, name: string, model: string, now: number): Promise<void> {
  return remember(owner, `choice ${name}`, model, now);
}

/** Whether the end of a model should be told: once a day. Throws errors of the system. */
export async function isFirstOfDay(owner: MemoryOwner, model: string, now: number): Promise<boolean> {
  const fact = `told ${model}`;
  if ((await readFacts(owner, now)).has(fact)) return false;
  await remember(owner, fact, true, now);
  return true;
}

/** The texts of an address by their names: lessons, and choices of models. */
export interface KeptTexts {
  get(name: string): string | undefined;
  set(name: string, text: string): void;
  /** Waits until all texts are in the file. */
  close(): Promise<void>;
}

/**
 * The texts of the last day. Those that `isKept` refuses are known as long as the program runs. A text that cannot be written is
 * told, and not remembered.
 */
export async function openTexts(
  owner: MemoryOwner,
  now: () => number,
  { isKept, tellUnkept }: { isKept(name: string, text: string): boolean; tellUnkept(error: Error): Promise<void> },
): Promise<KeptTexts> {
  const texts = new Map<string, string>();
  for (const [name, { value }] of await readFacts(owner, now()))
    if (typeof value === 'string' && isKept(name, value)) texts.set(name, value);
  let writing: Promise<void> = Promise.resolve();
  return {
    get: (name) => texts.get(name),
    set(name, text) {
      if (texts.get(name) === text) return;
      texts.set(name, text);
      if (isKept(name, text)) writing = writing.then(() => remember(owner, name, text, now())).catch(tellUnkept);
    },
    close: () => writing,
  };
}

function isPlainModelName(model: unknown): model is string {
  return typeof model === 'string' && plainName.test(model);
}

/** A remembered fact, and its time in ms since 1970. */
interface Fact {
  value: JsonValue;
  at: number;
}

/** The facts of an address that are not older than a day. */
async function readFacts(owner: MemoryOwner, now: number): Promise<Map<string, Fact>> {
  const address = addressOf(owner);
  return (address !== undefined && (await readMemory(now)).get(address)) || new Map<string, Fact>();
}

/** Adds a fact to the file. If two programs change the file at the same time, one may lose its fact. */
async function remember(owner: MemoryOwner, fact: string, value: unknown, now: number): Promise<void> {
  const [address, path] = [addressOf(owner), await findFile()];
  if (address === undefined || path === undefined) return;
  const memory = await readMemory(now);
  const facts = memory.get(address) ?? new Map<string, Fact>();
  memory.set(address, facts.set(fact, { value: value as JsonValue, at: now }));
  const addresses = [...memory].map(([known, of]) => [known, Object.fromEntries(of)]);
  const text = JSON.stringify({ version, addresses: Object.fromEntries(addresses) as object });
  // The folder is made only here: every answer reads the file, and few change it.
  await makeFolder(dirname(path), 0o700);
  await writeAtomically(path, (handle) => handle.writeFile(`${text}\n`));
}

/** The facts of the last day by address; nothing if the file cannot be read. */
async function readMemory(now: number): Promise<Map<string, Map<string, Fact>>> {
  try {
    const path = await findFile();
    if (path === undefined) return new Map();
    const stats = await stat(path);
    // Reading a named pipe would wait for ever.
    if (!stats.isFile() || stats.size > maxBytes) return new Map();
    const kept = parseObject(await readFile(path, 'utf8'));
    if (kept['version'] !== version || !isObject(kept['addresses'])) return new Map();
    return new Map(Object.entries(kept['addresses']).map(([address, facts]) => [address, readRecent(facts, now)]));
  } catch {
    return new Map();
  }
}

function readRecent(facts: JsonValue, now: number): Map<string, Fact> {
  const recent = Object.entries(isObject(facts) ? facts : {}).flatMap(([name, fact]): [string, Fact][] => {
    if (!isObject(fact) || fact['value'] === undefined) return [];
    const at = Number(fact['at']);
    // A time from the future does not count.
    return at <= now && now - at < dayMs ? [[name, { value: fact['value'], at }]] : [];
  });
  return new Map(recent);
}

/** The gateway and profile that facts belong to, since some facts are of an account. Nothing is remembered about the local gateway. */
function addressOf({ baseUrl, profile }: MemoryOwner): string | undefined {
  if (baseUrl === undefined) return undefined;
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}${profile === undefined ? '' : `#${profile}`}`;
}

async function findFile(): Promise<string | undefined> {
  const { cache } = await userFolders();
  return isAbsolute(cache) ? join(cache, 'memory.json') : undefined;
}
