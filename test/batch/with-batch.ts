import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { run, type Ran, type RunOptions } from '../helpers/run.ts';
import { canaryKey } from '../helpers/with-server.ts';
import { type CountingServer, startCountingServer } from './counting-server.ts';
import { scratchFolder } from '../helpers/scratch.ts';

/** The folder of one test, with a batch in it. */
export interface BatchFolder {
  cwd: string;
  /** Writes jobs.jsonl. */
  jobs(...jobs: readonly (object | string)[]): void;
  write(name: string, content: string | Uint8Array): void;
  /** Writes lines of JSON; a text is a line as it is. */
  writeLines(name: string, lines: readonly unknown[]): void;
  /** The lines of a file of the batch's folder. */
  lines(name: string, outdir?: string): Record<string, unknown>[];
  ls(path?: string): string[];
  read(name: string): string;
}

/** A test with a counting server, a folder, and a run of `batch` in it. */
export const test = base.extend<{
  server: CountingServer;
  folder: BatchFolder;
  batch: (argv?: readonly string[], options?: RunOptions) => Promise<Ran>;
}>({
  server: async ({}, use) => {
    const server = await startCountingServer();
    await use(server);
    await server.close();
  },
  folder: async ({}, use) => {
    await use(createFolder());
  },
  batch: async ({ server, folder }, use) => {
    await use((argv = [], options = {}) => {
      const env = { ...environmentFor(server), ...options.env };
      return run(['batch', ...(argv.length === 0 || argv[0]?.startsWith('--') ? jobsAndOut : []), ...argv], {
        ...options,
        env,
        cwd: folder.cwd,
      });
    });
  },
});

const jobsAndOut = ['jobs.jsonl', '-o', 'out'];

/** The settings that lead to a server. */
export function environmentFor({ url }: Pick<CountingServer, 'url'>): Record<string, string> {
  return { GATEWAY_BASE_URL: url, GATEWAY_API_KEY: canaryKey, GATEWAY_MODEL: 'm', GATEWAY_IMAGE_MODEL: 'm' };
}

export function createFolder(): BatchFolder {
  const cwd = scratchFolder();
  const write = (name: string, content: string | Uint8Array) => writeFileSync(join(cwd, name), content);
  const writeLines = (name: string, lines: readonly unknown[]) =>
    write(name, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  return {
    cwd,
    write,
    writeLines,
    jobs: (...jobs) => writeLines('jobs.jsonl', jobs),
    lines: (name, outdir = 'out') =>
      readFileSync(join(cwd, outdir, name), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    read: (name) => readFileSync(join(cwd, name), 'utf8'),
    ls: (path = 'out') => readdirSync(join(cwd, path)).toSorted(),
  };
}

/** What `--dry-run` shows of the first request of `manyJobs`. */
export const firstRequest = `
the first request, of p1:
${JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'p1' }] }] }, null, 2)}
`;

/** A number of jobs with the ids and prompts `p1` … */
export function manyJobs(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({ id: `p${i + 1}`, prompt: `p${i + 1}` }));
}
