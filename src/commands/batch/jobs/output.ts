import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { batchFiles, type Job, type JobOutput, type JobReply } from '../../../batch/index.ts';
import type { Context, Outcome, Report } from '../../../cli/context.ts';
import type { BuiltRequest } from '../../../cli/request/build-request.ts';
import { emptyOutcome } from '../../../cli/output/outcome.ts';
import { resultDocument } from '../../../cli/output/document.ts';
import { type ImageOutput, type SavingContext, planImageFiles } from '../../../cli/output/save-images.ts';
import { findSchemaAnswer, toWanted } from '../../../cli/run/answer.ts';
import { type RecoveryInput, saveAfterBug, saveForRecovery } from '../../../cli/run/recovery.ts';
import { type Answer, listBlobs, mostImages, judgeAnswer, type Result, startDeadline } from '../../../client/index.ts';
import { findAnswerCost } from '../../../cost/cost.ts';
import type { Cost, MeteredAnswer } from '../../../cost/types.ts';
import { type ErrorClass, GatewayError, isBug } from '../../../errors.ts';
import { chooseHint } from '../../../advice.ts';
import { fileWord } from '../../../images/naming.ts';
import { createFileStore } from '../../../images/store.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { digestText } from '../../../request-key.ts';
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

/** What is made of a job so far. */
interface Making {
  job: Job;
  options: OutputOptions;
  asked: { model: string; prompt?: string | undefined; vars?: JsonObject | undefined };
  /** What came of it, as far as it is known. */
  outcome: Outcome;
  images: ImageOutput | undefined;
}

/** What is made of the reply of a job: images in the folder, a line of the results, a recovery file where neither can be written. */
export function createJobOutput(job: Job, options: OutputOptions): JobOutput {
  const { built, folder, flags, context } = options;
  const { vars } = job.values;
  const asked = { model: built.model, prompt: built.prompt, vars: isObject(vars) ? vars : undefined };
  const making: Making = { job, options, asked, outcome: emptyOutcome, images: undefined };
  const store = createFileStore({ folder: join(folder, batchFiles.images), spare: tmpdir() });
  options.atEnd(() => store.discard());
  return {
    store,
    mostImages: flags.maxImages ?? mostImages,
    async prepare() {
      if (makesImages(job)) making.images = await planImages(making);
    },
    count: (answer) => countAnswer(answer, making),
    accept: (answer, bounds) => acceptAnswer(answer, bounds, making),
    hasLost: () => making.outcome.unsaved.images.length > 0,
    keep: (failure, reply) => keepReply(failure, reply, making),
    document(reply, error) {
      const { durationMs, answer } = reply;
      const { model, prompt, vars: asGiven } = making.asked;
      const document = resultDocument(toReport(reply, making), { error, durationMs, redaction: context.ui });
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
  const { job, options } = making;
  const { built, flags } = options;
  const { result } = answer;
  if (makesImages(job) && result.images.length === 0) await fetchLinks(result, options, signal);
  const blobs = listBlobs(result);
  if (blobs.length > 0) making.images ??= await planImages(making);
  const saved = await making.images?.save(blobs, result, endOf);
  making.outcome = { ...making.outcome, ...saved };
  if (saved?.thrown) throw saved.thrown.value;
  // An image that could not be written is saved for recovery, and ends the batch.
  if (saved?.unsaved.failure !== undefined) throw saved.unsaved.failure;
  for (const warning of [...result.warnings, ...making.outcome.warnings]) await addWarning(warning, options);
  const { candidates = 1 } = job.values as { candidates?: number };
  const { error, warning } = judgeAnswer(answer, toWanted(flags, makesImages(job) ? candidates : 0));
  if (error) throw error;
  if (warning) await addWarning(`${warning.message}; ${chooseHint(warning)}`, options);
  if (built.check) {
    const { value } = await findSchemaAnswer(built.check, answer, signal);
    making.outcome = { ...making.outcome, answer: value };
  }
  if (making.images?.mismatch) throw making.images.mismatch;
}

/** Counts what an answer cost. Returns that, if it is known. */
function countAnswer(answer: MeteredAnswer, making: Making): Cost | undefined {
  const found = findAnswerCost(answer, making.options.settings);
  const lack = 'lack' in found && found.lack !== undefined ? [`the cost is unknown: ${found.lack}`] : [];
  const cost = 'cost' in found ? found.cost : undefined;
  const spent = { costs: cost ? [cost] : [], unknown: cost ? 0 : 1 };
  making.outcome = { ...making.outcome, spent, warnings: lack };
  return cost;
}

/** What the document and the recovery file of a job are made of. */
function toReport({ answer, attempts, isRecorded }: JobReply, { job, options, outcome }: Making): Report {
  const known = { ...outcome, reply: answer?.result, attempts, fromCache: isRecorded };
  return { command: job.command, job: job.id, warnings: options.warnings, outcome: known };
}

function createRecovery(reply: JobReply, making: Making, document?: object): RecoveryInput {
  const { folder, isFolderless, context } = making.options;
  const batch = isFolderless ? undefined : { folder: resolve(folder), request: reply.asked };
  return { report: toReport(reply, making), io: context.io, redaction: context.ui, batch, document };
}

async function keepReply(failure: unknown, reply: JobReply, making: Making): Promise<GatewayError> {
  const input = createRecovery(reply, making);
  return (isBug(failure) ? await saveAfterBug(failure, input) : await saveForRecovery(failure as GatewayError, input))
    .error;
}

async function keepResult(
  failure: unknown,
  reply: JobReply,
  document: object,
  making: Making,
): ReturnType<JobOutput['keepResult']> {
  const isUnwritten = failure instanceof GatewayError && unwritten.has(failure.class);
  if (!isUnwritten) return { failure, path: undefined };
  const { report, ...input } = createRecovery(reply, making, document);
  const text = (reply.answer?.result.text ?? '') !== '';
  const unsaved = { ...report.outcome.unsaved, text };
  const { error, kept } = await saveForRecovery(failure, {
    ...input,
    report: { ...report, outcome: { ...report.outcome, unsaved } },
  });
  return { failure: error, path: kept };
}

/** Plans where images go: to `images/<name>`. A name that is taken gets a number, so no image is replaced. */
async function planImages({ job, options, asked: { model, prompt } }: Making): Promise<ImageOutput> {
  const { atEnd, built, context, flags, folder } = options;
  const { strict = false, maxImages = mostImages } = flags;
  const { aspect } = job.values as { aspect?: string };
  const output = `${batchFiles.images}/${imageName(job)}.{ext}`;
  const saving: SavingContext = {
    io: { cwd: folder, now: () => context.io.now() },
    ui: { warn: (text) => addWarning(text, options), clean: (value) => context.ui.clean(value) },
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
  const deadline = startDeadline(settings.timeoutMs, signal);
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
