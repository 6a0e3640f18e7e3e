import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { afterOnClock } from '../../../src/library/clock.ts';
import type { AnswerContext } from '../../../src/cli/context.ts';
import { createUi } from '../../../src/cli/output/log.ts';
import { createStdin } from '../../../src/cli/input/stdin.ts';
import { chooseAnswers, type Counts, noLock, readFolder, type RetryWord } from '../../../src/batch/index.ts';
import { runJobFile } from '../../../src/cli/commands/batch/batch.ts';
import type { BatchFlags } from '../../../src/cli/commands/batch/flags.ts';
import { readFolders } from '../../../src/cli/commands/batch/folders.ts';
import { readReportRows } from '../../../src/cli/commands/batch/report-rows.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import type { Io, Output } from '../../../src/cli/terminal/io.ts';
import { type LeftFiles, type WatchedFolder } from './folder.ts';
import type { Asking, CountingGateway } from './gateway.ts';
import { type EditableTable, jobFlags } from './table.ts';

export interface RunPolicy {
  acceptChanges?: boolean | undefined;
  retry?: readonly RetryWord[] | undefined;
  redo?: readonly string[] | undefined;
  onlyNamed?: boolean | undefined;
  limit?: number | undefined;
  lane: 'live' | 'flex' | 'batch';
  noWait?: boolean | undefined;
  concurrency?: number | undefined;
  shard?: string | undefined;
}

interface RunOptions extends Pick<Asking, 'run' | 'folder' | 'random' | 'next'> {
  /** Where the table is. */
  cwd: string;
  gateway: CountingGateway;
  table: EditableTable;
  policy: RunPolicy;
  /** The step at which the process is killed. */
  kill: number | undefined;
}

/** How a run ended. `left`: it was killed, and this is there. */
export interface EngineEnd {
  left: LeftFiles | undefined;
  error: GatewayError | undefined;
  /** It was thrown before the run had begun. */
  isRefused: boolean;
  /** Every row has an answer that was made of those that count, and none waits for another one. */
  isWhole: boolean;
  steps: number;
}

const silent: Output = { isTTY: false, columns: 80, write: async () => undefined };

interface OpenContext {
  context: AnswerContext;
  close(): Promise<void>;
}

function openContext(cwd: string, env: Record<string, string>, signal: AbortSignal): OpenContext {
  const io: Io = {
    stdin: { kind: 'null', async *read() {} },
    stdout: silent,
    stderr: silent,
    env: { GATEWAY_CONFIG: join(cwd, 'no-config.json'), ...env },
    cwd,
    platform: 'linux',
    now: () => Date.now(),
    elapsed: () => performance.now(),
    after: afterOnClock,
    random: () => 0.5,
  };
  const cleanups: (() => Promise<void>)[] = [];
  const root = { quiet: true } as const;
  const context: AnswerContext = {
    command: 'batch run',
    argv: [],
    io,
    signal,
    gracePeriod: { ms: 0 },
    root,
    ui: createUi(io, root),
    stdin: createStdin(io),

    atEnd: (cleanup) => void cleanups.unshift(cleanup),
  };
  return {
    context,
    async close() {
      for (const cleanup of cleanups) await cleanup();
    },
  };
}

const notWhole = [
  'failed',
  'unknown',
  'pending',
  'again',
  'submitted',
  'waiting',
  'outdated',
] as const satisfies (keyof Counts)[];

/** One run of `batch` in this process. Where it is killed, it goes on with files that nobody looks at, and nothing that it asks arrives. */
export async function runEngine(options: RunOptions): Promise<EngineEnd> {
  const { cwd, folder, gateway, policy, table, kill, ...asking } = options;
  const controller = new AbortController();
  let steps = 0;
  let left: LeftFiles | undefined;
  const count = (): void => {
    if (left !== undefined || ++steps !== kill) return;
    left = folder.copy();
    controller.abort(new GatewayError('terminated', 'killed'));
  };
  const pass = (): void => {
    folder.pass();
    count();
  };
  const { words, flags } = jobFlags(table);
  const { noWait, redo, shard, ...same } = policy;
  const batchFlags = {
    ...flags,
    ...Object.fromEntries(Object.entries(same).filter(([, value]) => value !== undefined && value !== false)),
    output: folder.path,
    retries: 0,
    ...(policy.lane === 'batch' && noWait && { wait: false }),
    ...(redo && { redo: [...redo] }),
    ...(shard !== undefined && { shard }),
  } as BatchFlags;
  const env = { GATEWAY_BASE_URL: table.origin, GATEWAY_API_KEY: 'k', GATEWAY_FORMAT: 'completions' };
  const { context, close } = openContext(cwd, env, controller.signal);
  folder.open();
  const end = { error: undefined as GatewayError | undefined, isRefused: false, isWhole: false };
  try {
    const connection = gateway.connect({
      ...asking,
      folder,
      pass,
      isDead: () => left !== undefined,
      waits: !noWait,
    });
    const outcome = await runJobFile(words, batchFlags, context, {
      graceMs: 0,
      gatherMs: policy.lane === 'batch' ? 0 : undefined,
      unlistedMs: 0,
      connection,
      step: pass,
      watch(...what) {
        if (left !== undefined) return;
        folder.watch(...what);
        count();
      },
    });
    end.error = outcome.error as GatewayError | undefined;
    end.isWhole = notWhole.every((name) => !outcome.document?.[name]);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    Object.assign(end, { error, isRefused: true });
  } finally {
    await close();
    // The lane `batch` saves the memory of its process, which goes on here.
    for (const flag of ['--semi-space-growth-factor=2', '--no-optimize-for-size']) setFlagsFromString(flag);
  }
  return { ...end, left, steps };
}

/** Has another answer of a row count, if it has that. Returns its text, and those of all that was paid for the row. */
export async function choose(
  folder: WatchedFolder,
  { place, answer }: { place: number; answer: number },
): Promise<{ chosen: string; paid: string[] } | undefined> {
  if (!hasBatch(folder)) return undefined;
  const { state, lostEnds } = await readFolder(folder.path);
  const { atService, manifest, slots, takes } = state;
  if (place >= manifest.rows.size) return undefined;
  const slot = manifest.rows.slots[place] as number;
  const isThere = answer <= slots.answersOf(slot);
  const take = isThere && (takes.get(slot)?.[answer - 1] ?? slots.placeOf(slot));
  if (!take || atService.has(slot)) return undefined;
  const name = slots.nameOf(slot);
  await chooseAnswers(folder.path, [{ slot, answer }], { state, lostEnds, lock: noLock });
  folder.open();
  // Results that a kill left are synced before the journal has their ends.
  for (const file of lostEnds.length > 0 ? (['results', 'journal'] as const) : (['journal'] as const))
    folder.watch(file, 'synced', folder.read(`${file}.jsonl`).length);
  const results = folder.read('results.jsonl');
  const lines = results
    .toString()
    .split('\n')
    .filter((line) => line.includes(`"slot":"${name}"`));
  const textsIn = (text: string): string[] => /"text":"(answer \d+)"/.exec(text)?.slice(1) ?? [];
  const [chosen = ''] = textsIn(results.toString('utf8', take.off, take.off + take.len));
  return { chosen, paid: lines.flatMap(textsIn) };
}

/** Whether the first record of a run is there: one that is killed right after its table was written leaves no batch yet. */
export function hasBatch(folder: WatchedFolder): boolean {
  return /\{"t":"run".*\n/.test(folder.read('journal.jsonl').toString());
}

export interface ReportedRow {
  id: string;
  vars: unknown;
  state: string;
  /** Of its answer, or of what came in place of one. */
  text: string | undefined;
}

/** The report of a folder, or of those of all shards: the rows of one manifest with the answers of all. */
export async function report(folders: readonly WatchedFolder[]): Promise<ReportedRow[]> {
  const { context, close } = openContext('/', {}, new AbortController().signal);
  try {
    const known = await readFolders(
      folders.map(({ path }) => path),
      context,
    );
    const shown: ReportedRow[] = [];
    for await (const rows of readReportRows(known, {}))
      for (const { id, state, vars, text } of rows) shown.push({ id, state, vars, text });
    return shown;
  } finally {
    await close();
  }
}
