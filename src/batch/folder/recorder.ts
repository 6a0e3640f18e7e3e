import { join } from 'node:path';
import type { Bound } from '../../cost/types.ts';
import { SyncedFile } from '../../files/synced-file.ts';
import {
  batchFiles,
  type Job,
  type JobRecord,
  type Performed,
  type RunRecord,
  type Step,
  type Keep,
} from '../types.ts';
import type { Lock } from './lock.ts';
import { GatewayError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import { shellWord } from '../../shell-word.ts';

/** Writes down what happens to the jobs of one run. All of its methods throw GatewayError not-written. */
export interface Recorder {
  /** Resolves when the disk has them: only then may their requests go out. */
  ready(group: readonly Noted[]): Promise<void>;
  /** Its request goes out now. Where the boot tells of power cuts, nobody waits for the disk once more. */
  sent(noted: Noted): Promise<void>;
  /** They were ready, and did not go out. Nothing to write where nobody wrote that they are ready. */
  unsent(group: readonly Noted[]): Promise<void>;
  /** The result first, then, behind `check`, the journal's word that there is one. Resolves when the disk has both. */
  ended(noted: Noted, performed: Performed, check?: () => Promise<void> | undefined): Promise<void>;
  /** No more jobs begin: what has ended goes to the disk without waiting for others. */
  hurry(): void;
  close(): Promise<void>;
}

/** A job as the journal names it. */
interface Noted {
  job: Pick<Job, 'id'> & Partial<Pick<Job, 'line'>>;
  request: string;
  bound?: Bound | undefined;
}

type Ended = Exclude<Performed, { state: 'unsent' }>;

export interface RecorderOptions {
  folder: string;
  run: RunRecord;
  /** Ends of jobs that an earlier run could not write down. */
  lostEnds: readonly JobRecord[];
  now: () => number;
  step?: Step | undefined;
}

/**
 * Nobody waits for the end of a job to be on the disk, so that many of them share one sync. Each sync holds up who writes
 * meanwhile, and with it every job.
 */
const gatherMs = 50;

/** Opens journal and results of a folder, and writes the run's own record. */
export async function openRecorder({ folder, run, lostEnds, now, step }: RecorderOptions): Promise<Recorder> {
  const journal = await SyncedFile.open(join(folder, batchFiles.journal));
  const results = await SyncedFile.open(join(folder, batchFiles.results));
  // The ends first: the run's own record says that earlier results are no ends any more.
  for (const record of [...lostEnds, { ...run, results: results.size }]) journal.append(JSON.stringify(record));
  await journal.sync();

  function note(type: JobRecord['type'], group: readonly Noted[]): void {
    const at = now();
    journal.append(
      group
        .map(({ job: { id, line }, request, bound }) => JSON.stringify({ type, id, request, line, bound, at }))
        .join('\n'),
    );
  }

  async function unsent(group: readonly Noted[]): Promise<void> {
    if (group.length === 0) return;
    note('unsent', group);
    await journal.sync();
  }

  return {
    async ready(group) {
      if (run.boot === undefined) return;
      note('ready', group);
      for (const { job } of group) step?.('ready-written', job.id);
      await journal.sync();
      for (const { job } of group) step?.('ready-synced', job.id);
    },
    async sent(noted) {
      note('sent', [noted]);
      if (run.boot === undefined) await journal.sync();
      step?.('sent-written', noted.job.id);
    },
    async unsent(group) {
      if (run.boot !== undefined) await unsent(group);
    },
    async ended({ job: { id }, request }, performed, check) {
      if (performed.state === 'unsent') return unsent([{ job: { id }, request }]);
      results.append(await resultLine({ id, request, ...performed.document }, performed.keep));
      step?.('result-written', id);
      await results.sync(gatherMs);
      step?.('result-synced', id);
      await check?.();
      await journal.appendSoon(JSON.stringify({ type: performed.state, id, request, at: now(), ...endOf(performed) }));
      step?.('ended-written', id);
      await journal.sync(gatherMs);
      step?.('ended-synced', id);
    },
    hurry() {
      results.syncWithoutDelay();
      journal.syncWithoutDelay();
    },
    async close() {
      await journal.close();
      await results.close();
    },
  };
}

/** What the journal keeps of an end. */
function endOf({ requestedModel, model, usage, cost, billed, incomplete, error }: Ended): Partial<JobRecord> {
  return { requestedModel, model, usage, cost, billed, incomplete, error };
}

/** A recorder that writes as long as its run has the folder. Its methods throw GatewayError batch-locked, too. */
export function withLock(recorder: Recorder, lock: Pick<Lock, 'check' | 'confirm'>): Recorder {
  return {
    ...recorder,
    async ready(group) {
      await lock.check();
      // The look comes behind the writing: who takes over after it finds the group in the journal.
      await Promise.all([recorder.ready(group), lock.confirm()]);
    },
    async sent(noted) {
      await lock.check();
      await recorder.sent(noted);
      // Who stood still between the two finds out now, and takes its word back.
      await lock.check()?.catch(async (error: unknown) => {
        await recorder.ended(noted, { state: 'unsent' });
        throw error;
      });
    },
    async unsent(group) {
      await lock.check();
      await recorder.unsent(group);
    },
    async ended(noted, performed) {
      await lock.check();
      // Who stood still before the result was written can have written it to a file that another run has replaced.
      await recorder.ended(noted, performed, () => lock.check());
    },
  };
}

/** A longer line is hard on every reader, of which ours takes four times as much. */
const mostLineBytes = 64 * 1024 * 1024;

/**
 * The text of a result's line. Where it is too long to be read again, the whole reply goes to a recovery file, and the line
 * says so and leaves the long values out. Throws GatewayError not-written.
 */
export function resultLine(
  document: JsonObject,
  keep: Keep | undefined,
  mostBytes = mostLineBytes,
): string | Promise<string> {
  const line = lineOf(document);
  if (line !== undefined && (line.length * 3 <= mostBytes || Buffer.byteLength(line) <= mostBytes)) return line;
  return keepWhole(document, keep, mostBytes / 64);
}

/** Undefined where no string of V8 could hold it. */
function lineOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

async function keepWhole(document: JsonObject, keep: Keep | undefined, mostLength: number): Promise<string> {
  const tooLong = new GatewayError('not-written', 'the result is too long for a line', { retryable: false });
  const { failure, path } = (await keep?.(tooLong)) ?? { failure: tooLong };
  if (path === undefined) throw failure;
  const short = Object.entries(document).filter(([, value]) => (lineOf(value)?.length ?? Infinity) <= mostLength);
  const warnings = Array.isArray(document['warnings']) ? document['warnings'] : [];
  const told = `the result is too long for a line: write it out with gateway-cli recover ${shellWord(path)}`;
  return JSON.stringify({ ...Object.fromEntries(short), warnings: [...warnings, told] });
}
