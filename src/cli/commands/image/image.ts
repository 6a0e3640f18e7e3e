import {
  chooseHint,
  createGate,
  describeBody,
  findTypeByName,
  type Gate,
  type JsonObject,
  listLinkedImages,
  sleepByTimer,
  usageError,
  version,
} from '../../../library/index.ts';
import { limitToFiles } from '../../run/open-files.ts';
import { listErrors, sendAll, joinAnswers } from '../../run/send-all.ts';
import type { Action, CommandEnd, AnswerContext, Outcome } from '../../context.ts';
import type { BuiltRequest } from '../../request/build-request.ts';
import { prepareCommand, prepareRequest } from '../../run/prepare.ts';
import { answerCommand, checkAnswer, toWanted } from '../../run/answer.ts';
import { startSending } from '../../run/sending.ts';
import { openLinkedFetcher } from '../../run/linked-pictures.ts';
import { keepOutcome, toReport } from '../../output/outcome.ts';
import { isPrintedAtEnd } from '../../output/print.ts';
import { mismatchError } from '../../output/save-images.ts';
import { addAskFlags } from '../../flags/shared.ts';
import type { AskFlags } from '../../run/settings.ts';
import type { Command } from 'commander';
import { addFlags, quoteWord, setExamples } from '../../flags/flag.ts';
import { fieldFlags } from '../../flags/fields.ts';
import { imageFlags } from '../../flags/format.ts';
import { saveUnread } from '../../run/recovery.ts';
import { refuseStrayFiles } from '../../input/stray-files.ts';

type ImageFlags = AskFlags<typeof imageFlags>;

/** Runs both image commands: the request is built, shown or checked against the disk, sent, and its images are published. */
async function runImage(
  words: readonly string[],
  typed: ImageFlags,
  use: 'image' | 'edit',
  context: AnswerContext,
): Promise<CommandEnd | void> {
  const prepared = await prepareCommand(words, typed, use, { context });
  const { flags, settings, deadline } = prepared;
  const { count = 1 } = flags;
  const imageType = flags.output === undefined ? undefined : findTypeByName(flags.output);
  const request = await prepareRequest(words, flags, { ...prepared, imageType });
  if (imageType !== undefined) await warnOfType(imageType, request, flags, context);
  const { prompt, model, size } = request;
  const { preview } = settings;
  const provenance = flags.sidecar ? describeProvenance(request) : undefined;
  const plan = { ...flags, prompt, model, size, preview, count, provenance };
  const sending = await startSending(request, plan, prepared);
  if ('ended' in sending) return sending.ended;

  const progress = context.ui.progress('waiting for the gateway');
  const onAnswer = (answered: number): void => {
    if (count > 1) progress.update(`${answered}/${count}`);
  };
  onAnswer(0);
  const fetchLinked = openLinkedFetcher(flags, context);
  const { atEnd, ui } = context;
  const shared = count > 1 ? await openShared(count, flags, context) : {};
  const { outcomes, thrown } = await sendAll({
    ...shared,
    request,
    ...sending,
    pricing: settings,
    deadline: deadline(),
    count,
    maxTurns: flags.maxTurns,
    fetchLinked:
      fetchLinked &&
      ((reply) => fetchLinked(reply, { settings, deadline: deadline(), atEnd, warn: (text) => ui.warn(text) })),
    onAnswer,
  }).finally(progress.stop);
  const outcome = joinAnswers(outcomes);
  return keepOutcome({ ...outcome, thrown }, async () => {
    const kept = count > 1 ? await keepUnread(outcomes, outcome, context) : undefined;
    const { reply, error } = outcome;
    if (reply === undefined) return { outcome, error, kept };
    const wanted = toWanted(flags, count * (flags.candidates ?? 1));
    const links = wanted.takesLinks && reply.images.length === 0 ? listLinkedImages(reply.text) : [];
    if (!isPrintedAtEnd(context)) for (const link of links) await context.io.stdout.write(`${link}\n`);
    const lack = await findLack({ ...outcome, reply }, wanted, prepared);
    return { outcome, error: lack ?? mismatchError(outcome, flags), kept };
  });
}

/** Tells the end of an answer. Returns the error that it means, if any. */
async function findLack(...answer: Parameters<typeof checkAnswer>): Promise<unknown> {
  return checkAnswer(...answer).then(
    () => undefined,
    (error: unknown) => error,
  );
}

/**
 * Keeps replies that could not be decoded. The reply of the reported error is left out: it is kept elsewhere. Returns the newest
 * recovery file.
 */
async function keepUnread(
  outcomes: readonly Outcome[],
  outcome: Outcome,
  context: AnswerContext,
): Promise<string | undefined> {
  const own = outcome.error?.details.unread;
  let newest: string | undefined;
  for (const each of listErrors(outcomes)) {
    const { unread } = each.details;
    if (unread === undefined || unread === own) continue;
    const report = toReport(outcome, context);
    const { error, kept } = await saveUnread(each, { report, io: context.io, redaction: context.ui });
    newest = kept;
    await context.ui.warn(chooseHint(error)?.split('\n')[0] ?? '');
  }
  return newest;
}

/** Types that a service may draw without being asked for a type. */
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

/** The parts that several requests share: after a 429 all of them wait. */
async function openShared(
  jobs: number,
  { concurrency: wanted = defaultConcurrency }: ImageFlags,
  context: AnswerContext,
): Promise<{ gate: Gate; concurrency: number }> {
  // Without the gate's budget of retries, which is for the many jobs of a batch.
  const { enter, close } = createGate({ elapsed: context.io.elapsed, sleep: sleepByTimer, jobs });
  return { gate: { enter, close }, concurrency: await limitToFiles(Math.min(wanted, jobs), context) };
}

/** Facts of the request for a sidecar: its body with Base64 shortened, and the hashes of its input images. */
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
  return async (context, words, flags) => {
    const typed = flags as ImageFlags;
    return answerCommand(typed, { use: 'image', context }, (answerContext) =>
      runImage(words, typed, 'image', answerContext),
    );
  };
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
        'for example: gateway-cli image edit -i photo.jpg "make it gray"  # -i - takes it from stdin',
      );
    }
    return answerCommand(typed, { use: 'edit', context }, (answerContext) =>
      runImage(words, typed, 'edit', answerContext),
    );
  };
}
