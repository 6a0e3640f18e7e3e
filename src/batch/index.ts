/*
 * The engine of batches over the client. The command line imports this file, and nothing below it. The engine knows no flag, no
 * terminal and no command; it is given its jobs, its policy and a host, and tells the host of each event.
 */

// Planning and running.
export { type BatchPlan, type EndedPlan, newStreamPlan, planBatch, sentBefore } from './run/plan.ts';
export { readRows } from './run/read-rows.ts';
export type { ChangedRow } from './run/changed.ts';
export { listIds, nameRows } from './run/row-names.ts';
export { defaultGraceMs, isInBatches, runBatch, runStream } from './run/run.ts';
export type { ResultPrinter, Stop } from './run/runner.ts';
export type { BatchEvent, RunProgress } from './events.ts';
export type { BatchBudget } from './lane/budgets.ts';
export type { CostLimit } from './run/run-budget.ts';
export { batchFiles, jobCommands, retryWords } from './types.ts';
export type {
  Batch,
  BatchHooks,
  BatchHost,
  BatchJobs,
  BatchPolicy,
  Counts,
  FinishedReply,
  GatewaySettings,
  Job,
  JobCommand,
  JobError,
  JobOutput,
  AnsweredParent,
  JobProduct,
  JobReply,
  JobUse,
  KeptCommand,
  CollectedJob,
  PreparedJob,
  RetryWord,
  Shard,
  Vary,
} from './types.ts';

// Jobs: their keys, their gateways, and the jobs one after the other.
export { keyRow } from './key.ts';
export { gatewayKey, getRequestOrigin } from './gateway.ts';
export { readyJob, readyJobs } from './run/queue.ts';
export type { QueuedJob } from './run/queue.ts';
export { openAssigning } from './run/assign.ts';
export { assignAgain } from './run/assign-rows.ts';
export { findRowSlot } from './run/show-rows.ts';
export { listAwaited } from './run/links.ts';
export { isMoved } from './run/moved.ts';
export { decideSlot, isLeftToRedo, isRetried } from './run/decide.ts';
export { ownOf, type RowTable } from './run/table.ts';

export { listVariations, parseVariedId } from './vary.ts';
export type { Variation } from './vary.ts';

// The folder of a batch.
export { enterNewOutdir, enterOutdir, readFolder, requireOwn, writeSummary } from './folder/folder.ts';
export type { KnownBatch } from './folder/folder.ts';
export { describeRun, findHolder, noLock } from './folder/lock.ts';
export type { FolderLock } from './folder/lock.ts';
export {
  type ManifestHeader,
  type ManifestRow,
  openManifest,
  readManifestHeader,
  readManifestRows,
} from './folder/manifest.ts';
export { isAsWritten, writeManifest } from './folder/write-manifest.ts';
export { chooseAnswers } from './folder/choose.ts';
export { listFailures, newBatchState } from './folder/state.ts';
export { addUsage, totalTokens, unanswered } from './folder/spending.ts';
export type { BatchState } from './folder/state.ts';
export { adoptReplies, type Recovery } from './folder/adopt.ts';
export {
  describeTimes,
  giveUpNotice,
  listOpenProviderBatches,
  listAtService,
  notFoundHint,
} from './lane/provider-batches.ts';
export type { ProviderBatch } from './lane/provider-batches.ts';
export { requireOrigin } from './lane/service-calls.ts';

// The results of a batch, and reports of them.
export { findImageName, findWithoutImage, listLostImages, openResults } from './folder/results.ts';
export type { ResultReader } from './folder/results.ts';
export {
  countAside,
  type CountedRow,
  countRows,
  countStates,
  formatCount,
  findNotes,
  getToldState,
  maxNamed,
  nameSome,
  type RowNotes,
} from './counts.ts';
export { findColumns, toReportRow } from './row.ts';
export type { Column, ReportRow, RowBlocks, RowState } from './row.ts';
