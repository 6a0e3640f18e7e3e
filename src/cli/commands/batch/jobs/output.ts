import { dirname } from 'node:path';
import { batchFiles, type FinishedReply, type Job, type JobOutput, type JobReply } from '../../../../batch/index.ts';
import type { Context, Outcome, Report } from '../../../context.ts';
import type { BuiltRequest } from '../../../request/build-request.ts';
import { emptyOutcome } from '../../../output/outcome.ts';
import { resultDocument } from '../../../output/document.ts';
import { type ImageOutput, type SavingContext, mismatchError, planImageFiles } from '../../../output/save-images.ts';
import { findSchemaAnswer, toWanted } from '../../../run/answer.ts';
import { saveAfterBug, saveForRecovery } from '../../../run/recovery.ts';
import {
  chooseHint,
  createFileStore,
  digestText,
  type ErrorClass,
  fileWord,
  GatewayError,
  isBug,
  isObject,
  judgeAnswer,
  listBlobs,
  mostImages,
  type Result,
  startDeadline,
} from '../../../../library/index.ts';
import type { Settings } from '../../../settings/types.ts';
import type { BatchFlags } from '../flags.ts';
import { openLinkedFetcher } from '../../../run/linked-pictures.ts';

/** The errors of a full disk, and of a folder that another run has. */
const unwritten: ReadonlySet<ErrorClass> = new Set(['not-written', 'batch-locked']);

/** The parts that the outputs of all jobs share. */
export interface SharedOutput {
  context: Context;
  flags: BatchFlags;
  /** The folder of the batch; undefined if results are printed alone, as no later run could add a kept reply to them. */
  outdir: string | undefined;
  /** The folder of pictures, and another one if its disk is full. */
  pictures: Parameters<typeof createFileStore>[0];
  /** The names that jobs of earlier runs gave to pictures which were removed since. */
  readLostNames(): Promise<ReadonlySet<string>>;
}

interface OutputOptions extends SharedOutput {
  /** The parts of the request that its answer is held to. */
  built: Pick<BuiltRequest, 'model'> & Partial<Pick<BuiltRequest, 'prompt' | 'size' | 'check'>>;
  settings: Settings;
  /** Warnings of the reading of inputs, to which the answer adds its own. */
  warnings: string[];
  atEnd: Context['atEnd'];
}

/** A job whose reply is read. */
interface Making {
  job: Job;
  options: OutputOptions;
  /** The plan of the places of its images; made once. */
  images(): Promise<ImageOutput>;
}

/** Makes the output of a job: images in the folder, a line of the results, or a recovery file if neither can be written. */
export function createJobOutput(job: Job, options: OutputOptions): JobOutput {
  const store = createFileStore(options.pictures);
  options.atEnd(() => store.discard());
  let planned: Promise<ImageOutput> | undefined;
  const making: Making = { job, options, images: () => (planned ??= planImages(job, options)) };
  return {
    store,
    mostImages: options.flags.maxImages ?? mostImages,
    async prepare() {
      if (makesImages(job)) await making.images();
    },
    finish: async (reply, bounds) => describeFinished(await finishReply(reply, { making, ...bounds }), reply, making),
  };
}

/** The outcome of a job with its written files, and the reason why it is not as requested. */
interface Finished {
  outcome: Outcome;
  failure: unknown;
}

function toOutcome({ answer, attempts, isRecorded, counted }: JobReply): Outcome {
  return { ...emptyOutcome, reply: answer?.result, ...counted, attempts, fromCache: isRecorded };
}

/** The finished reply as the batch needs it. */
function describeFinished({ outcome, failure }: Finished, reply: JobReply, { job, options }: Making): FinishedReply {
  const { built, context, outdir, warnings } = options;
  const report: Report = { command: job.command, job: job.id, warnings, outcome };
  const batch = outdir === undefined ? undefined : { folder: outdir, request: reply.answerName };
  const recovery = { report, io: context.io, redaction: context.ui, batch };
  return {
    failure,
    hasLost: outcome.unsaved.images.length > 0,
    async keep(thrown) {
      const saved = isBug(thrown)
        ? await saveAfterBug(thrown, recovery)
        : await saveForRecovery(thrown as GatewayError, recovery);
      return saved.error;
    },
    document({ error, durationMs }) {
      const { vars } = job.values;
      const document = resultDocument(report, { error, durationMs, redaction: context.ui });
      if (reply.answer === undefined) Object.assign(document, { requestedModel: built.model, model: built.model });
      const asked = { vars: isObject(vars) ? vars : undefined, prompt: built.prompt };
      return Object.assign(document, { name: job.name }, context.ui.clean(asked));
    },
    async keepResult(thrown, document) {
      const isUnwritten = thrown instanceof GatewayError && unwritten.has(thrown.class);
      if (!isUnwritten) return { failure: thrown, path: undefined };
      const unsaved = { ...outcome.unsaved, text: (outcome.reply?.text ?? '') !== '' };
      const whole = { ...recovery, document, report: { ...report, outcome: { ...outcome, unsaved } } };
      const { error, kept } = await saveForRecovery(thrown, whole);
      return { failure: error, path: kept };
    },
  };
}

function makesImages({ command }: Job): boolean {
  return command.startsWith('image');
}

async function addWarning(text: string, { warnings, context: { ui } }: OutputOptions): Promise<void> {
  warnings.push(ui.redact(text));
}

/** An answer that is being finished, and its job. */
type Finishing = Parameters<JobOutput['finish']>[1] & { making: Making };

type JobAnswer = NonNullable<JobReply['answer']>;

/** Saves the images of a reply, and checks it once these are written. */
async function finishReply(reply: JobReply, finishing: Finishing): Promise<Finished> {
  const { answer, failure } = reply;
  const came = toOutcome(reply);
  if (answer === undefined) return { outcome: came, failure };
  const saved = await saveImages(came, answer, finishing).catch((value: unknown): Outcome => ({
    ...came,
    thrown: { value },
  }));
  const lost = saved.thrown ? saved.thrown.value : saved.unsaved.failure;
  return lost === undefined ? holdAnswer(saved, answer, finishing) : { outcome: saved, failure: lost };
}

/** Publishes the images of an answer. An image that could not be written is saved for recovery, and ends the batch. */
async function saveImages(
  came: Outcome,
  { result }: JobAnswer,
  { making, endOf, signal }: Finishing,
): Promise<Outcome> {
  const { job, options, images } = making;
  const reply = makesImages(job) && result.images.length === 0 ? await fetchLinks(result, options, signal) : result;
  const blobs = listBlobs(reply);
  if (blobs.length === 0 && !makesImages(job)) return came;
  return { ...came, reply, ...(await (await images()).save(blobs, reply, endOf)) };
}

/** Checks an answer against the request. */
async function holdAnswer(
  saved: Outcome,
  answer: JobAnswer,
  { making: { job, options }, signal }: Finishing,
): Promise<Finished> {
  const { built, flags } = options;
  try {
    for (const warning of [...answer.result.warnings, ...saved.warnings]) await addWarning(warning, options);
    const { candidates = 1 } = job.values as { candidates?: number };
    const { reply: result = answer.result } = saved;
    const { error, warning } = judgeAnswer({ ...answer, result }, toWanted(flags, makesImages(job) ? candidates : 0));
    if (error) return { outcome: saved, failure: error };
    if (warning) await addWarning(`${warning.message}; ${chooseHint(warning)}`, options);
    const value = built.check && (await findSchemaAnswer(built.check, { ...answer, result }, signal)).value;
    return { outcome: { ...saved, answer: value }, failure: mismatchError(saved, flags) };
  } catch (failure) {
    return { outcome: saved, failure };
  }
}

/** Plans the places of images: `images/<name>`. A name that is taken gets a number, so no image is replaced. */
async function planImages(job: Job, options: OutputOptions): Promise<ImageOutput> {
  const { atEnd, built, context, flags, pictures } = options;
  const { model, prompt } = built;
  const { strict = false, maxImages = mostImages } = flags;
  const { aspect } = job.values as { aspect?: string };
  const output = `${batchFiles.images}/${chooseName(imageName(job), await options.readLostNames())}.{ext}`;
  const saving: SavingContext = {
    io: { cwd: dirname(pictures.folder), now: () => context.io.now() },
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
async function fetchLinks(result: Result, options: OutputOptions, signal: AbortSignal): Promise<Result> {
  const { flags, context, settings, atEnd } = options;
  const warn = (text: string): Promise<void> => addWarning(text, options);
  const deadline = startDeadline(settings.timeoutMs, signal);
  try {
    return (await openLinkedFetcher(flags, context)?.(result, { settings, deadline, atEnd, warn })) ?? result;
  } finally {
    deadline.end();
  }
}

/** A name that no lost picture had: an answer that names one would show another picture. */
function chooseName(name: string, lost: ReadonlySet<string>): string {
  let free = name;
  for (let number = 2; lost.has(free); number++) free = `${name}-${number}`;
  return free;
}

/** The names that jobs can have given to the files of pictures: for `cat-2-1.png`, these are `cat-2-1`, `cat-2` and `cat`. */
export function listFileNames(files: readonly string[]): Set<string> {
  const names = new Set<string>();
  for (const file of files) {
    let name = /^(.*)\.\w+$/s.exec(file)?.[1];
    while (name !== undefined) {
      names.add(name);
      name = /^(.*)-\d+$/s.exec(name)?.[1];
    }
  }
  return names;
}

/** The job's `name`, otherwise its id; an id that is no file name gets its hash. */
function imageName({ id, name }: Pick<Job, 'id' | 'name'>): string {
  if (name !== undefined) return name;
  const word = fileWord(id);
  return word === id ? word : `${word}-${digestText(id).slice(0, 8)}`;
}
