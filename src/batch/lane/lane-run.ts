import { type BatchInfo, type GatewayClient, GatewayError } from '../../library/index.ts';
import type { Recorder } from '../folder/recorder.ts';
import type { BatchStep } from '../folder/records.ts';
import type { Batch, BatchHooks, JobOutcome, JournalEntry } from '../types.ts';
import { type BatchBudget, endProviderBatch } from './budgets.ts';
import { finalSteps, listAtService, type ProviderBatch } from './provider-batches.ts';

/** The parts that the provider batches of one run in the lane `batch` have in common. */
export interface LaneRun {
  batch: Batch;
  /** The clients of the gateways, by `gatewayKey`. */
  clients: ReadonlyMap<string, GatewayClient>;
  recorder: Recorder;
  hooks: BatchHooks;
  /** The budgets that pay for provider batches, by `gatewayKey`. */
  budgets: ReadonlyMap<string, BatchBudget>;
  /**
   * Slots of jobs that the service refused, and that go to it once more in the form that it asks for. `due`: the places of those
   * that wait for the next provider batch.
   */
  sentAgain: { slots: Set<number>; due: number[] };
  /** The places of rows in the file, by their slots. */
  places: ReadonlyMap<number, number>;
  /** Records the end of a job, and counts it. */
  recordOutcome(entry: JournalEntry, outcome: JobOutcome): Promise<void>;
}

/** Writes the next step of a provider batch into the journal, and applies it. Resolves when it is synced. */
export async function recordStep(
  { mark }: Pick<ProviderBatch, 'mark'>,
  facts: Omit<BatchStep, 't' | 'mark' | 'at'>,
  run: LaneRun,
): Promise<void> {
  const { step } = facts;
  const ended = finalSteps.has(step) ? run.batch.state.providerBatches.get(mark) : undefined;
  // The ledger is written first: it takes an end once, and the next run writes it again if this run is killed.
  if (ended) await endProviderBatch(ended, run.batch.host);
  await run.recorder.step({ t: 'batch', mark, ...facts, at: run.batch.host.now() });
}

/** Records the id and the time limit that the service gave a provider batch. */
export async function recordCreated(
  { id, createdAt, expiresAt }: BatchInfo,
  providerBatch: ProviderBatch,
  run: LaneRun,
): Promise<void> {
  const lastsMs = createdAt === undefined || expiresAt === undefined ? undefined : expiresAt - createdAt;
  await recordStep(providerBatch, { step: 'created', batch: id, lastsMs }, run);
  run.hooks.step?.('part-created', providerBatch.mark);
}

/** The number of ends that are written at the same time, and so share syncs. */
export const maxPending = 256;

/** Ends the jobs of a provider batch whose results cannot come, with the reason. They may have been billed. */
export async function loseJobs(
  providerBatch: ProviderBatch,
  reason: string,
  { batch, recordOutcome }: LaneRun,
): Promise<void> {
  const { host, jobs, state } = batch;
  const error = new GatewayError('no-reply', reason, { sent: 'yes' });
  const shown = { class: error.class, message: host.redaction.redact(error.message), billed: error.billed };
  const left = listAtService(providerBatch, state);
  while (left.length > 0) {
    const ends = left.splice(0, maxPending).map((slot) => {
      const job = { id: state.ids.get(slot) ?? state.slots.nameOf(slot) };
      const outcome: JobOutcome = { state: 'unknown', document: jobs.describeLost(error), error: shown };
      return recordOutcome({ job, slot, bound: state.bounds.get(slot) }, outcome);
    });
    await Promise.all(ends);
  }
}

/** Gives up a provider batch whose jobs cannot be found at the service. The jobs may have been billed. */
export async function giveUpProviderBatch(providerBatch: ProviderBatch, reason: string, run: LaneRun): Promise<void> {
  await loseJobs(providerBatch, reason, run);
  await recordStep(providerBatch, { step: 'lost' }, run);
}
