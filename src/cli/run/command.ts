import { closeSync, openSync } from 'node:fs';
import { getErrorCode, GatewayError, usageError } from '../../errors.ts';
import {
  type Answer,
  type Client,
  createLateStore,
  deadlineOnce,
  mostImages,
  type Result,
  judgeAnswer,
  type Wanted,
  within,
} from '../../client/index.ts';
import { formatFacts, type ApiRequest } from '../../formats/format.ts';
import { byDefault } from '../../settings/sources.ts';
import type { Settings, Use } from '../../settings/types.ts';
import type { AnswerContext, CommandOutcome, Context } from '../context.ts';
import type { ImageOutput, ImageOutputFlags, ImagePlan } from '../output/save-images.ts';
import type { FlagValues } from '../flags/flag.ts';
import type { outputFlags } from '../flags/shared.ts';
import {
  type AnswerFlags,
  toEndDocument,
  planTextImages,
  isPrintedAtEnd,
  prepareAnswerOutput,
} from '../output/print.ts';
import {
  type Building,
  type BuiltRequest,
  buildRequest,
  refuseLackingFlags,
  type RequestFlags,
} from '../request/build-request.ts';
import { openClient, createDryClient } from './client.ts';
import { type ConnectionFlags, readSettings } from './settings.ts';
import { inputUrls } from '../input/input-files.ts';
import { refuseTwoPrompts } from '../input/prompt.ts';
import type { PromptYamlFlags } from '../request/prompt-yaml.ts';
import { chooseHint } from '../../advice.ts';
import { jsonLine } from '../../terminal/escape.ts';
import type { CheckedAnswer, SchemaCheck } from '../input/schema.ts';
import { services } from '../../vendors/services.ts';
import { shellWord } from '../../shell-word.ts';
import { emptyReport, logCost, logUsage } from '../output/log.ts';

/** Flags that every command has that asks a model, as they were typed. */
type CommonFlags = ConnectionFlags &
  FlagValues<typeof outputFlags> &
  AnswerFlags & { jsonl?: true; promptFile?: string };

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

/** The checked flags of a command, and the settings from flags, environment and profile. */
type PreparedCommand = Awaited<ReturnType<typeof prepareCommand<CommonFlags>>>;

/** The first part of a command that asks a model. Throws GatewayError usage or auth. */
export async function prepareCommand<Flags extends CommonFlags>(
  words: readonly string[],
  typed: Flags,
  use: Use,
  context: AnswerContext,
) {
  const flags = await withPromptYaml(words, typed, context);
  // An image has one place; of a text, `--code` and `-o` may say where it goes.
  const isText = use === 'text' || use === 'chat';
  checkStdoutOwner(isText ? { ...flags, output: flags.code && flags.output } : flags, context.root.json === true);
  checkRaw(flags);
  const print = await prepareAnswerOutput(isText ? flags : { field: flags.field }, context);
  if (flags.tag) context.report.tags = Object.fromEntries(flags.tag);
  const settings = withoutBatchLane(await readSettings(flags, context, use), context.command);
  // The time of the command begins when the deadline is first used.
  const deadline = deadlineOnce(settings.timeoutMs.value, context.signal);
  return { context, use, flags, settings, deadline, print };
}

/** Fetches the inputs that are URLs, and builds the request, within the time of the command. Throws GatewayError. */
export async function prepareRequest(
  words: readonly string[],
  flags: RequestFlags & ConnectionFlags,
  building: Building & Pick<PreparedCommand, 'context' | 'settings' | 'deadline'>,
): Promise<BuiltRequest> {
  const { context, settings, deadline } = building;
  const prepare = async (): Promise<BuiltRequest> => {
    const urls = inputUrls(flags);
    if (urls.length === 0) return buildRequest(words, flags, building);
    // Before anything is fetched.
    refuseLackingFlags(flags, building);
    const { openUrlFetcher } = await import('./fetch-urls.ts');
    const options = { settings, deadline: deadline(), atEnd: context.atEnd };
    const fetched = await openUrlFetcher(flags, context).fetchAll(urls, options);
    return buildRequest(words, flags, { ...building, fetched });
  };
  return within(deadline(), prepare());
}

/** The lane `batch` of a profile is for batches. Throws GatewayError usage if it was typed. */
function withoutBatchLane(settings: Settings, command: string): Settings {
  const { lane, format, service } = settings;
  if (lane.value !== 'batch') return settings;
  if (lane.origin.kind !== 'flag') return { ...settings, lane: byDefault('live') };
  const { lacksBatches, title } = services[service.value];
  if (lacksBatches) throw usageError(`${title} has no batch API`, 'use --lane live');
  const flex = formatFacts[format.value].tierField === undefined ? '' : 'for half price here: --lane flex; ';
  throw usageError(
    `--lane batch is for many requests, not for ${command}`,
    `${flex}for many: gateway-cli batch jobs.jsonl -o out --lane batch`,
  );
}

/** Where images go that come with a text. */
export async function planBesideText(
  flags: AnswerFlags & Pick<ImagePlan, 'maxImages'>,
  { prompt, model }: Pick<BuiltRequest, 'prompt' | 'model'>,
  context: AnswerContext,
): Promise<ImagePlan> {
  const { force, dryRun, maxImages } = flags;
  return { ...(await planTextImages(flags, context)), force, dryRun, maxImages, prompt, model, imagesAreExtra: true };
}

/** Whether the flags ask for the request alone, which is not sent. */
export function showsRequest({ dryRun, curl }: Pick<CommonFlags, 'dryRun' | 'curl'>): boolean {
  return dryRun === true || curl === true;
}

/** Shows the request of a command. It refuses what a real run refuses, makes no folder, and reads no key. */
export async function showRequest(
  post: ApiRequest,
  plan: ImagePlan,
  { flags, context, settings }: PreparedCommand,
): Promise<CommandOutcome> {
  const client = await createDryClient(settings, context);
  if (flags.dryRun && plan.output !== undefined) await planImageOutput(plan, context);
  const { printRequest } = await import('../output/show-request.ts');
  return printRequest(client.address(post), post.body, { flags, context, settings });
}

/**
 * Between a command's request and its sending: the output is checked, then the key read and the client opened. Returns what
 * sends the request and what publishes the images of the reply. `isKept`: a session keeps the answer, even if stdout is closed.
 */
export async function prepareSending(
  plan: ImagePlan,
  { flags, context, settings, deadline, isKept = false }: PreparedCommand & { isKept?: boolean },
): Promise<{ images: ImageOutput; client: Client }> {
  // For its check of the base URL and its warnings, before the output is planned.
  await createDryClient(settings, context);
  const isInFile = plan.imagesAreExtra ? context.report.selected?.file !== undefined : plan.output !== '-';
  if (context.io.stdout.mayBeClosed && (flags.raw || !(isInFile || isKept)))
    await context.ui.warn('stdout is closed or discarded, so the answer is kept nowhere; > <file> keeps it');
  const images = await planImageOutput(plan, context);
  if (Object.keys(settings.prices).length > 0) {
    const { openMeter } = await import('./costs.ts');
    context.report.meter = await openMeter(settings, context.ui);
  }
  requireDescriptors();
  const client = await openClient(settings, flags, context, { deadline, report: context.report });
  context.atEnd(() => client.close());
  return { images, client };
}

/**
 * Checks the output before a request is paid for. Without `-o`, the place of images that come with a text is planned when one
 * comes: the command must work in a read-only folder. Throws GatewayError usage.
 */
export async function planImageOutput(wanted: ImagePlan, context: AnswerContext): Promise<ImageOutput> {
  const plan = async () => (await import('../output/save-images.ts')).planSaving(wanted, context);
  if (!wanted.imagesAreExtra || wanted.output !== undefined) return plan();
  let planned: Promise<ImageOutput> | undefined;
  const planOnce = () => (planned ??= plan());
  return {
    openStore: (onFallback) => createLateStore(async () => (await planOnce()).openStore(onFallback)),
    async save(images, reply, endOf) {
      if (images.length > 0) await (await planOnce()).save(images, reply, endOf);
    },
    most: wanted.maxImages ?? mostImages,
    mismatch: undefined,
  };
}

/** Whether a path names a prompt file in the format of GitHub Models. */
export function isPromptYaml(path: string): boolean {
  return /\.prompt\.ya?ml$/i.test(path);
}

/**
 * The flags with what their `.prompt.yml` file says in its place; what was typed wins. Other prompt files are left to those
 * who read them. Throws GatewayError usage.
 */
export async function withPromptYaml<Flags extends PromptYamlFlags>(
  words: readonly string[],
  flags: Flags,
  context: Context,
  command = context.command,
): Promise<Flags> {
  if (flags.template !== undefined) return (await withTemplate(words, flags, context, command)) as Flags;
  const { promptFile, ...typed } = flags;
  if (promptFile === undefined || !isPromptYaml(promptFile)) return flags;
  refuseTwoPrompts(words, flags);
  const { mergePromptYaml, openPromptYaml } = await import('../request/prompt-yaml.ts');
  const { content, place } = await openPromptYaml('--prompt-file', promptFile, context);
  return mergePromptYaml(typed, content, { place, command }) as unknown as Flags;
}

/** The flags with a prompt by its name: a `.prompt.yml` in their place, or the path of a text. Throws GatewayError usage. */
async function withTemplate(
  words: readonly string[],
  { template = '', ...typed }: PromptYamlFlags,
  context: Context,
  command: string,
): Promise<PromptYamlFlags> {
  if (typed.promptFile !== undefined)
    throw usageError('--template and --prompt-file both name a prompt', 'keep one of them');
  const { findPrompt } = await import('../input/named-prompts.ts');
  const path = await findPrompt(template, context.io);
  if (!isPromptYaml(path)) return { ...typed, template: path };
  const { mergePromptYaml, openPromptYaml } = await import('../request/prompt-yaml.ts');
  const { content, place } = await openPromptYaml('--template', path, context);
  const hasPrompt = content.turns.at(-1)?.role === 'user';
  if (hasPrompt && (words.length > 0 || typed.prompt !== undefined))
    throw usageError(
      `${place} ends with a prompt of its own, and another one is given`,
      'fill its {{blanks}} with --var, pipe the text, or leave the prompt out of the file',
    );
  return mergePromptYaml(typed, content, { place, command });
}

/** What the flags require of an answer. */
export function toWanted(
  { requireComplete, requireModel, code }: Pick<CommonFlags, 'requireComplete' | 'requireModel' | 'code'>,
  images = 0,
): Wanted {
  return { images, requireComplete: requireComplete === true || code === true, requireModel };
}

/** The last part of a command that asks for a text. Throws GatewayError for what the answer lacks; what came is in the report. */
export async function finishText(
  answer: Answer,
  { plan, held }: { plan: ImagePlan; held: HeldAnswer | undefined },
  { flags, context, print }: PreparedCommand,
): Promise<void> {
  const wanted = toWanted(flags);
  if (flags.jsonl) await context.io.stdout.write(jsonLine(toEndDocument(answer, wanted, context)));
  await checkAnswer(answer, wanted, context);
  await warnOfNoImage(plan, context);
  if (held && 'error' in held) throw held.error;
  context.report.answer = held?.value;
  await print(answer.result, held?.json);
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
  await logUsage(result.usage, context);
  await logCost(context);
  for (const each of result.warnings) await context.ui.warn(each);
  const { error, warning } = judgeAnswer(answer, wanted);
  if (error) throw error;
  if (warning) await context.ui.warn(`${warning.message}; ${chooseHint(warning)}`);
  await noteToolCalls(result, context);
}

/** The JSON that fits the schema of `--schema`, or why there is none. */
export type HeldAnswer = CheckedAnswer | { error: unknown };

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

/** The JSON that is printed in place of the answer, if it fits. */
export function getHeldJson(held: HeldAnswer | undefined): string | undefined {
  return held && 'json' in held ? held.json : undefined;
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

/** Throws GatewayError usage if two flags print to stdout, other than `--dry-run --json`. */
function checkStdoutOwner(flags: CommonFlags, json: boolean): void {
  const owners = [
    flags.dryRun && '--dry-run',
    flags.curl && '--curl',
    flags.raw && '--raw',
    flags.jsonl && '--jsonl',
    flags.field && '--field',
    flags.code && (flags.output ?? '-') === '-' && '--code',
    flags.output === '-' && !flags.code && '-o -',
    json && !flags.dryRun && '--json',
  ].filter((owner) => typeof owner === 'string');
  if (owners.length > 1)
    throw usageError(`${owners.join(' and ')} both write to stdout`, `keep one of them: ${owners[0]}`);
}

/** Throws GatewayError usage for a flag that `--raw` would ignore. */
function checkRaw(flags: CommonFlags & Pick<ImagePlan, 'count' | 'sidecar' | 'preview' | 'strict'>): void {
  if (!flags.raw) return;
  if ((flags.count ?? 1) > 1)
    throw usageError('--raw prints one reply, and -n asks for several', 'leave one of them out');
  const idle = (['output', 'sidecar', 'preview', 'strict'] as const).find((name) => flags[name] !== undefined);
  if (idle === undefined) return;
  const flag = idle === 'output' ? '-o' : `--${idle}`;
  throw usageError(`--raw writes no files, so ${flag} has nothing to do`, `leave one of them out: --raw or ${flag}`);
}

/** How many descriptors a reply needs at most: its connection, two images, a recovery file, a session, and code that is loaded late. */
const descriptorsOfReply = 8;

/** Checks, before anything is paid for, that a reply can be written. Throws GatewayError not-sent. */
export function requireDescriptors(): void {
  const opened: number[] = [];
  try {
    while (opened.length < descriptorsOfReply) opened.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if (getErrorCode(error) !== 'EMFILE') return;
    throw new GatewayError('not-sent', 'too many files are open: the reply could not be written', {
      reason: 'open-files',
      sent: 'no',
      retryable: false,
      cause: error,
    });
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
