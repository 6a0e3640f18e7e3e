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
  /** The lines of a file of the batch's folder; of its results those that count. */
  lines(name: string, outdir?: string): Record<string, unknown>[];
  /** What the journal says of each job, by the ids of the table. */
  events(outdir?: string): { id: string; type: string }[];
  /** Leaves the folder as a run does that was killed before the ends of these jobs: neither results nor journal have them. */
  loseEnds(...ids: readonly string[]): void;
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
    lines(name, outdir = 'out') {
      const lines = readFileSync(join(cwd, outdir, name), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      return name === 'results.jsonl' ? countingResults(lines) : lines;
    },
    events(outdir = 'out') {
      const read = (name: string): Record<string, unknown>[] => this.lines(name, outdir);
      const ids = new Map(read('jobs.jsonl').map(({ slot, id }) => [slot, String(id)]));
      return read('journal.jsonl').flatMap(({ t, slot, slots = [slot], step }) =>
        t === 'run' || t === 'redo' || (t === 'batch' && step !== 'planned')
          ? []
          : (slots as unknown[]).map((one) => ({ id: ids.get(one) ?? String(one), type: String(t) })),
      );
    },
    loseEnds(...ids) {
      const places = new Map<string, { off: number; len: number }>();
      let kept = '';
      let [was, off] = [0, 0];
      for (const text of readFileSync(join(cwd, 'out/results.jsonl'), 'utf8').split(/(?<=\n)/)) {
        const len = Buffer.byteLength(text);
        if (!ids.includes(String((JSON.parse(text) as Record<string, unknown>)['id']))) {
          places.set(String(was), { off, len });
          kept += text;
          off += len;
        }
        was += len;
      }
      write('out/results.jsonl', kept);
      const journal = this.lines('journal.jsonl').flatMap((line) => {
        const record = { ...line };
        delete record['results'];
        if (record['off'] === undefined) return [record];
        const place = places.get(String(record['off']));
        return place ? [{ ...record, ...place }] : [];
      });
      writeLines('out/journal.jsonl', journal);
    },
    read: (name) => readFileSync(join(cwd, name), 'utf8'),
    ls: (path = 'out') => readdirSync(join(cwd, path)).toSorted(),
  };
}

/** What `--dry-run` shows of the first request of `manyJobs`. */
export const firstRequest = `
the first request, of p1:
${JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'p1' }] }] }, null, 2)}
`;

/** What `batch status out` says of answers beside those that count. */
export function earlierAnswers(count: number): string {
  const what = `${count} earlier answer${count === 1 ? '' : 's'} of jobs that were made again`;
  return `${what}: gateway-cli batch export out --all\n`;
}

/** A number of jobs with the ids and prompts `p1` … */
export function manyJobs(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({ id: `p${i + 1}`, prompt: `p${i + 1}` }));
}

/** Of each slot the last line, unless nothing came in place of an answer. */
function countingResults(lines: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  const counting = new Map<unknown, Record<string, unknown>>();
  for (const line of lines) {
    if (counting.get(line['slot'])?.['ok'] === true && line['ok'] !== true) continue;
    counting.delete(line['slot']);
    counting.set(line['slot'], line);
  }
  return [...counting.values()];
}
