import { dirname, isAbsolute, join } from 'node:path';
import { readFile, stat } from 'node:fs/promises';
import { isObject, parseObject } from '../json.ts';
import { userFolders } from './config-file.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** More than all lessons of one address. */
const maxBytes = 256 * 1024;

/** One lesson, and when it was learnt, in ms since 1970. */
interface KeptLesson {
  lesson: string;
  at: number;
}

/** The lessons of one address, and of one profile: some are of an account. */
export interface KeptLessons {
  readonly size: number;
  get(name: string): string | undefined;
  set(name: string, lesson: string): void;
  /** Waits until what was learnt is in the file. */
  close(): Promise<void>;
}

/** What the service at a base URL taught, kept for a day beside the names of its models. Trouble with the file is none. */
export async function openLessons(
  baseUrl: string,
  profile: string | undefined,
  now: () => number,
): Promise<KeptLessons> {
  const { origin, pathname } = new URL(baseUrl);
  const address = `${origin}${pathname}${profile === undefined ? '' : `#${profile}`}`;
  const path = await findFile(address);
  const lessons = new Map(await readLessons(path, { address, now: now() }));
  let writing: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    if (path === undefined) return;
    // Loaded for a lesson alone: few runs learn one.
    const { makeFolder, writeAtomically } = await import('../files/temp-file.ts');
    await makeFolder(dirname(path), 0o700);
    const text = JSON.stringify({ address, lessons: Object.fromEntries(lessons) });
    await writeAtomically(path, (handle) => handle.writeFile(`${text}\n`));
  };
  return {
    get size() {
      return lessons.size;
    },
    get: (name: string) => lessons.get(name)?.lesson,
    set(name: string, lesson: string) {
      if (lessons.get(name)?.lesson === lesson) return;
      lessons.set(name, { lesson, at: now() });
      writing = writing.then(write).catch(() => undefined);
    },
    close: () => writing,
  };
}

async function readLessons(
  path: string | undefined,
  { address, now }: { address: string; now: number },
): Promise<[string, KeptLesson][]> {
  try {
    if (path === undefined) return [];
    const stats = await stat(path);
    // Reading a named pipe would wait for ever.
    if (!stats.isFile() || stats.size > maxBytes) return [];
    const kept = parseObject(await readFile(path, 'utf8'));
    if (kept['address'] !== address || !isObject(kept['lessons'])) return [];
    return Object.entries(kept['lessons']).flatMap(([name, one]) => {
      if (!isObject(one)) return [];
      const { lesson, at } = one;
      const ageMs = now - Number(at);
      const isRecent = ageMs >= 0 && ageMs < dayMs;
      return typeof lesson === 'string' && isRecent ? [[name, { lesson, at: Number(at) }] as [string, KeptLesson]] : [];
    });
  } catch {
    return [];
  }
}

/** One file for each address, which is in it: two can have the same name. */
async function findFile(address: string): Promise<string | undefined> {
  const { cache } = await userFolders();
  const name = address.replaceAll(/[^\w.-]+/g, '_').slice(0, 120);
  return isAbsolute(cache) ? join(cache, 'lessons', `${name}.json`) : undefined;
}
