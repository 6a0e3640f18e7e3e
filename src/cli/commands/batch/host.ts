import {
  type BatchEvent,
  batchFiles,
  type BatchHost,
  formatCount,
  giveUpNotice,
  type Recovery,
} from '../../../batch/index.ts';
import { asideFile, chooseHint, type GatewayError, getErrorMessage, shellWord } from '../../../library/index.ts';
import type { Context } from '../../context.ts';
import { collectCommand, copyCommand, nextCommand, repeatCommand, type TypedFolder } from './next-command.ts';
import { type LiveLine, showProgress, showWaiting, type WaitingLine } from './progress.ts';
import { repliesSavedSince, recoverHint } from '../../run/recovery.ts';

/** The recovery files of this machine. */
export const recovery: Recovery = { findSince: repliesSavedSince, describe: (path) => recoverHint(path) };

/**
 * The host of a run: the process, and people who are told in lines on stderr of each event. `folder`: the one in
 * which `batch again` goes on.
 */
export function createHost(context: Context, folder: TypedFolder | undefined): BatchHost {
  const { io, signal, ui, gracePeriod, root } = context;
  const startedAt = io.elapsed();
  let sending: LiveLine | undefined;
  let waiting: WaitingLine | undefined;
  return {
    signal,
    now: () => io.now(),
    elapsed: () => io.elapsed(),
    redaction: ui,
    nextCommand: (name, words) => nextCommand(folder, name, words),
    repeatCommand: (more) => repeatCommand(context.argv, more),
    copyCommand: () => copyCommand(folder?.outdir ?? '', io.cwd),
    atEnd: (cleanup) => context.atEnd(cleanup),
    async on(event) {
      if (event.type === 'sending') sending = showProgress({ toSend: event.jobs, startedAt }, event.progress, context);
      else if (event.type === 'sent-all') sending?.stop();
      else if (event.type === 'polling') waiting = showWaiting(event.batches, context);
      else if (event.type === 'polled') waiting?.see(event.mark, event.info);
      else if (event.type === 'polled-all') await waiting?.show();
      else if (event.type === 'polling-ended') waiting?.stop();
      else {
        if (event.type === 'stopping' && !root.quiet)
          gracePeriod.lastWords = () => describeStopped(event.inFlight(), folder);
        for (const [how, text] of describeEvent(event, folder)) await ui[how](text);
      }
    },
  };
}

function describeStopped(inFlight: number, folder: TypedFolder | undefined): string {
  const what =
    inFlight === 0 ? 'stopped' : `stopped with ${formatCount(inFlight, 'request')} in flight, which may be billed`;
  if (folder === undefined) return what;
  return `${what}; ${nextCommand(folder, 'again')} goes on, and ${nextCommand(folder, 'retry', { operand: 'unknown' })} sends again what is unknown`;
}

type HostLine = readonly ['note' | 'warn', string];
type Told = Exclude<
  BatchEvent,
  { type: 'sending' | 'sent-all' | 'polling' | 'polled' | 'polled-all' | 'polling-ended' }
>;

/** The lines for people on an event. */
function describeEvent(event: Told, folder: TypedFolder | undefined): HostLine[] {
  switch (event.type) {
    case 'took-over': {
      const { mark, isHere } = event.owner;
      const who = mark === undefined ? 'a run that did not say its name' : `process ${mark.pid} on ${mark.host}`;
      const why = isHere ? 'which is dead' : 'which gave no sign of life for a minute';
      return [['note', `took over from ${who}, ${why}`]];
    }
    case 'replies-added':
      return [['note', `${formatCount(event.jobs, 'kept result')} of an earlier run added to ${batchFiles.results}`]];
    case 'stopping': {
      const what = `waiting for ${formatCount(event.inFlight(), 'request')}, ${event.graceMs / 1000} s at most`;
      return [['note', `${what}; Ctrl-C again stops`]];
    }
    case 'reply-kept':
      return [['warn', inOneLine(event.error.message, event.error)]];
    case 'result-lost':
      return [['warn', inOneLine(`${event.id}: ${event.error.message}`, event.error)]];
    case 'budget-not-here': {
      const where = `the budget ${event.path} is not on this machine`;
      return [['warn', `${where}: what its batch cost is written down in none`]];
    }
    case 'budget-unwritten': {
      const counts = 'its jobs count with what they can cost';
      return [['warn', `${getErrorMessage(event.error)}, so ${counts} in the budget ${event.path}`]];
    }
    case 'unbounded':
      return [['warn', `the cost of ${formatCount(event.jobs, 'job')} has no bound: give it maxTokens`]];
    case 'submitted':
      return [['note', `${formatCount(event.jobs, 'job')} submitted as ${event.batch}`]];
    case 'creation-unanswered':
      return [['note', 'the creation was not answered: looking for the batch at the service']];
    case 'sent-again': {
      const verb = event.jobs === 1 ? 'is' : 'are';
      const what = `${formatCount(event.jobs, 'job')} of a batch that the service does not list ${verb} sent again`;
      return [['note', `${what}: ${event.names}`]];
    }
    case 'left-at-service': {
      const verb = event.jobs === 1 ? 'goes' : 'go';
      const end = event.isWaitedFor ? `, gateway-cli batch cancel ${shellWord(folder?.outdir ?? '')} ends them` : '';
      const line = event.isCreated
        ? `${verb} on at the service, and will be billed; ${collectCommand(folder)} collects the results${end}`
        : `may be at the service, and be billed; ${collectCommand(folder)} finds out`;
      return [['note', `${formatCount(event.jobs, 'job')} ${line}`]];
    }
    case 'poll-failed':
      return [['note', `${event.error.message}; polling goes on`]];
    case 'not-found':
      return [['note', `${event.what} not found at the service; polling goes on: ${giveUpNotice}`]];
    case 'given-up':
      return [['warn', `${event.what} not found at the service; its jobs may have been billed`]];
    case 'unmatched-results':
      return describeUnmatched(event.unknown, event.doubled);
  }
}

/** A message and the lines of its hint, separated so that a command in them can be copied. */
function inOneLine(message: string, error: GatewayError): string {
  return [message, ...(chooseHint(error)?.split('\n') ?? [])].join('; ');
}

function describeUnmatched(unknown: number, doubled: number): HostLine[] {
  const kept = `${asideFile(batchFiles.results)} keeps ${unknown + doubled === 1 ? 'it' : 'them'}`;
  const lines: HostLine[] = [];
  if (unknown > 0)
    lines.push(['warn', `${formatCount(unknown, 'result')} of the service for no job of its batch; ${kept}`]);
  if (doubled > 0)
    lines.push(['warn', `${formatCount(doubled, 'result')} of the service came twice: the first counts; ${kept}`]);
  return lines;
}
