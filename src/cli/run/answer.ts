import type { Context, AnswerContext, CommandOutcome } from '../context.ts';
import { emptyReport, logUsage, logCost } from '../output/log.ts';
import type { CommonFlags, PreparedCommand } from './prepare.ts';
import { type Wanted, type Answer, judgeAnswer, type Result } from '../../client/index.ts';
import type { ImagePlan, ImageOutputFlags } from '../output/save-images.ts';
import { jsonLine } from '../../terminal/escape.ts';
import { toEndDocument, isPrintedAtEnd } from '../output/print.ts';
import { shellWord } from '../../shell-word.ts';
import { chooseHint } from '../../advice.ts';
import type { CheckedAnswer, SchemaCheck } from '../input/schema.ts';

/** Runs a command that asks a model: what is known of the answer is reported also where the command fails. */
export async function reportAnswer(
  context: Context,
  run: (context: AnswerContext) => Promise<CommandOutcome | void>,
): Promise<CommandOutcome> {
  const report = emptyReport(context.command, context.ui.warnings);
  try {
    return { ...(await run({ ...context, report })), report };
  } catch (error) {
    return { report, error };
  }
}

/** What the flags require of an answer. */
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

/** The last part of a command that asks for a text. Throws GatewayError for what the answer lacks; what came is in the report. */
export async function finishText(
  answer: Answer,
  { plan, held }: { plan: ImagePlan; held: HeldAnswer | undefined },
  { flags, context, writeFile }: PreparedCommand,
): Promise<void> {
  const wanted = toWanted(flags);
  if (flags.jsonl) await context.io.stdout.write(jsonLine(toEndDocument(answer, wanted, context)));
  await checkAnswer(answer, wanted, context);
  await warnOfNoImage(plan, context);
  if (held && 'error' in held) throw held.error;
  context.report.answer = held?.value;
  await writeFile?.(answer.result, held?.json);
}

/** Warns if `-o` was given and the reply has only text. */
export async function warnOfNoImage({ output }: ImageOutputFlags, { report, ui }: AnswerContext): Promise<void> {
  if (output === undefined || report.images.length > 0 || report.files) return;
  await ui.warn(`no image came; text goes to stdout: > ${shellWord(output)}`);
}

/**
 * The end of an answer: its usage, its warnings, and the error that it means, if any. Throws GatewayError; what came is in
 * the report by then.
 */
export async function checkAnswer(answer: Answer, wanted: Wanted, context: AnswerContext): Promise<void> {
  const { result } = answer;
  if (context.ui.isVerbose) {
    await logUsage(result.usage, context);
    await logCost(context);
  }
  for (const each of result.warnings) await context.ui.warn(each);
  const { error, warning } = judgeAnswer(answer, wanted);
  if (error) throw error;
  if (warning) await context.ui.warn(`${warning.message}; ${chooseHint(warning)}`);
  await noteToolCalls(result, context);
}

/** The JSON that fits the schema of `--schema`, or why there is none. */
export type HeldAnswer = CheckedAnswer | { json?: undefined; value?: undefined; error: unknown };

/**
 * Checks an answer that is printed when it has been held against its schema: its JSON alone, or what came in place of it.
 * Never throws, so that it is printed also where a signal ends the check.
 */
export async function holdToSchema(
  check: SchemaCheck,
  answer: Answer,
  { flags, deadline }: Pick<PreparedCommand, 'flags' | 'deadline'>,
): Promise<HeldAnswer> {
  const { error } = judgeAnswer(answer, toWanted(flags));
  if (error) return { error };
  try {
    return await findSchemaAnswer(check, answer, deadline().signal);
  } catch (thrown) {
    return { error: thrown };
  }
}

/** The JSON of an answer that fits the schema. Throws GatewayError; where a limit cut the answer, it names the limit. */
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
