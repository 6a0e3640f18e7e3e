import type { Command } from 'commander';
import {
  type BatchState,
  type Counts,
  describeRun,
  describeTimes,
  findWithoutImage,
  type FolderLock,
  formatCount,
  type JobError,
  listFailures,
  listOpenProviderBatches,
  listAtService,
  type ProviderBatch,
  unanswered,
  writeSummary,
} from '../../../batch/index.ts';
import {
  describeNext,
  describeStates,
  listAnswered,
  listLeftToRedo,
  listStates,
  readBilling,
  type StateRows,
  writeChoices,
} from './states.ts';
import {
  describeAside,
  describeFailures,
  describeSpending,
  keptHint,
  missingImageStep,
  readSummary,
  summaryDocument,
} from './summary.ts';
import { exitCodes, isObject, isoTime, type JsonObject } from '../../../library/index.ts';
import { collectCommand, nextCommand } from './next-command.ts';
import { readIds } from './row-names.ts';
import { escapeLine } from '../../terminal/escape.ts';
import { type BatchFolder, countFolder, countFolders, joinStates, readFolders } from './folders.ts';
import { countOthers } from './report-rows.ts';
import type { Action, Context, CommandEnd, OwnDocument } from '../../context.ts';
import { setExamples } from '../../flags/flag.ts';

/** At most this many failures are named. */
const maxShown = 20;

/** `batch status <outdir…>`: shows the state of a batch, while it runs and after. */
export function batchStatusCommand(command: Command): Action {
  command.argument('<outdir...>', 'folder of a batch, or the folders of its shards').usage('<outdir…> [flags]');
  setExamples(command, [
    'gateway-cli batch status out',
    'gateway-cli batch status out-1 out-2 out-3 out-4     # the shards together',
    'gateway-cli batch status out --json | jq .done',
  ]);
  return (context, words) => runStatus(words, context);
}

async function runStatus(names: readonly string[], context: Context): Promise<CommandEnd> {
  const folders: FolderStatus[] = [];
  for (const one of await readFolders(names, context))
    folders.push(await readStatus(one, one.holder ? {} : await readSummary(one.folder, countFolder(one))));
  const status = joinStatuses(folders);
  const document = toDocument(status, names[0] as string);
  if (context.root.json) return { document };
  const { stdout } = context.io;
  const lines = [...describeStatus(status, context.io.now()), ...(await describeEnd(status))];
  await stdout.write(lines.map((line) => `${stdout.isTTY ? escapeLine(line) : line.replaceAll('\n', ' ')}\n`).join(''));
  return { document };
}

interface FolderStatus extends BatchFolder {
  counts: Counts;
  /** Reasons why jobs have no answer, by the ids of the jobs. */
  failures: [string, JobError][];
  /** Ids of jobs whose images were removed. */
  missingPictures: string[];
  states: readonly StateRows[];
  lastError: JsonObject | undefined;
  /** The last run named the folder as it is named from here. */
  hasOwnName: boolean;
}

/** The summary of the last run; empty if it tells nothing of the rows as they are now. */
type LastRun = Readonly<Record<string, unknown>>;

async function readStatus(one: BatchFolder, { error, outdir, spent }: LastRun): Promise<FolderStatus> {
  const { folder, holder, state, typed } = one;
  const { slots, manifest } = state;
  const counts = countFolder(one);
  const wanted = manifest.rows.slots.subarray(0, manifest.rows.size);
  const isOwn = (place: number): boolean => manifest.rows.others[place] === 0;
  const leftToRedo = listLeftToRedo(manifest.rows, state, isOwn);
  const answered = listAnswered(manifest.rows, state, isOwn);
  const gone = new Set(await findWithoutImage(folder, state));
  const failures = [...listFailures(state)];
  const named = new Set([...failures.map(([slot]) => slot), ...gone, ...leftToRedo, ...answered]);
  const ids = await readIds(named, { folder, state });
  const nameSlot = (slot: number): string => ids.get(slot) ?? slots.nameOf(slot);
  return {
    ...one,
    counts,
    failures: failures
      // While a run works, it is unknown which of its jobs are still in flight.
      .filter(([, failure]) => !holder || failure !== unanswered)
      .map(([slot, failure]) => [nameSlot(slot), failure]),
    missingPictures: Array.from(
      wanted.filter((slot) => gone.has(slot)),
      nameSlot,
    ),
    states: listStates(counts, {
      folder: manifest.header?.command && typed,
      spent: readSpent(spent),
      billing: readBilling(state),
      leftToRedo: leftToRedo.map(nameSlot),
      answered: writeChoices(answered, nameSlot, state),
      isRefused: isObject(error) && error['class'] === 'batch-edited',
    }),
    lastError: isObject(error) ? error : undefined,
    hasOwnName: outdir === typed.outdir,
  };
}

function readSpent(spent: unknown): string | undefined {
  return typeof spent === 'string' ? spent : undefined;
}

/**
 * Writes the summary of the last run anew: with the rows as they are now, and with its error, unless that tells of rows which are all done by
 * now.
 */
export async function renewSummary(one: BatchFolder, last: LastRun, lock: FolderLock): Promise<void> {
  const { counts, failures, lastError, states } = await readStatus({ ...one, holder: undefined }, last);
  const { again = 0, done, jobs, tried = 0 } = counts;
  const isOfRows = lastError?.['class'] === 'batch-failed';
  const now = isOfRows && { message: describeStates(states), hint: describeNext(states).join('\n') };
  const error = isOfRows && done - again - tried === jobs ? undefined : lastError && { ...lastError, ...now };
  const document = summaryDocument({
    ...one.state,
    counts,
    states,
    spent: readSpent(last['spent']),
    skipped: Number(last['skipped'] ?? 0),
    durationMs: Number(last['durationMs'] ?? 0),
    hasPrices: 'costUnknown' in last,
    // What the error says to type is for the folder by this name.
    outdir: String(last['outdir'] ?? one.typed.outdir),
    failures: new Map(failures),
    exitCode: error ? Number(last['exitCode']) : exitCodes.ok.code,
    error,
  });
  lock.confirm();
  await writeSummary(one.folder, JSON.stringify(document));
}

/** Joins the states of folders into one. */
function joinStatuses(folders: readonly FolderStatus[]) {
  const counts = countFolders(folders);
  const [first] = folders as [FolderStatus, ...FolderStatus[]];
  return {
    ...joinStates(folders.map(({ state }) => state)),
    folders,
    counts,
    // The next command is for one folder only.
    states: folders.length === 1 ? first.states : listStates(counts).map((one) => ({ ...one, next: undefined })),
    failures: new Map(folders.flatMap((one) => one.failures)),
    holder: folders.find((one) => one.holder)?.holder,
    lastError: folders.find((one) => one.lastError)?.lastError,
    ...countOthers(folders),
  };
}

type Status = ReturnType<typeof joinStatuses>;

function toDocument(status: Status, outdir: string): OwnDocument {
  const { folders, holder, lastError, aside, earlier } = status;
  const missingPictures = folders.flatMap((one) => one.missingPictures);
  // This command succeeded, even if jobs failed: the document has the exit code of the process.
  return {
    ...summaryDocument({ ...status, skipped: 0, outdir, exitCode: exitCodes.ok.code }),
    ...(folders.length > 1 && { outdir: undefined, folders: folders.map(describeFolder) }),
    ...(lastError && { lastError }),
    running: holder && { pid: holder.pid, host: holder.host },
    ...toAtService(folders.map(({ state }) => state)),
    ...(missingPictures.length > 0 && { missingPictures }),
    ...(aside > 0 && { aside }),
    ...(earlier > 0 && { earlier }),
  };
}

/** The state of the jobs, in lines for people. */
function describeStatus(
  { folders, counts, states, spending, failures, aside, earlier }: Status,
  now: number,
): string[] {
  const isOne = folders.length === 1;
  const names = folders.map(({ name }) => name);
  const told = [
    describeSpending(spending),
    ...folders.map((one) => missingImageStep(one.missingPictures, one.typed)),
    aside + earlier > 0 && describeAside(aside, names, earlier),
  ];
  return [
    `${formatCount(counts.jobs, 'job')}: ${describeStates(states)}`,
    ...(isOne ? [] : folders.map((one) => `${one.name}: ${describeStates(one.states)}`)),
    ...folders.flatMap(({ name, holder }) =>
      holder ? `${describeRun(holder)} works on ${isOne ? 'it' : name}; what is unknown may be in flight` : [],
    ),
    ...folders.flatMap(({ state }) =>
      listOpenProviderBatches(state).map((providerBatch) => describeProviderBatch(providerBatch, state, now)),
    ),
    ...told.flatMap((line) => line || []),
    ...describeFailures(failures, { failed: counts.failed, most: maxShown, outdirs: names }),
  ];
}

/** The ends of the last runs, and the commands to type next; nothing while a run works. */
async function describeEnd({ folders, counts, holder, beganAt }: Status): Promise<string[]> {
  if (holder) return [];
  const kept = await keptHint(
    counts,
    beganAt,
    folders.map(({ folder }) => folder),
  );
  const ends = folders.map((one) => ({ one, ...readError(one) }));
  const news = ends.flatMap(({ one, message }) => {
    const where = folders.length === 1 ? '' : `${one.name}: `;
    return message === undefined ? [] : [`${where}last run: ${message}`];
  });
  const next = ends.flatMap(({ one, hints }) => [...hints, ...describeNext(one.states), ...describeHeld(one)]);
  return [...news, ...(kept === undefined ? [] : [kept]), ...next];
}

/** What collects answers that the service makes, if no row waits for one. */
function describeHeld({ counts, state, typed }: FolderStatus): string[] {
  const isHeld = (counts.submitted ?? 0) === 0 && state.atService.size > 0;
  return isHeld ? [`at the service for no job: ${collectCommand(typed)}`] : [];
}

/** The error of a run that was refused, or stopped, while that holds; its hints, unless they are the commands for the rows. */
function readError({ counts, hasOwnName, lastError = {}, typed }: FolderStatus) {
  const { class: name, message, hint } = lastError;
  const isNews = (counts.pending > 0 || name === 'batch-edited') && name !== 'batch-failed';
  const told = hasOwnName ? hint : `to be told what to type here: ${nextCommand(typed, 'again')}`;
  return {
    message: isNews && typeof message === 'string' ? message : undefined,
    hints: isNews && typeof hint === 'string' ? String(told).split('\n') : [],
  };
}

function describeFolder({ name, counts, states, holder }: FolderStatus): object {
  return { outdir: name, ...counts, states, running: holder && { pid: holder.pid, host: holder.host } };
}

/** The provider batches that the service holds. */
function toAtService(states: readonly BatchState[]): object {
  const atService = states.flatMap((state) =>
    listOpenProviderBatches(state).map((providerBatch) => {
      const { batch, mark, plan, at, lastsMs } = providerBatch;
      return {
        batch,
        mark,
        model: plan.model,
        jobs: listAtService(providerBatch, state).length,
        submittedAt: isoTime(at),
        expiresAt: lastsMs === undefined ? undefined : isoTime(at + lastsMs),
      };
    }),
  );
  return atService.length === 0 ? {} : { atService };
}

function describeProviderBatch(providerBatch: ProviderBatch, state: BatchState, now: number): string {
  const { batch = 'a batch whose creation is not answered', plan } = providerBatch;
  const jobs = formatCount(listAtService(providerBatch, state).length, 'job');
  return `${batch}: ${jobs} of ${plan.model}, ${describeTimes([providerBatch], now)}`;
}
