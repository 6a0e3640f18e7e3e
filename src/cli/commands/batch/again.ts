import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Argument, type Command } from 'commander';
import { retryWords } from '../../../batch/index.ts';
import type { Action, AnswerContext, CommandEnd, Context } from '../../context.ts';
import { addFlags, setExamples } from '../../flags/flag.ts';
import { priceFlags } from '../../flags/shared.ts';
import { usageError, shellWord } from '../../../library/index.ts';
import { countRequests } from './clients.ts';
import { runTyped } from './batch.ts';
import { batchConnectionFlags, type BatchFlags, batchFlags, findWhole, parseRetry } from './flags.ts';
import { recallCommand } from './kept-command.ts';
import { nextCommand, repeatCommand } from './next-command.ts';

const otherJobs = 'other jobs, or another prompt for the rows of its table';

/** `batch again <outdir>`: runs the command that made a folder once more. Flags that are typed now replace the kept ones. */
export function batchAgainCommand(command: Command): Action {
  command.argument('<outdir>', 'folder of a batch').argument('[jobs...]', otherJobs).usage('<outdir> [flags]');
  setExamples(command, [
    'gateway-cli batch again out                    # what is not sent yet, and what is new in the table',
    'gateway-cli batch again out --max-cost 20      # with a greater limit',
    'gateway-cli batch again out --accept-changes   # also the rows that were edited',
  ]);
  addRunFlags(command, {});
  return (context, [outdir = '', ...words], flags) => runAgain(outdir, { words, flags }, context);
}

/** `batch redo <outdir> <ids>`: makes rows again. */
export function batchRedoCommand(command: Command): Action {
  command
    .argument('<outdir>', 'folder of a batch')
    .argument('<ids>', 'rows to make again: 3,9')
    .argument('[jobs...]', otherJobs)
    .usage('<outdir> <ids> [flags]');
  setExamples(command, [
    'gateway-cli batch redo out 3,9                     # and nothing else; earlier answers stay',
    'gateway-cli batch redo out 3 --accept-changes      # and what uses the answer of row 3',
  ]);
  addRunFlags(command, { redo: true });
  return (context, [outdir = '', ids = '', ...jobs], flags) =>
    requireOneWord({ outdir, ids, others: jobs }, context).then(() =>
      runAgain(outdir, { words: jobs, flags: { ...flags, redo: [ids] }, onlyNamed: true }, context),
    );
}

/** `batch retry <outdir> [words]`: sends again the failed rows, or those that the words name. */
export function batchRetryCommand(command: Command): Action {
  const words = new Argument('[words]', 'failed (the default), unknown (may be billed twice), incomplete (was cut)');
  words.argChoices = [...retryWords];
  command
    .argument('<outdir>', 'folder of a batch')
    .addArgument(words)
    .argument('[jobs...]', otherJobs)
    .usage('<outdir> [failed,unknown,incomplete] [flags]');
  setExamples(command, [
    'gateway-cli batch retry out                        # what failed, and nothing else',
    'gateway-cli batch retry out failed,unknown         # and what may have been billed',
  ]);
  addRunFlags(command, { retry: true });
  return (context, [outdir = '', typed, ...jobs], flags) => {
    const retry = parseRetry(typed ?? 'failed', `gateway-cli batch retry ${shellWord(outdir)}`);
    // Of the command that hints repeat, a file can only be the third word.
    const argv = typed === undefined ? [...context.argv, 'failed'] : context.argv;
    return runAgain(outdir, { words: jobs, flags: { ...flags, retry }, onlyNamed: true }, { ...context, argv });
  };
}

/** The flags of `batch run`, without the flag of the folder, which is named, and without the flags of a table that comes one by one. */
function addRunFlags(command: Command, without: { redo?: true; retry?: true }): void {
  const { output: _, stream: __, redo, retry, ...others } = batchFlags;
  addFlags(command, 'Flags', { ...others, ...(!without.redo && { redo }), ...(!without.retry && { retry }) });
  addFlags(command, 'Connection', batchConnectionFlags);
  addFlags(command, 'Costs', priceFlags);
}

/** What was typed to go on with a folder. `onlyNamed`: only what the command names is sent. */
interface TypedAgain {
  words: readonly string[];
  flags: BatchFlags;
  onlyNamed?: true;
}

function runAgain(
  outdir: string,
  { flags, ...typed }: Pick<TypedAgain, 'words' | 'onlyNamed'> & { flags: Record<string, unknown> },
  context: Parameters<Action>[0],
): ReturnType<Action> {
  return countRequests(context, (own) => runRecalled(outdir, { ...typed, flags: flags as BatchFlags }, own));
}

async function runRecalled(
  outdir: string,
  { onlyNamed, ...typed }: TypedAgain,
  context: AnswerContext,
): Promise<CommandEnd> {
  const { words, flags, root } = await recallCommand(outdir, typed, context);
  if (flags.stream) {
    const whole = findWhole(flags);
    if (whole !== undefined)
      throw usageError(
        `the jobs of ${outdir} come on stdin one by one, and ${whole === 'redo' ? whole : `--${whole}`} needs all of them at once`,
        `give them as a file: ${repeatCommand(context.argv, '<file>')}`,
      );
    await context.ui.notice('the jobs come on stdin, one per line');
  }
  return runTyped(words, { ...flags, output: outdir, ...(onlyNamed && { onlyNamed }) }, { ...context, root });
}

/** Throws GatewayError usage for rows of `redo` that were typed as several words: the second one would be a file of jobs. */
async function requireOneWord(
  { outdir, ids, others }: { outdir: string; ids: string; others: readonly string[] },
  { io }: Context,
): Promise<void> {
  const [word] = others;
  // `-` pipes the jobs in.
  if (word === undefined || word === '-' || !/^[\w,+-]+$/.test(word)) return;
  if (await stat(resolve(io.cwd, word)).catch(() => undefined)) return;
  throw usageError(
    `batch redo takes the rows as one word, and there is no file ${JSON.stringify(word)}`,
    `for example: ${nextCommand({ outdir }, 'redo', { operand: [ids, ...others].join(',') })}`,
  );
}
