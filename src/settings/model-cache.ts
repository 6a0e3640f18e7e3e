import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { makeFolder, writeAtomically } from '../files/temp-file.ts';
import { parseObject } from '../json.ts';
import { userFolders } from './config-file.ts';
import type { PartialSettings } from './types.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** More than any list that is kept. */
const maxBytes = 4 * 1024 * 1024;

/** Shells insert a completed name as it is: one that could be a command, or control the terminal, is never offered. */
const plainName = /^[A-Za-z0-9][\w.:/@+-]{0,199}$/;

/** Whose list it is. */
export type ListOwner = Pick<PartialSettings, 'baseUrl' | 'profile'>;

/** Keeps the names that a service offers, for completion and the hint of an unknown model. Throws errors of the system. */
export async function cacheModels(owner: ListOwner, models: readonly string[], now: number): Promise<void> {
  const path = await findCacheFile(owner);
  if (path === undefined) return;
  await makeFolder(dirname(path), 0o700);
  await writeAtomically(path, (handle) =>
    handle.writeFile(`${JSON.stringify({ at: now, models: models.filter(isPlainModelName) })}\n`),
  );
}

/** The names that were kept within the last day; none if there is no such list, or it cannot be read. */
export async function readCachedModels(owner: ListOwner, now: number): Promise<string[]> {
  try {
    const path = await findCacheFile(owner);
    if (path === undefined) return [];
    const stats = await stat(path);
    // Reading a named pipe would wait for ever.
    if (!stats.isFile() || stats.size > maxBytes) return [];
    const { at, models } = parseObject(await readFile(path, 'utf8'));
    const ageMs = now - Number(at);
    // A list from the future does not count.
    return Array.isArray(models) && ageMs >= 0 && ageMs < dayMs ? models.filter(isPlainModelName) : [];
  } catch {
    return [];
  }
}

function isPlainModelName(model: unknown): model is string {
  return typeof model === 'string' && plainName.test(model);
}

/** One file for each gateway and profile; their names are not in its own. No list is kept of the local gateway. */
async function findCacheFile({ baseUrl, profile }: ListOwner): Promise<string | undefined> {
  if (baseUrl === undefined) return undefined;
  const { origin, pathname } = new URL(baseUrl.value);
  const { cache } = await userFolders();
  const owner = JSON.stringify([origin, pathname, profile?.value]);
  const name = createHash('sha256').update(owner).digest('hex').slice(0, 32);
  return isAbsolute(cache) ? join(cache, 'models', `${name}.json`) : undefined;
}
