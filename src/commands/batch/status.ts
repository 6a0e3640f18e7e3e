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
  findHolder,
  findWithoutImage,
  isLeftToRedo,
  type JobError,
  listOpenProviderBatches,
  listWaiting,
  type ProviderBatch,
  unanswered,
} from '../../batch/index.ts';
import {
  describeCounts,
  describeAside,
  describeFailures,
  describeRedoLeft,
  describeSpending,
  getExitCode,
  summaryDocument,
  incompleteStep,
  missingImageStep,
  nextStep,
  type RedoEnd,
  type SummaryFacts,
  spentLimit,
  keptHint,
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
  const running = folders.find((one) => one.running)?.running;
  const failures = new Map(folders.flatMap(listToldFailures));
  const outdir = names[0] as string;
  // This command succeeded, even if jobs failed: the document has the exit code of the process.
  const summary = summaryDocument({ ...joined, counts, skipped: 0, outdir, failures, exitCode: outcomes.ok.code });
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
  const lines = [`${formatCount(counts.jobs, 'job')}: ${describeCounts(counts)}`];
  if (folders.length > 1)
    append(
      lines,
      folders.map((one) => `${one.name}: ${describeCounts(one.counts)}`),
    );
  for (const { name, running: by } of folders) {
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
  const isLinked = states.some(({ manifest }) => manifest.header?.linked);
  const told = [
    describeSpending(joined.spending),
    incompleteStep(counts),
    missingImageStep(missingPictures, isLinked),
    aside > 0 && describeAside(aside, names),
  ];
  append(
    lines,
    told.flatMap((line) => line || []),
  );
  const results = folders.map(({ name }) => shellWord(join(name, batchFiles.results))).join(', ');
  append(lines, describeFailures(failures, { counts, most: maxShown, results }));
  const redo: RedoEnd = {
    of: folders.reduce((sum, one) => sum + one.redo.of, 0),
    open: folders.flatMap((one) => one.redo.open),
    unsure: folders.flatMap((one) => one.redo.unsure),
  };
  const undone = describeRedoLeft(redo);
  if (undone !== undefined) lines.push(undone);
  if (!running && (getExitCode(counts) !== outcomes.ok.code || undone !== undefined)) {
    const { message, hint } = (counts.pending > 0 && ended) || {};
    if (typeof message === 'string' && ended?.['class'] !== 'batch-failed') lines.push(`last run: ${message}`);
    if (typeof hint === 'string') append(lines, hint.split('\n'));
    else append(lines, await listNextSteps(folders, { ...joined, counts, failures }, redo));
  }
  const { stdout } = context.io;
  await stdout.write(lines.map((line) => `${stdout.isTTY ? escapeLine(line) : line.replaceAll('\n', ' ')}\n`).join(''));
  return { document };
}

/** What to type for the rest of the batch, where its last run has not said so. */
async function listNextSteps(
  folders: readonly FolderStatus[],
  { counts, failures, beganAt }: Pick<SummaryFacts, 'counts' | 'failures'> & Pick<BatchState, 'beganAt'>,
  redo: RedoEnd,
): Promise<string[]> {
  const paths = folders.map(({ folder }) => folder);
  const kept = await keptHint(counts, beganAt, paths);
  const spent = folders.map(({ state }) => spentLimit(state)).find((limit) => limit !== undefined);
  const waiting = folders.reduce((sum, one) => sum + one.waiting, 0);
  const step = nextStep({ ...counts, waiting }, spent, { ...redo, failures });
  return [...(kept ? [kept] : []), ...step.split('\n')];
}

interface FolderStatus extends BatchFolder {
  counts: Counts;
  running: Awaited<ReturnType<typeof findHolder>>;
  failures: [string, JobError][];
  /** Ids of jobs whose images were removed, and of those that `--redo` named. */
  missingPictures: string[];
  redo: RedoEnd;
  /** Jobs that wait for others, if the last run came to its end: only a run knows. */
  waiting: number;
  lastError: JsonObject | undefined;
}

async function readStatus(one: BatchFolder, ids: ReadonlyMap<string, string>): Promise<FolderStatus> {
  const { folder, state } = one;
  const { slots } = state;
  const running = await findHolder(folder);
  const counts = countFolder(one);
  const nameSlot = (slot: number): string => ids.get(slots.nameOf(slot)) ?? slots.nameOf(slot);
  const { error, waiting } = running ? {} : await lastSummary(folder, counts);
  const named = new Set(state.redo);
  const { rows } = state.manifest;
  const redo = { of: named.size, open: [] as string[], unsure: [] as string[] };
  for (let place = 0; named.size > 0 && place < rows.size; place++) {
    const slot = rows.slots[place] as number;
    const isLeft = one.others[place] === 0 && isLeftToRedo(slot, state) && !state.atService.has(slot);
    const id = isLeft ? nameSlot(slot) : '';
    if (named.has(id)) (slots.stateOf(slot) === 'sent' ? redo.unsure : redo.open).push(id);
  }
  const byId = new Map([...state.failures.keys()].map((slot) => [slot, nameSlot(slot)]));
  return {
    ...one,
    counts,
    running,
    failures: nameFailures(one, byId),
    missingPictures: (await findWithoutImage(folder, state)).map(nameSlot),
    redo,
    waiting: typeof waiting === 'number' ? waiting : 0,
    lastError: isObject(error) ? error : undefined,
  };
}

/** While it runs, it is unknown which of its jobs are still in flight. */
function listToldFailures({ failures, running }: FolderStatus): [string, JobError][] {
  return failures.filter(([, error]) => !running || error !== unanswered);
}

function describeFolder({ name, counts, running }: FolderStatus): object {
  return { outdir: name, ...counts, running: running && { pid: running.pid, host: running.host } };
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
