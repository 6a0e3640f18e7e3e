import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import {
  batchFiles,
  type BatchState,
  formatCount,
  type Counts,
  countAside,
  describeRun,
  describeTimes,
  findWithoutImage,
  type JobError,
  listOpenProviderBatches,
  listWaiting,
  type ProviderBatch,
  unanswered,
} from '../../batch/index.ts';
import { describeNext, describeStates, listLeftToRedo, listStates, type StateRows } from './states.ts';
import {
  countKept,
  describeAside,
  describeFailures,
  describeSpending,
  keptHint,
  missingImageStep,
  spentLimit,
  summaryDocument,
} from './summary.ts';
import { isObject, type JsonObject, parseObject } from '../../json.ts';
import { outcomes } from '../../errors.ts';
import { escapeLine } from '../../terminal/escape.ts';
import { isoTime } from '../../clock.ts';
import { shellWord } from '../../shell-word.ts';
import { type BatchFolder, countFolder, countFolders, joinStates, nameFailures, readFolders } from './folders.ts';
import type { Action, Context, CommandOutcome } from '../../cli/context.ts';
import { setExamples } from '../../cli/flags/flag.ts';
import { append } from '../../long-lists.ts';

/** At most this many failures are named. */
const maxShown = 20;

/** `batch status <outdir…>`: the state of a batch, while it runs and after. */
export function batchStatusCommand(command: Command): Action {
  command.argument('<outdir...>', 'folder of a batch, or the folders of its shards').usage('<outdir…> [flags]');
  setExamples(command, [
    'gateway-cli batch status out',
    'gateway-cli batch status out-1 out-2 out-3 out-4     # the shards together',
    'gateway-cli batch status out --json | jq .done',
  ]);
  return (context, words) => runStatus(words, context);
}

async function runStatus(names: readonly string[], context: Context): Promise<CommandOutcome> {
  const folders: FolderStatus[] = [];
  const ids = new Map<string, string>();
  const read = await readFolders(names, context, ({ slot, id }) => void ids.set(slot, id));
  for (const one of read) folders.push(await readStatus(one, ids));
  const states = folders.map(({ state }) => state);
  const counts = countFolders(folders);
  const joined = joinStates(states);
  const running = folders.find((one) => one.holder)?.holder;
  const failures = new Map(folders.flatMap(listToldFailures));
  const outdir = names[0] as string;
  const table =
    folders.length === 1
      ? (folders[0] as FolderStatus).states
      : listStates(counts).map((one) => ({ ...one, next: undefined }));
  // This command succeeded, even if jobs failed: the document has the exit code of the process.
  const facts = { ...joined, counts, states: table, skipped: 0, outdir, failures, exitCode: outcomes.ok.code };
  const summary = summaryDocument(facts);
  const ended = folders.find((one) => one.lastError)?.lastError;
  const missingPictures = folders.flatMap((one) => one.missingPictures);
  const aside = states.reduce((sum, state) => sum + countAside(state), 0);
  const document = {
    ...summary,
    ...(folders.length > 1 && { outdir: undefined, folders: folders.map(describeFolder) }),
    ...(ended && { lastError: ended }),
    running: running && { pid: running.pid, host: running.host },
    ...toAtService(states),
    ...(missingPictures.length > 0 && { missingPictures }),
    ...(aside > 0 && { aside }),
  };
  if (context.root.json) return { document };
  const lines = [`${formatCount(counts.jobs, 'job')}: ${describeStates(table)}`];
  if (folders.length > 1)
    append(
      lines,
      folders.map((one) => `${one.name}: ${describeStates(one.states)}`),
    );
  for (const { name, holder: by } of folders) {
    const it = folders.length > 1 ? name : 'it';
    if (by) lines.push(`${describeRun(by)} works on ${it}; what is unknown may be in flight`);
  }
  for (const state of states)
    append(
      lines,
      listOpenProviderBatches(state).map((providerBatch) =>
        describeProviderBatch(providerBatch, state, context.io.now()),
      ),
    );
  const told = [
    describeSpending(joined.spending),
    ...folders.map((one) =>
      missingImageStep(one.missingPictures, one.state.manifest.header?.linked === true, one.name),
    ),
    aside > 0 && describeAside(aside, names),
  ];
  append(
    lines,
    told.flatMap((line) => line || []),
  );
  const results = folders.map(({ name }) => shellWord(join(name, batchFiles.results))).join(', ');
  append(lines, describeFailures(failures, { counts, most: maxShown, results }));
  if (!running) {
    const { message, hint } = (counts.pending > 0 && ended) || {};
    const kept = await keptHint(
      counts,
      joined.beganAt,
      folders.map(({ folder }) => folder),
    );
    if (typeof message === 'string' && ended?.['class'] !== 'batch-failed') lines.push(`last run: ${message}`);
    if (kept !== undefined) lines.push(kept);
    append(lines, typeof hint === 'string' ? hint.split('\n') : folders.flatMap((one) => describeNext(one.states)));
  }
  const { stdout } = context.io;
  await stdout.write(lines.map((line) => `${stdout.isTTY ? escapeLine(line) : line.replaceAll('\n', ' ')}\n`).join(''));
  return { document };
}

interface FolderStatus extends BatchFolder {
  counts: Counts;
  failures: [string, JobError][];
  /** Ids of jobs whose images were removed. */
  missingPictures: string[];
  states: readonly StateRows[];
  lastError: JsonObject | undefined;
}

async function readStatus(one: BatchFolder, ids: ReadonlyMap<string, string>): Promise<FolderStatus> {
  const { folder, holder, name, state } = one;
  const { slots } = state;
  const counts = countFolder(one);
  const nameSlot = (slot: number): string => ids.get(slots.nameOf(slot)) ?? slots.nameOf(slot);
  const { error, waiting } = holder ? {} : await lastSummary(folder, counts);
  const { rows } = state.manifest;
  const redo = listLeftToRedo(rows, state, (place) => one.others[place] === 0);
  const gone = new Set(await findWithoutImage(folder, state));
  const wanted = rows.slots.subarray(0, rows.size);
  const byId = new Map([...state.failures.keys()].map((slot) => [slot, nameSlot(slot)]));
  const failures = nameFailures(one, byId);
  return {
    ...one,
    counts,
    failures,
    missingPictures: Array.from(
      wanted.filter((slot) => gone.has(slot)),
      nameSlot,
    ),
    // Jobs that wait for others are known if the last run came to its end: only a run knows.
    states: listStates(typeof waiting === 'number' ? { ...counts, waiting } : counts, {
      outdir: state.manifest.header?.command && name,
      spent: spentLimit(state),
      wasBilled: failures.some(([, { billed }]) => billed === 'yes'),
      kept: countKept(state),
      leftToRedo: redo.map((place) => nameSlot(rows.slots[place] as number)),
    }),
    lastError: isObject(error) ? error : undefined,
  };
}

/** While it runs, it is unknown which of its jobs are still in flight. */
function listToldFailures({ failures, holder }: FolderStatus): [string, JobError][] {
  return failures.filter(([, error]) => !holder || error !== unanswered);
}

function describeFolder({ name, counts, states, holder }: FolderStatus): object {
  return { outdir: name, ...counts, states, running: holder && { pid: holder.pid, host: holder.host } };
}

/** The summary of the last run; empty if it wrote none, or if jobs have ended since. */
async function lastSummary(folder: string, counts: Counts): Promise<JsonObject> {
  const text = await readFile(join(folder, batchFiles.summary), 'utf8').catch(() => '');
  const summary = parseObject(text);
  const names = ['done', 'failed', 'unknown', 'pending'] as const;
  return names.every((name) => summary[name] === counts[name]) ? summary : {};
}

/** What batches of the service hold. */
function toAtService(states: readonly BatchState[]): object {
  const open = states.flatMap((state) =>
    listOpenProviderBatches(state).map((providerBatch) => ({ part: providerBatch, state })),
  );
  const parts = open.map(({ part: providerBatch, state }) => ({
    batch: providerBatch.batch,
    mark: providerBatch.mark,
    model: providerBatch.plan.model,
    jobs: listWaiting(providerBatch, state).length,
    submittedAt: isoTime(providerBatch.at),
    expiresAt: providerBatch.lastsMs === undefined ? undefined : isoTime(providerBatch.at + providerBatch.lastsMs),
  }));
  return parts.length === 0 ? {} : { atService: parts };
}

function describeProviderBatch(providerBatch: ProviderBatch, state: BatchState, now: number): string {
  const { batch = 'a batch whose creation is not answered', plan } = providerBatch;
  const jobs = formatCount(listWaiting(providerBatch, state).length, 'job');
  return `${batch}: ${jobs} of ${plan.model}, ${describeTimes([providerBatch], now)}`;
}
