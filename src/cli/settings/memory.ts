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

/** The facts of one address: what was told within the last day, before and since they were opened. */
export interface KeptFacts {
  get(name: string): JsonValue | undefined;
  /** The fact, if it is a text: a lesson, or the model that was chosen for a name (`choice <name>`). */
  getText(name: string): string | undefined;
  /** Keeps a fact for a day. Rejects with an error of the system if the file cannot be written. */
  set(name: string, value: JsonValue): Promise<void>;
}

/** Opens the facts of an address: none if they cannot be read. */
export async function openFacts(owner: MemoryOwner, now: () => number): Promise<KeptFacts> {
  const facts = await readFacts(owner, now());
  let written: Promise<unknown> = Promise.resolve();
  const get = (name: string): JsonValue | undefined => facts.get(name)?.value;
  return {
    get,
    getText(name) {
      const value = get(name);
      return typeof value === 'string' ? value : undefined;
    },
    set(name, value) {
      const fact = { value, at: now() };
      facts.set(name, fact);
      const writing = written.then(() => remember(owner, name, fact));
      written = writing.catch(() => undefined);
      return writing;
    },
  };
}

/**
 * Keeps facts of a service's list: the names, for completion and the hint of an unknown model, the ends of models, and their
 * efforts. Rejects with errors of the system.
 */
export function keepModels(facts: KeptFacts, models: readonly ModelFacts[], now: number): Promise<void> {
  const names = [...new Set(models.map(({ id }) => id))].filter(isPlainModelName);
  const ending = models.filter((model) => isEnding(model, now));
  const ends = ending.map(({ id, endsOn, lifecycle, successor }) => [id, { endsOn, lifecycle, successor }] as const);
  const efforts = models.flatMap(({ id, efforts: takes, thinkingOff: off }) => (takes ? [[id, { takes, off }]] : []));
  const list = { names, ends: Object.fromEntries(ends), efforts: Object.fromEntries(efforts) };
  return facts.set('models', list as JsonObject);
}

/** The names of the kept list. */
export function listKeptModels(facts: KeptFacts): string[] {
  const { names } = getKeptList(facts);
  return Array.isArray(names) ? names.filter(isPlainModelName) : [];
}

/** The end of a model, by the kept list. */
export function findKeptEnd(facts: KeptFacts, model: string): ModelEnd | undefined {
  const end = findOfModel(facts, 'ends', model);
  if (end === undefined) return undefined;
  const texts = ['endsOn', 'lifecycle', 'successor'].map((key) => [key, textField(end, key)]);
  return { model, ...Object.fromEntries(texts.filter(([, text]) => text !== undefined)) };
}

/** The efforts of a model, by the kept list. */
export function findKeptEfforts(facts: KeptFacts, model: string): ModelEfforts | undefined {
  const known = findOfModel(facts, 'efforts', model);
  if (!Array.isArray(known?.['takes'])) return undefined;
  return { takes: listEfforts(known['takes']), off: known['off'] === 'between_tools' ? 'between_tools' : undefined };
}

function findOfModel(facts: KeptFacts, about: 'ends' | 'efforts', model: string): JsonObject | undefined {
  const known = getKeptList(facts)[about];
  const id = model.replace(/^models\//, '');
  const found = isObject(known) ? findOwn(known, id) : undefined;
  return isObject(found) ? found : undefined;
}

function getKeptList(facts: KeptFacts): JsonObject {
  const list = facts.get('models');
  return isObject(list) ? list : {};
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
async function remember(owner: MemoryOwner, name: string, fact: Fact): Promise<void> {
  const [address, path] = [addressOf(owner), await findFile()];
  if (address === undefined || path === undefined) return;
  const memory = await readMemory(fact.at);
  const facts = memory.get(address) ?? new Map<string, Fact>();
  memory.set(address, facts.set(name, fact));
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
