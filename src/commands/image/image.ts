import { countCosts } from '../../cli/run/costs.ts';
import { describeBody } from '../../body.ts';
import type { JsonObject } from '../../json.ts';
import { type Gate, createGate, sleepByTimer } from '../../transport/gate.ts';
import { version } from '../../version.ts';
import { limitToFiles, type RequestOutcome, sendAll, mergeAnswers } from '../../cli/run/send-all.ts';
import type { Action, CommandOutcome, AnswerContext } from '../../cli/context.ts';
import type { BuiltRequest } from '../../cli/request/build-request.ts';
import { findTypeByName } from '../../images/image-type.ts';
import { prepareCommand, prepareRequest } from '../../cli/run/prepare.ts';
import { checkAnswer, reportAnswer, toWanted } from '../../cli/run/answer.ts';
import { prepareSending, showsRequest, showRequest } from '../../cli/run/sending.ts';
import { type FetchLinked, openLinkedFetcher } from '../../cli/run/linked-pictures.ts';
import { listLinkedImages, type Result } from '../../client/index.ts';
import { isPrintedAtEnd, printRaw } from '../../cli/output/print.ts';
import { addAskFlags } from '../../cli/flags/shared.ts';
import type { AskFlags } from '../../cli/run/settings.ts';
import type { Command } from 'commander';
import { addFlags, quoteWord, setExamples } from '../../cli/flags/flag.ts';
import { fieldFlags } from '../../cli/flags/fields.ts';
import { imageFlags } from '../../cli/flags/format.ts';
import { type GatewayError, usageError } from '../../errors.ts';
import { chooseHint } from '../../advice.ts';
import { saveUnread } from '../../cli/run/recovery.ts';
import { refuseStrayFiles } from '../../cli/input/stray-files.ts';

type ImageFlags = AskFlags<typeof imageFlags>;

/** Both image commands: the request is built, shown or checked against the disk, sent, and its images published. */
async function runImage(
  words: readonly string[],
  typed: ImageFlags,
  use: 'image' | 'edit',
  context: AnswerContext,
): Promise<CommandOutcome | void> {
  const begun = await prepareCommand(words, typed, use, context);
  const { flags, settings, deadline } = begun;
  const { count = 1, candidates } = flags;
  const imageType = flags.output === undefined ? undefined : findTypeByName(flags.output);
  const request = await prepareRequest(words, flags, { ...begun, imageType });
  if (imageType !== undefined) await warnOfType(imageType, request, flags, context);
  const preview = settings.preview.value;
  const provenance = flags.sidecar ? describeProvenance(request) : undefined;
  const plan = { ...flags, ...request, preview, count, provenance };
  if (showsRequest(flags)) {
    const shown = await showRequest(request, plan, begun);
    if (count > 1)
      await context.ui.notice(`without --${flags.curl ? 'curl' : 'dry-run'} ${count} such requests would be sent`);
    return shown;
  }
  const { images, client } = await prepareSending(plan, begun);
  if (flags.raw) return printRaw(client, request, deadline(), context);

  const progress = context.ui.progress('waiting for the gateway');
  const onAnswer = (answered: number): void => {
    if (count > 1) progress.update(`${answered}/${count}`);
  };
  onAnswer(0);
  let linked: FetchLinked | undefined;
  const fetchLinked = async (answered: Result): Promise<void> => {
    if (answered.images.length > 0) return;
    linked ??= openLinkedFetcher(flags, context);
    const { atEnd, ui } = context;
    await linked?.(answered, { settings, deadline: deadline(), atEnd, warn: (text) => ui.warn(text) });
  };
  const shared = count > 1 ? await openShared(count, flags, context) : {};
  const { outcomes, thrown } = await sendAll({
    ...request,
    ...shared,
    client,
    images,
    deadline: deadline(),
    count,
    candidates,
    unsaved: context.report.unsaved,
    maxTurns: flags.maxTurns,
    fetchLinked,
    onAnswer,
  }).finally(progress.stop);

  const { result, error } = mergeAnswers(outcomes);
  context.report.result = result;
  countOutcomes(outcomes, context);
  if (thrown) throw thrown.value;
  if (count > 1) await keepUnread(outcomes, error, context);
  if (!result) throw error;

  const wanted = toWanted(flags, count * (flags.candidates ?? 1));
  const links = wanted.takesLinks && result.images.length === 0 ? listLinkedImages(result.text) : [];
  if (!isPrintedAtEnd(context)) for (const link of links) await context.io.stdout.write(`${link}\n`);
  await checkAnswer({ result, error }, wanted, context);
  if (images.mismatch) throw images.mismatch;
  return undefined;
}

/** Of several replies that could not be decoded, all but the one of the error are kept here. */
async function keepUnread(
  outcomes: readonly RequestOutcome[],
  error: GatewayError | undefined,
  context: AnswerContext,
): Promise<void> {
  const failures = outcomes.flatMap(({ answer, failure }) => failure ?? answer?.error ?? []);
  const unread = failures.filter(({ details }) => details.unread !== undefined);
  for (const each of unread.filter(({ details }) => details.unread !== error?.details.unread)) {
    const saved = await saveUnread(each, context);
    await context.ui.warn(chooseHint(saved)?.split('\n')[0] ?? '');
  }
}

/** Types that a service may draw without being asked for one. */
const commonTypes = new Set(['image/png', 'image/jpeg']);

/** Says before the request is paid that its image will hardly have the type of its name. */
async function warnOfType(
  imageType: string,
  { post: { body } }: BuiltRequest,
  { output = '' }: ImageFlags,
  { ui }: AnswerContext,
): Promise<void> {
  const { output_format: asked } = body;
  const isLikely = asked === undefined ? commonTypes.has(imageType) : findTypeByName(`.${asked}`) === imageType;
  if (isLikely) return;
  await ui.warn(
    `-o ${quoteWord(output)}: this service is not asked for ${imageType}; the extension will be that of what comes, such as .png`,
  );
}

/** Requests in flight with `--count`, by default. */
const defaultConcurrency = 4;

/** What several requests share: after a 429 all of them wait. */
async function openShared(
  jobs: number,
  { concurrency: wanted = defaultConcurrency }: ImageFlags,
  context: AnswerContext,
): Promise<{ gate: Gate; concurrency: number }> {
  // Without the gate's budget of retries, which is for the many jobs of a batch.
  const { enter, close } = createGate({ elapsed: context.io.elapsed, sleep: sleepByTimer, jobs });
  return { gate: { enter, close }, concurrency: await limitToFiles(Math.min(wanted, jobs), context) };
}

/** A failure that ended others before they went out is counted once. */
function countOutcomes(outcomes: readonly RequestOutcome[], { report }: AnswerContext): void {
  const answers = outcomes.flatMap(({ answer, isSent }) => (answer && isSent ? [answer] : []));
  countCosts(answers, report);
  for (const failure of new Set(outcomes.map((outcome) => outcome.failure)))
    if (failure !== undefined && failure.billed !== 'no') report.meter?.lose();
}

/** What a sidecar says about the request: its body with Base64 shortened, and the hashes of its input images. */
function describeProvenance({ post, inputs }: BuiltRequest): JsonObject {
  const hashes = inputs.map(({ sha256 = '', mimeType }) => ({ sha256, mimeType }));
  return { tool: `gateway-cli ${version}`, request: describeBody(post.body), inputs: hashes };
}

function addImageFlags(command: Command, use: 'image' | 'edit'): void {
  addFlags(command, 'Flags', { ...fieldFlags('input', use), ...imageFlags, ...fieldFlags('content', use) });
  addAskFlags(command, use);
}

/** `image gen [prompt…]`: prompt in, image files out. */
export function imageGenCommand(command: Command): Action {
  command.argument('[prompt...]', 'the prompt, joined by spaces').usage('[prompt…] [flags]');
  setExamples(command, [
    'gateway-cli image gen "a lighthouse at dusk" --aspect 3:2 -o dusk.png',
    'gateway-cli image gen -n 4 "tile pattern" -o tiles/',
    "gateway-cli image gen --prompt-file prompt.txt -o '{slug}-{n}.{ext}' --sidecar",
    'gateway-cli image gen "a cat" -o - | gateway-cli image edit -i - "make it gray" -o cat.png',
  ]);
  addImageFlags(command, 'image');
  return (context, words, flags) => reportAnswer(context, (own) => runImage(words, flags as ImageFlags, 'image', own));
}

/** `image edit [prompt…] -i <image>`: images and an instruction in, image files out. */
export function imageEditCommand(command: Command): Action {
  command.argument('[prompt...]', 'the instruction, joined by spaces').usage('[prompt…] -i <image> [flags]');
  setExamples(command, [
    'gateway-cli image edit -i photo.jpg "remove the sign" -o clean.jpg',
    'gateway-cli image edit -i room.png -i sofa.png "put the sofa into the room"',
    'gateway-cli image edit -i https://example.org/cat.png "make it gray" -o - > gray.png',
  ]);
  addImageFlags(command, 'edit');
  return async (context, words, flags) => {
    const typed = flags as ImageFlags;
    if (!typed.image?.length) {
      await refuseStrayFiles(words, {}, context);
      throw usageError(
        'there is no image to edit',
        'for example: gateway-cli image edit -i photo.jpg "make it gray"; -i - takes it from stdin',
      );
    }
    return reportAnswer(context, (own) => runImage(words, typed, 'edit', own));
  };
}
