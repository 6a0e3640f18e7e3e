import { type AnswerFlags, planTextImages } from '../output/answer-file.ts';
import { type ImagePlan, type ImageOutput, planSaving } from '../output/save-images.ts';
import type { BuiltRequest } from '../request/build-request.ts';
import type { AnswerContext, CommandEnd } from '../context.ts';
import type { CommonFlags, PreparedCommand } from './prepare.ts';
import { checkAddress, createDryClient, openClient } from './client.ts';
import { withKeptChoice } from './model-notices.ts';
import type { GatewayClient, Payments } from '../../library/index.ts';
import { printRequest } from '../output/show-request.ts';
import { warnOfPrice } from './costs.ts';
import { sendRaw } from './raw.ts';

/** Plans the files of images that come with a text. */
export async function planBesideText(
  flags: AnswerFlags & Pick<ImagePlan, 'maxImages'>,
  { prompt, model }: Pick<BuiltRequest, 'prompt' | 'model'>,
  context: AnswerContext,
): Promise<ImagePlan> {
  const { force, dryRun, maxImages } = flags;
  return { ...(await planTextImages(flags, context)), force, dryRun, maxImages, prompt, model, imagesAreExtra: true };
}

/** The connection of a command that asks a model, and the place of the images. */
interface OpenedSending {
  images: ImageOutput;
  client: GatewayClient;
}

/** The parts of a command that decide how its request is sent. */
type SendingCommand = PreparedCommand & {
  /** A session keeps the answer, even if stdout is closed. */
  isKept?: boolean | undefined;
  /** Opens the limit of what the requests of the command cost. */
  openLimit?: (() => Payments | undefined) | undefined;
};

/**
 * Goes on with a command whose request is built. With `--dry-run` and `--curl` the request is shown, with `--raw` its reply is
 * printed as it comes, and that is the end of the command. Otherwise it is ready to be asked.
 */
export async function startSending(
  request: BuiltRequest,
  plan: ImagePlan,
  command: SendingCommand,
): Promise<OpenedSending | { ended: CommandEnd }> {
  const { flags, context, deadline } = command;
  if (showsRequest(flags)) return { ended: await showRequest(request, plan, command) };
  const opened = await prepareSending(plan, command);
  if (!flags.raw) return opened;
  return { ended: await sendRaw(opened.client, request, deadline(), context) };
}

/** Whether the flags ask for the request alone, which is not sent. */
export function showsRequest({ dryRun, curl }: Pick<CommonFlags, 'dryRun' | 'curl'>): boolean {
  return dryRun === true || curl === true;
}

/** Shows the request of a command. It refuses the same as a real run, makes no folder, and reads no key. */
async function showRequest(
  request: BuiltRequest,
  plan: ImagePlan,
  { flags, context, settings }: PreparedCommand,
): Promise<CommandEnd> {
  const client = await createDryClient(settings, context);
  const post = await withKeptChoice(request, settings, context);
  if (flags.dryRun && plan.output !== undefined) await planSaving(plan, context);
  const asked = await client.toTaughtFormat(post);
  const shown = await printRequest(client.address(asked), client.correct(asked).body, { flags, context, settings });
  const { count = 1 } = plan;
  if (count > 1)
    await context.ui.notice(`without --${flags.curl ? 'curl' : 'dry-run'} ${count} such requests would be sent`);
  return shown;
}

/** Prepares the sending of a command's request: the output is checked, then the key read and the client opened. */
async function prepareSending(
  plan: ImagePlan,
  { flags, context, settings, deadline, isKept, openLimit }: SendingCommand,
): Promise<OpenedSending> {
  const limit = openLimit?.();
  await checkAddress(settings, context);
  const isInFile = plan.imagesAreExtra ? context.selected?.file !== undefined : plan.output !== '-';
  if (context.io.stdout.mayBeClosed && (flags.raw || !(isInFile || isKept)))
    await context.ui.warn('stdout is closed or discarded, so the answer is kept nowhere; > <file> keeps it');
  const images = await planSaving(plan, context);
  await warnOfPrice(settings, context.ui);
  const client = await openClient(settings, flags, context, { deadline, limit });
  context.atEnd(() => client.close());
  return { images, client };
}
