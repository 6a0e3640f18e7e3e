import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { batchFiles, digestText, type Job, type JobOutput, type JobReply } from '../../../batch/index.ts';
import type { Context, Report } from '../../../cli/context.ts';
import type { BuiltRequest } from '../../../cli/request/build-request.ts';
import { emptyReport } from '../../../cli/output/log.ts';
import { resultDocument } from '../../../cli/output/document.ts';
import { type ImageOutput, type SavingContext, planImageFiles } from '../../../cli/output/save-images.ts';
import { findSchemaAnswer, toWanted } from '../../../cli/run/answer.ts';
import { type RecoveryInput, saveAfterBug, saveForRecovery } from '../../../cli/run/recovery.ts';
import { type Answer, listBlobs, mostImages, judgeAnswer, type Result, startDeadline } from '../../../client/index.ts';
import { createMeter } from '../../../cost/cost.ts';
import type { Cost, MeteredAnswer } from '../../../cost/types.ts';
import { type ErrorClass, GatewayError, isBug } from '../../../errors.ts';
import { chooseHint } from '../../../advice.ts';
import { fileWord } from '../../../images/naming.ts';
import { createFileStore } from '../../../images/store.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import type { Settings } from '../../../settings/types.ts';
import type { BatchFlags } from '../flags.ts';
import { openLinkedFetcher } from '../../../cli/run/linked-pictures.ts';

/** The disk is full, or another run has the folder. */
const unwritten: ReadonlySet<ErrorClass> = new Set(['not-written', 'batch-locked']);

interface OutputOptions {
  built: BuiltRequest;
  settings: Settings;
  /** What reading the inputs warned of, and what the answer adds to it. */
  warnings: string[];
  atEnd: Context['atEnd'];
  /** The folder of the batch, and whether it has results, to which a later run can add a reply that was kept. */
  folder: string;
  isFolderless: boolean;
  flags: BatchFlags;
  context: Context;
}

/** Counts an answer that has a price, or whose cost the service told. */
function countAnswerCost(answer: MeteredAnswer, report: Report, settings: Settings): Cost | undefined {
  const results = [answer, ...(answer.hops ?? [])].map(({ result }) => result);
  if (results.some(({ toldCost }) => toldCost !== undefined) || Object.keys(settings.prices).length > 0)
    report.meter ??= createMeter(settings);
  return report.meter?.count(answer);
}

/** What is made of a job so far. */
interface Making {
  job: Job;
  options: OutputOptions;
  asked: { model: string; prompt?: string | undefined; vars?: JsonObject | undefined };
  report: Report;
  images: ImageOutput | undefined;
}

/** What is made of the reply of a job: images in the folder, a line of the results, a recovery file where neither can be written. */
export function createJobOutput(job: Job, options: OutputOptions): JobOutput {
  const { built, settings, warnings, folder, flags, context } = options;
  const { vars } = job.values;
  const asked = { model: built.model, prompt: built.prompt, vars: isObject(vars) ? vars : undefined };
  const report = emptyReport(job.command, warnings);
  report.job = job.id;
  const making: Making = { job, options, asked, report, images: undefined };
  const store = createFileStore({ folder: join(folder, batchFiles.images), spare: tmpdir() });
  options.atEnd(() => store.discard());
  return {
    store,
    mostImages: flags.maxImages ?? mostImages,
    async prepare() {
      if (makesImages(job)) making.images = await planImages(making);
    },
    count: (answer) => countAnswerCost(answer, report, settings),
    accept: (answer, bounds) => acceptAnswer(answer, bounds, making),
    hasLost: () => report.unsaved.images.length > 0,
    keep: (failure, reply) => keepReply(failure, reply, making),
    document(reply, error) {
      reportReply(reply, making);
      const { durationMs, answer } = reply;
      const { model, prompt, vars: asGiven } = making.asked;
      const document = resultDocument(report, { error, durationMs, redaction: context.ui });
      if (answer === undefined) Object.assign(document, { requestedModel: model, model });
      return Object.assign(document, { name: job.name }, context.ui.clean({ vars: asGiven, prompt }));
    },
    keepResult: (failure, reply, document) => keepResult(failure, reply, document, making),
  };
}

function makesImages({ command }: Job): boolean {
  return command.startsWith('image');
}

async function addWarning(text: string, { warnings, context: { ui } }: OutputOptions): Promise<void> {
  warnings.push(ui.redact(text));
}

/** Publishes the images of an answer, and holds it against what is wanted of it. */
async function acceptAnswer(
  answer: Answer,
  { endOf, signal }: Parameters<JobOutput['accept']>[1],
  making: Making,
): Promise<void> {
  const { job, options, report } = making;
  const { built, flags } = options;
  const { result } = answer;
  if (makesImages(job) && result.images.length === 0) await fetchLinks(result, options, signal);
  const blobs = listBlobs(result);
  if (blobs.length > 0) making.images ??= await planImages(making);
  await making.images?.save(blobs, result, endOf);
  // An image that could not be written is saved for recovery, and ends the batch.
  if (report.unsaved.failure !== undefined) throw report.unsaved.failure;
  for (const warning of result.warnings) await addWarning(warning, options);
  const { candidates = 1 } = job.values as { candidates?: number };
  const { error, warning } = judgeAnswer(answer, toWanted(flags, makesImages(job) ? candidates : 0));
  if (error) throw error;
  if (warning) await addWarning(`${warning.message}; ${chooseHint(warning)}`, options);
  if (built.check) report.answer = (await findSchemaAnswer(built.check, answer, signal)).value;
  if (making.images?.mismatch) throw making.images.mismatch;
}

function reportReply({ answer, attempts, isRecorded }: JobReply, { report }: Making): void {
  report.result = answer?.result;
  report.attempts = attempts;
  if (isRecorded) report.fromCache = true;
}

function createRecovery(reply: JobReply, making: Making, document?: object): RecoveryInput {
  reportReply(reply, making);
  const { folder, isFolderless, context } = making.options;
  const batch = isFolderless ? undefined : { folder: resolve(folder), request: reply.asked };
  return { report: making.report, io: context.io, redaction: context.ui, batch, document };
}

async function keepReply(failure: unknown, reply: JobReply, making: Making): Promise<GatewayError> {
  const input = createRecovery(reply, making);
  return isBug(failure) ? saveAfterBug(failure, input) : saveForRecovery(failure as GatewayError, input);
}

async function keepResult(
  failure: unknown,
  reply: JobReply,
  document: object,
  making: Making,
): ReturnType<JobOutput['keepResult']> {
  const { report } = making;
  const input = createRecovery(reply, making, document);
  report.unsaved.text = (reply.answer?.result.text ?? '') !== '';
  const isUnwritten = failure instanceof GatewayError && unwritten.has(failure.class);
  const kept = isUnwritten ? await saveForRecovery(failure, input) : failure;
  return { failure: kept, path: report.kept };
}

/** Plans where images go: to `images/<name>`. A name that is taken gets a number, so no image is replaced. */
async function planImages({ job, options, asked: { model, prompt }, report }: Making): Promise<ImageOutput> {
  const { atEnd, built, context, flags, folder } = options;
  const { strict = false, maxImages = mostImages } = flags;
  const { aspect } = job.values as { aspect?: string };
  const output = `${batchFiles.images}/${imageName(job)}.{ext}`;
  const saving: SavingContext = {
    io: { cwd: folder, now: () => context.io.now() },
    ui: { warn: (text) => addWarning(text, options), clean: (value) => context.ui.clean(value) },
    report,
    atEnd,
  };
  try {
    return await planImageFiles({ output, aspect, size: built.size, strict, maxImages, prompt, model }, saving);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError('not-written', error.message, { ...error.details, cause: error });
  }
}

/** Fetches the pictures that a result only links to. */
async function fetchLinks(result: Result, options: OutputOptions, signal: AbortSignal): Promise<void> {
  const { flags, context, settings, atEnd } = options;
  const warn = (text: string): Promise<void> => addWarning(text, options);
  const deadline = startDeadline(settings.timeoutMs.value, signal);
  try {
    await openLinkedFetcher(flags, context)?.(result, { settings, deadline, atEnd, warn });
  } finally {
    deadline.end();
  }
}

/** The job's `name`, else its id; an id that is not a file name gets its hash. */
function imageName({ id, name }: Pick<Job, 'id' | 'name'>): string {
  if (name !== undefined) return name;
  const word = fileWord(id);
  return word === id ? word : `${word}-${digestText(id).slice(0, 8)}`;
}
