import { hintOf } from '../../advice.ts';
import { GatewayError, usageError } from '../../errors.ts';
import type { Context } from '../../cli/context.ts';
import { openConnectionsTo, type Connection } from '../../cli/run/connection.ts';
import { enterOutdir, findOutdir, requireOwn } from '../folder/folder.ts';
import { newBatchState, readJournal } from '../folder/journal.ts';
import { adoptReplies } from './adopt.ts';
import type { Recorder } from '../folder/recorder.ts';
import { findLostEnds, openResults } from '../folder/results.ts';
import { describeCounts, exitCodeOf } from '../report/summary.ts';
import { createRequestBuilder, originOf, type CheckedJob } from '../jobs/request.ts';
import { openJobStream } from '../jobs/source.ts';
import { createPriceCheck, emptyPlan, gatewayKey, requireMatch, requireOwnKeys } from './plan.ts';
import { countOutcomes } from './progress.ts';
import { runJobs, type Stop } from './runner.ts';
import { defaultGraceMs, openFolderRecorder, openWorkers, requireRate, saveMemory } from './send.ts';
import { openStreamQueue, type StreamBatch } from './stream-queue.ts';
import type { BatchFlags } from '../flags.ts';
import type { BatchHooks } from '../types.ts';

/** Throws GatewayError usage for flags that need all jobs at once, or a folder. */
function requireStream(words: readonly string[], flags: BatchFlags, { root }: Context): void {
  const example = 'for example: gateway-cli batch - --stream < jobs.jsonl';
  if (words.length !== 1 || words[0] !== '-') throw usageError('--stream takes its jobs from stdin', example);
  const { prompts, data, template, shard, dryRun, estimate, output } = flags;
  const wholes = { prompts, data, template, shard, estimate, 'dry-run': dryRun };
  const [whole] = Object.entries(wholes).find(([, value]) => value !== undefined) ?? [];
  if (whole !== undefined)
    throw usageError(`--stream cannot be combined with --${whole}`, 'it sends jobs before the last one is known');
  if (root.json) throw usageError('--stream prints JSON Lines already', 'leave out --json');
  const { retryFailed, retryIncomplete, retryUnknown, acceptChanges } = flags;
  if ((retryFailed ?? retryIncomplete ?? retryUnknown ?? acceptChanges) && output === undefined)
    throw usageError('without a folder, --stream knows of no earlier run', 'name its folder: -o out');
}

/** `batch - --stream`: a worker. Jobs come on stdin, for as long as it is open; each result is printed when it is there. */
export async function openStream(
  words: readonly string[],
  flags: BatchFlags,
  context: Context,
  hooks: BatchHooks = {},
): Promise<StreamBatch> {
  requireStream(words, flags, context);
  requireRate(flags);
  saveMemory();
  const { cwd } = context.io;
  const startedAt = context.io.elapsed();
  const outdir = flags.output === undefined ? undefined : await findOutdir(flags.output, context);
  if (outdir?.exists) await requireOwn(outdir.path);
  const output = outdir?.path ?? cwd;
  const builder = createRequestBuilder({ context, flags, source: { name: 'stdin', folder: cwd }, output });
  const base = { id: '', line: 0, command: 'text', name: undefined, values: {} } as const;
  const settings = await builder.settingsOf(base);
  if (settings.lane.value === 'batch')
    throw usageError('--stream cannot be combined with --lane batch', 'use --lane live');
  const origin = originOf(settings);
  const common = {
    flags,
    context,
    builder,
    plan: emptyPlan(origin),
    startedAt,
    shard: undefined,
    outdir: output,
  };
  const printed = { jobs: 0, done: 0, incomplete: 0, failed: 0, unknown: 0, pending: 0 };
  const noFolder = { lock: noLock, state: newBatchState(), lostEnds: [], results: undefined };
  const folder = outdir ? await openFolder(outdir.path, context, hooks) : noFolder;
  requireMatch(folder.state.run, { origin, shard: undefined });
  const batch = { ...common, ...folder, printed };
  return { ...batch, checkPrice: createPriceCheck(batch) };
}

/** Without a folder there is nothing to lock. */
const noLock = {
  takenFrom: undefined,
  check: () => undefined,
  confirm: async () => undefined,
  release: async () => undefined,
};

async function openFolder(path: string, context: Context, { lease }: BatchHooks) {
  const lock = await enterOutdir(path, context, lease);
  const state = await readJournal(path);
  const { lostEnds, places } = await adoptReplies(path, state, {
    ends: await findLostEnds(path, state),
    lock,
    ui: context.ui,
  });
  const results = await openResults(path, state.index, places);
  context.atEnd(() => results.close());
  return { lock, state, lostEnds, results };
}

/** Sends the jobs as they come. Resolves when stdin has ended and every job has, with the reason if it ended early. */
export async function streamJobs(batch: StreamBatch, hooks: BatchHooks = {}): Promise<Stop | undefined> {
  const { flags, context } = batch;
  const { step, graceMs = defaultGraceMs } = hooks;
  const lines = await openJobStream(flags, context);
  const recorder = batch.results === undefined ? noRecorder : await openFolderRecorder(batch, step);
  context.gracePeriod.ms = graceMs + 2000;
  const workers = await openWorkers(batch, {
    jobs: undefined,
    isFolderless: batch.results === undefined,
    check: (job) => batch.builder.check(job, batch.plan.origin),
    connectionTo: createConnections(batch),
  });
  const queue = openStreamQueue(lines, { batch, sender: workers.sender, recorder });
  return runJobs({ ...workers, batch, queue, recorder, tally: countOutcomes(batch), step, graceMs });
}

const noRecorder: Recorder = {
  ready: async () => undefined,
  sent: async () => undefined,
  unsent: async () => undefined,
  ended: async () => undefined,
  flushWithoutDelay: () => undefined,
  close: async () => undefined,
  parts: async () => undefined,
};

/** Opens the connection of a job when the first one needs it. Throws GatewayError usage if a key would go to several hosts. */
function createConnections({ flags, context }: StreamBatch): (checked: CheckedJob) => Promise<Connection> {
  const opened = new Map<string, { settings: CheckedJob['settings']; connection: Promise<Connection> }>();
  return ({ settings, built }) => {
    const { use } = built.post;
    const key = `${use} ${gatewayKey(settings)}`;
    const known = opened.get(key);
    if (known) return known.connection;
    requireOwnKeys([...[...opened.values()].map((other) => other.settings), settings]);
    const forms = { [use]: settings.auth.value };
    const connection = openConnectionsTo([{ settings, forms }], flags, context).then(({ connections, close }) => {
      context.atEnd(close);
      return connections[0] as Connection;
    });
    opened.set(key, { settings, connection });
    return connection;
  };
}

/** Reports the counts of the lines, unless the summary of a folder has done it. Throws GatewayError batch-failed, or the signal. */
export async function finishStream(batch: StreamBatch, stop: Stop | undefined): Promise<void> {
  const { printed, context, flags, results } = batch;
  if (results === undefined) await context.ui.note(describeCounts(printed));
  if (stop === 'signal') throw context.signal.reason;
  if (stop === undefined && exitCodeOf(printed) === 0) return;
  const limits = {
    cost: `stopped before a request that could pass --max-cost ${flags.maxCost}: `,
    tokens: `stopped after ${flags.maxTokensTotal} tokens: `,
    failures: 'stopped after failures: ',
  };
  const why = stop instanceof GatewayError ? `stopped: ${stop.message}: ` : stop === undefined ? '' : limits[stop];
  throw new GatewayError('batch-failed', `${why}${describeCounts(printed)}`, {
    hint: [
      'each line with "ok":false has its error; a job without a line was not sent',
      stop instanceof GatewayError && hintOf(stop),
    ]
      .filter(Boolean)
      .join('\n'),
    sent: 'yes',
    retryable: true,
  });
}
