/*
 * Batches as the command line uses them, and nothing below it: an engine over the client. It knows no flag, no terminal and no
 * command; it is given its jobs, its policy and a host, and tells the host in events what happens.
 */

// Planning and running.
export { planBatch, sentBefore } from './run/plan.ts';
export type { BatchPlan, PlannedJob } from './run/plan.ts';
export { defaultGraceMs, runBatch, runStream } from './run/run.ts';
export type { Stop } from './run/runner.ts';
export type { BatchEvent, RunProgress } from './events.ts';
export type { BatchBudgets } from './lane/budgets.ts';
export { batchFiles, jobCommands } from './types.ts';
export type {
  Batch,
  BatchHooks,
  BatchHost,
  BatchJobs,
  BatchPolicy,
  Counts,
  Job,
  JobCommand,
  JobError,
  JobLinks,
  JobOutcome,
  JobOutput,
  JobReply,
  JobState,
  PreparedJob,
  ReadyJob,
  RunRecord,
  Shard,
  Vary,
} from './types.ts';

// Jobs: their digests, where they go, and one after the other.
export { digestRequest, digestText, hashId, toHex, isInShard } from './digest.ts';
export { gatewayKey, getRequestOrigin } from './gateway.ts';
export { jobsToSend, prepareAgain, readyJob } from './run/queue.ts';
export type { JobQueue } from './run/queue.ts';
export { listStuck, listAwaitingParents, openLinks } from './run/links.ts';
export { findIdNumber, withKnownIds } from './run/known-by.ts';
export { emptyPlan, findOwner, requireMatch } from './run/plan.ts';
export { decideOn } from './run/decide.ts';
export { changedError } from './run/known-jobs.ts';

export { listVariations, parseVariedId } from './vary.ts';
export type { Variation } from './vary.ts';

// The folder of a batch.
export {
  addKeptReplies,
  enterNewOutdir,
  enterOutdir,
  readKnownBatch,
  requireOwn,
  writeSummary,
} from './folder/folder.ts';
export type { KnownBatch } from './folder/folder.ts';
export { describeRun, findHolder, noLock } from './folder/lock.ts';
export type { FolderLock } from './folder/lock.ts';
export { newBatchState, readJournal } from './folder/journal.ts';
export { addUsage, findRedoLeft, isTokenLimitReached, listFailures, totalTokens, unanswered } from './folder/state.ts';
export type { BatchState, RedoLeft } from './folder/state.ts';
export type { Recorder } from './folder/recorder.ts';
export type { Recovery } from './folder/adopt.ts';
export { refreshVars, withVars } from './folder/refresh-vars.ts';
export {
  describeTimes,
  giveUpNotice,
  listOpenProviderBatches,
  notFoundHint,
  waitingRows,
} from './lane/provider-batches.ts';
export type { ProviderBatch } from './lane/provider-batches.ts';
export { runAgainHint, requireOrigin } from './lane/lane-run.ts';

// Its results, and reports of them.
export {
  arrangeResults,
  idsWithoutResult,
  findLostEnds,
  idsWithoutImage,
  findImageName,
  locateResults,
  openResults,
  listReportRows,
} from './folder/results.ts';
export type { LostEnds, ResultPlaces, ResultReader } from './folder/results.ts';
export { countJobs, formatCount } from './counts.ts';
export { findColumns, toReportRow, rowStates } from './row.ts';
export type { Column, ReportRow, RowState } from './row.ts';
