import type { Settings } from '../settings/types.ts';
import {
  type Answer,
  chooseHint,
  judgeAnswer,
  type Result,
  shellWord,
  usageError,
  type Use,
  type Wanted,
} from '../../library/index.ts';
import type { AnswerContext, CommandEnd, Context, Outcome, SavedFiles } from '../context.ts';
import { prepareAnswerFile } from '../output/answer-file.ts';
import { logCost, logUsage } from '../output/log.ts';
import { keepOutcome } from '../output/outcome.ts';
import type { CommonFlags, PreparedCommand } from './prepare.ts';
import type { ImagePlan, ImageOutputFlags } from '../output/save-images.ts';
import { jsonLine } from '../terminal/escape.ts';
import { toEndDocument, isPrintedAtEnd } from '../output/print.ts';
import type { CheckedAnswer, SchemaCheck } from '../input/schema.ts';

/**
 * Runs a command that asks a model. The flags that choose a part of the answer are read first: they are known also if the command
 * fails.
 */
export async function answerCommand(
  typed: CommonFlags,
  { use, context }: { use: Use; context: Context },
  run: (context: AnswerContext) => Promise<CommandEnd | void>,
): Promise<CommandEnd> {
  const chosen = await chooseOutput(typed, use, context);
  const { selected, tags } = chosen;
  try {
    return { selected, tags, ...(await run({ ...context, ...chosen })) };
  } catch (error) {
    return { selected, tags, error };
  }
}

/** Throws GatewayError usage for flags that want several things of one answer, and for a place that cannot be written. */
async function chooseOutput(
  flags: CommonFlags,
  use: Use,
  context: Context,
): Promise<Pick<AnswerContext, 'selected' | 'tags' | 'writeFile'>> {
  const isText = use === 'text' || use === 'chat';
  checkStdoutOwner(flags, { isText, json: context.root.json === true });
  if (flags.raw) checkRaw(flags);
  const place = isText ? await prepareAnswerFile(flags, context) : undefined;
  const selected = place?.selected ?? (flags.field && { field: flags.field });
  return { selected, tags: flags.tag && Object.fromEntries(flags.tag), writeFile: place?.writeFile };
}

/** The conditions that flags set for an answer. */
export function toWanted(
  {
    requireComplete,
    requireModel,
    code,
    fetch,
  }: Pick<CommonFlags, 'requireComplete' | 'requireModel' | 'code'> & {
    fetch?: boolean;
  },
  images = 0,
): Wanted {
  return {
    images,
    requireComplete: requireComplete === true || code === true,
    requireModel,
    takesLinks: fetch === false,
  };
}

/**
 * The last part of a command that asks for a text: its usage, its warnings, and its place. Never throws: a lack of the answer
 * becomes the error.
 */
export async function finishText(
  outcome: Outcome & { reply: Result },
  { plan, schemaAnswer }: { plan: ImagePlan; schemaAnswer: SchemaAnswer | undefined },
  { flags, context, settings }: Pick<PreparedCommand, 'flags' | 'context' | 'settings'>,
): Promise<CommandEnd> {
  const wanted = toWanted(flags);
  const { reply } = outcome;
  return keepOutcome(outcome, async () => {
    if (flags.jsonl) await context.io.stdout.write(jsonLine(toEndDocument(outcome, wanted, context)));
    await checkAnswer(outcome, wanted, { context, settings });
    await warnOfNoImage(plan, outcome, context);
    if (schemaAnswer && 'error' in schemaAnswer) throw schemaAnswer.error;
    const answered = { ...outcome, answer: schemaAnswer?.value };
    return keepOutcome(answered, async () => {
      const file = await context.writeFile?.(reply, schemaAnswer?.json);
      return { outcome: file ? { ...answered, files: [...answered.files, file] } : answered };
    });
  });
}

/** Warns if `-o` was given and the reply has only text. */
export async function warnOfNoImage(
  { output }: ImageOutputFlags,
  { images, files }: SavedFiles,
  { ui }: Context,
): Promise<void> {
  if (output === undefined || images.length > 0 || files.length > 0) return;
  await ui.warn(`no image came; text goes to stdout: > ${shellWord(output)}`);
}

/** The end of an answer: its usage, its warnings, and the error that it means, if any. Throws GatewayError. */
export async function checkAnswer(
  { reply, error: cut, spent, warnings }: Outcome & { reply: Result },
  wanted: Wanted,
  { context, settings }: { context: AnswerContext; settings: Pick<Settings, 'prices'> },
): Promise<void> {
  if (context.ui.isVerbose) {
    await logUsage(reply.usage, context);
    await logCost(spent, Object.keys(settings.prices).length > 0, context.ui);
  }
  for (const each of warnings) await context.ui.warn(each);
  const { error, warning } = judgeAnswer({ result: reply, error: cut }, wanted);
  if (error) throw error;
  if (warning) await context.ui.warn(`${warning.message}; ${chooseHint(warning)}`);
  await noteToolCalls(reply, context);
}

/** The JSON that fits the schema of `--schema`, or the reason that there is none. */
export type SchemaAnswer = CheckedAnswer | { json?: undefined; value?: undefined; error: unknown };

/**
 * Checks an answer against its schema before it is printed: its JSON alone, or the text that came instead. Never throws, so that
 * the answer is printed also if a signal ends the check.
 */
export async function tryFindSchemaAnswer(
  check: SchemaCheck,
  answer: Answer,
  { flags, deadline }: Pick<PreparedCommand, 'flags' | 'deadline'>,
): Promise<SchemaAnswer> {
  const { error } = judgeAnswer(answer, toWanted(flags));
  if (error) return { error };
  try {
    return await findSchemaAnswer(check, answer, deadline().signal);
  } catch (thrown) {
    return { error: thrown };
  }
}

/** The JSON of an answer that fits the schema. Throws GatewayError; if a limit cut the answer, it names the limit. */
export async function findSchemaAnswer(
  check: SchemaCheck,
  answer: Answer,
  signal: AbortSignal,
): Promise<CheckedAnswer> {
  try {
    return await check(answer.result.text, signal);
  } catch (error) {
    if (signal.aborted && error === signal.reason) throw error;
    throw judgeAnswer(answer, { images: 0, requireComplete: true }).error ?? error;
  }
}

/** Tool calls are not part of the text, and this command does not run them. */
async function noteToolCalls({ toolCalls: [first, ...rest] }: Result, context: AnswerContext): Promise<void> {
  if (first === undefined || isPrintedAtEnd(context)) return;
  const names = [first, ...rest].map((call) => call.name).join(', ');
  const run = context.command === 'chat' ? `, --tool-exec ${shellWord(`${first.name}=<command>`)} runs it` : '';
  await context.ui.note(`the model calls ${names}; --json shows the input${run}`);
}

/** Throws GatewayError usage if two flags print to stdout, other than `--dry-run --json`. A text goes there without `-o -`, too. */
function checkStdoutOwner(flags: CommonFlags, { isText, json }: { isText: boolean; json: boolean }): void {
  const owners = [
    flags.dryRun && '--dry-run',
    flags.curl && '--curl',
    flags.raw && '--raw',
    flags.jsonl && '--jsonl',
    flags.field && '--field',
    flags.code && (flags.output ?? '-') === '-' && '--code',
    flags.output === '-' && !isText && '-o -',
    json && !flags.dryRun && '--json',
  ].filter((owner) => typeof owner === 'string');
  if (owners.length > 1)
    throw usageError(`${owners.join(' and ')} both write to stdout`, `keep one of them: ${owners[0]}`);
}

/** Throws GatewayError usage for a flag that `--raw` would ignore. */
function checkRaw(flags: CommonFlags & Pick<ImagePlan, 'count' | 'sidecar' | 'preview' | 'strict'>): void {
  if ((flags.count ?? 1) > 1)
    throw usageError('--raw prints one reply, and -n asks for several', 'leave one of them out');
  const idle = (['output', 'sidecar', 'preview', 'strict'] as const).find((name) => flags[name] !== undefined);
  if (idle === undefined) return;
  const flag = idle === 'output' ? '-o' : `--${idle}`;
  throw usageError(`--raw writes no files, so ${flag} has nothing to do`, `leave one of them out: --raw or ${flag}`);
}
