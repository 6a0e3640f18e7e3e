import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type BatchState, unanswered } from '../folder/state.ts';
import { findHolder } from '../folder/lock.ts';
import {
  countJobs,
  countOf,
  describeCounts,
  describeFailures,
  describeSpending,
  exitCodeOf,
  summaryDocument,
  incompleteStep,
  nextStep,
  spentLimit,
  keptHint,
} from './summary.ts';
import { batchFiles, type Counts } from '../types.ts';
import { isObject, type JsonObject, parseObject } from '../../json.ts';
import { outcomes } from '../../errors.ts';
import { escapeLine } from '../../terminal/escape.ts';
import { isoTime } from '../../clock.ts';
import { describeTimes, openParts, type Part, waitingRows } from '../lane/parts.ts';
import { readBatchFolder } from '../folder/folder.ts';
import type { Action, Context } from '../../cli/context.ts';
import { setExamples } from '../../cli/flags/flag.ts';

/** At most this many failures are named. */
const maxShown = 20;

/** `batch status <outdir>`: the state of a batch, while it runs and after. */
export function batchStatusCommand(command: Command): Action {
  command.argument('<outdir>', 'folder of a batch').usage('<outdir> [flags]');
  setExamples(command, ['gateway-cli batch status out', 'gateway-cli batch status out --json | jq .done']);
  return (context, words) => runStatus(words[0] as string, context);
}

async function runStatus(outdir: string, context: Context): Promise<void> {
  const { folder, state } = await readBatchFolder(outdir, context);
  const running = await findHolder(folder);
  const counts = countJobs(state.index, { jobs: state.run?.jobs || state.index.size });
  const { usage, spending, durationMs } = state;
  // It is unknown which of them are still in flight.
  const failures = running ? new Map([...state.failures].filter(([, error]) => error !== unanswered)) : state.failures;
  const facts = { counts, skipped: 0, usage, spending, durationMs, outdir, failures };
  // This command succeeded, even if jobs failed: the document has the exit code of the process.
  const document = summaryDocument({ ...facts, exitCode: outcomes.ok.code });
  const ended = running ? undefined : await lastError(folder, counts);
  context.report.own = {
    ...document,
    ...(ended && { lastError: ended }),
    running: running && { pid: running.pid, host: running.host },
    ...atService(state),
  };
  if (context.root.json) return;
  const lines = [`${countOf(counts.jobs, 'job')}: ${describeCounts(counts)}`];
  if (running) lines.push(`process ${running.pid} on ${running.host} works on it; what is unknown may be in flight`);
  lines.push(...openParts(state).map((part) => describePart(part, state, context.io.now())));
  const cost = describeSpending(spending);
  if (cost !== '') lines.push(cost);
  const cut = incompleteStep(counts);
  if (cut) lines.push(cut);
  lines.push(...describeFailures(failures, { counts, most: maxShown, results: batchFiles.results }));
  if (!running && exitCodeOf(counts) !== outcomes.ok.code) {
    const kept = await keptHint(counts, state.beganAt);
    const next = [...(kept ? [kept] : []), nextStep(counts, spentLimit(state))];
    const { class: name, message, hint } = (counts.pending > 0 && ended) || {};
    // The counts are in the first line already.
    if (typeof message === 'string' && name !== 'batch-failed') lines.push(`the last run ended: ${message}`);
    lines.push(...(typeof hint === 'string' ? hint.split('\n') : next));
  }
  const { stdout } = context.io;
  await stdout.write(lines.map((line) => `${stdout.isTTY ? escapeLine(line) : line.replaceAll('\n', ' ')}\n`).join(''));
}

/** The error of the last run; undefined if it wrote no summary, or if jobs have ended since. */
async function lastError(folder: string, counts: Counts): Promise<JsonObject | undefined> {
  const text = await readFile(join(folder, batchFiles.summary), 'utf8').catch(() => '');
  const summary = parseObject(text);
  const names = ['done', 'failed', 'unknown', 'pending'] as const;
  const isLast = names.every((name) => summary[name] === counts[name]);
  return isLast && isObject(summary['error']) ? summary['error'] : undefined;
}

/** What batches of the service hold. */
function atService(state: BatchState): object {
  const parts = openParts(state).map((part) => ({
    batch: part.batch,
    mark: part.mark,
    model: part.plan.model,
    jobs: waitingRows(part, state.index).length,
    submittedAt: isoTime(part.at),
    expiresAt: part.lastsMs === undefined ? undefined : isoTime(part.at + part.lastsMs),
  }));
  return parts.length === 0 ? {} : { atService: parts };
}

function describePart(part: Part, { index }: BatchState, now: number): string {
  const { batch = 'a batch whose creation is not answered', plan } = part;
  const jobs = countOf(waitingRows(part, index).length, 'job');
  return `${batch}: ${jobs} of ${plan.model}, ${describeTimes([part], now)}`;
}
