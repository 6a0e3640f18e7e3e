import { hintOf } from '../../advice.ts';
import type { Answer } from '../../client/result.ts';
import type { Result } from '../../client/result.ts';
import { verdictOf, type Wanted } from '../../client/verdict.ts';
import type { JsonValue } from '../../json.ts';
import type { Context } from '../context.ts';
import { type ImagePlan, warnOfNoImage } from '../output/image-output.ts';
import { jsonLine } from '../../terminal/escape.ts';
import type { SchemaCheck } from '../input/schema.ts';
import { shellWord } from '../../shell-word.ts';
import { isPrintedAtEnd } from '../output/print.ts';
import { logCost, logUsage } from '../output/log.ts';

/** How a text ends. */
interface Ending {
  flags: { jsonl?: true };
  wanted: Wanted;
  plan: ImagePlan;
  check: SchemaCheck | undefined;
  print: (result: Result) => Promise<void>;
}

/** What is wanted of an answer, as the flags say. */
export function wantedOf(
  flags: { requireComplete?: true; requireModel?: true; code?: true | undefined },
  images = 0,
): Wanted {
  return {
    images,
    requireComplete: flags.requireComplete === true || flags.code === true,
    requireModel: flags.requireModel,
  };
}

/** The last part of a command that asks for a text. Throws GatewayError for what the answer lacks; what came is in the report. */
export async function finishText(
  answer: Answer,
  { flags, wanted, plan, check, print }: Ending,
  context: Context,
): Promise<void> {
  if (flags.jsonl) {
    const { endLine } = await import('../output/print.ts');
    await context.io.stdout.write(jsonLine(endLine(answer, wanted, context)));
  }
  await checkAnswer(answer, wanted, context);
  await warnOfNoImage(plan, context);
  if (check) context.report.answer = answerOfSchema(check, answer);
  await print(answer.result);
}

/**
 * The end of an answer: its usage, its warnings, and the error that it means, if any. Throws GatewayError; what came is in
 * the report by then.
 */
export async function checkAnswer(answer: Answer, wanted: Wanted, context: Context): Promise<void> {
  const { result } = answer;
  await logUsage(result.usage, context);
  await logCost(context);
  for (const warning of result.warnings) await context.ui.warn(warning);
  const { error, doubt } = verdictOf(answer, wanted);
  if (error) throw error;
  if (doubt) {
    await context.ui.warn(`${doubt.message}; ${hintOf(doubt)}`);
  }
  await noteToolCalls(result, context);
}

/** The answer as JSON that fits the schema. Throws GatewayError; where a limit cut the answer, it names the limit. */
export function answerOfSchema(check: SchemaCheck, answer: Answer): JsonValue {
  try {
    return check(answer.result.text);
  } catch (error) {
    throw verdictOf(answer, { images: 0, requireComplete: true }).error ?? error;
  }
}

/** Calls are no part of the text, and nothing runs them here. */
async function noteToolCalls({ toolCalls: [first, ...rest] }: Result, context: Context): Promise<void> {
  if (isPrintedAtEnd(context) || first === undefined) return;
  const names = [first, ...rest].map((call) => call.name).join(', ');
  const run = context.report.command === 'chat' ? `, --tool-exec ${shellWord(`${first.name}=<command>`)} runs it` : '';
  await context.ui.note(`the model calls ${names}; --json shows the input${run}`);
}
