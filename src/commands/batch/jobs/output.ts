import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { batchFiles, hashId, toHex, type Job, type JobOutput, type JobReply } from '../../../batch/index.ts';
import type { Context, Report } from '../../../cli/context.ts';
import type { BuiltRequest } from '../../../cli/request/build-request.ts';
import { emptyReport } from '../../../cli/output/log.ts';
import { resultDocument } from '../../../cli/output/document.ts';
import type { ImageOutput, SavingContext } from '../../../cli/output/save-images.ts';
import { findSchemaAnswer, toWanted } from '../../../cli/run/answer.ts';
import type { RecoveryInput } from '../../../cli/run/recovery.ts';
import {
  listBlobs,
  createLateStore,
  mostImages,
  judgeAnswer,
  type Result,
  startDeadline,
} from '../../../client/index.ts';
import { createMeter } from '../../../cost/cost.ts';
import type { Cost, MeteredAnswer } from '../../../cost/types.ts';
import { type ErrorClass, GatewayError, isBug } from '../../../errors.ts';
import { chooseHint } from '../../../advice.ts';
import { fileWord } from '../../../images/naming.ts';
import { isObject } from '../../../json.ts';
import type { Settings } from '../../../settings/types.ts';
import type { BatchFlags } from '../flags.ts';

/** The disk is full, or another run has the folder. */
const unwritten: ReadonlySet<ErrorClass> = new Set(['not-written', 'batch-locked']);

/** Few batches need it. */
const loadRecovery = () => import('../../../cli/run/recovery.ts');

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

/** What is made of the reply of a job: images in the folder, a line of the results, a recovery file where neither can be written. */
export function createJobOutput(job: Job, options: OutputOptions): JobOutput {
  const { built, settings, warnings, atEnd, folder, flags, context } = options;
  const { io, ui } = context;
  const isImage = job.command.startsWith('image');
  const report: Report = { ...emptyReport(job.command), job: job.id, warnings };
  let { model, prompt } = built;
  let vars = isObject(job.values['vars']) ? job.values['vars'] : undefined;
  let images: ImageOutput | undefined;
  const warn = async (text: string): Promise<void> => void warnings.push(ui.redact(text));
  const store = createLateStore(async () => {
    const { createFileStore } = await import('../../../images/store.ts');
    return createFileStore({ folder: join(folder, batchFiles.images), spare: tmpdir() });
  });
  atEnd(() => store.discard());

  function createRecovery({ request, answer, attempts, isRecorded }: JobReply, document?: object): RecoveryInput {
    Object.assign(report, { result: answer?.result, attempts, ...(isRecorded && { fromCache: true }) });
    const batch = options.isFolderless ? undefined : { folder: resolve(folder), request };
    return { report, io, redaction: ui, batch, document };
  }

  return {
    store,
    mostImages: flags.maxImages ?? mostImages,
    async prepare() {
      if (isImage) images = await planImages(job, { prompt, model }, { report, warn, ...options });
    },
    count: (answer) => countAnswerCost(answer, report, settings),
    async accept(answer, { endOf, signal }) {
      const { result } = answer;
      if (isImage && result.images.length === 0) await fetchLinks(result, options, { signal, warn });
      const blobs = listBlobs(result);
      if (blobs.length > 0) images ??= await planImages(job, { prompt, model }, { report, warn, ...options });
      await images?.save(blobs, result, endOf);
      // An image that could not be written is saved for recovery, and ends the batch.
      if (report.unsaved.failure !== undefined) throw report.unsaved.failure;
      for (const warning of result.warnings) await warn(warning);
      const { candidates = 1 } = job.values as { candidates?: number };
      const { error, warning } = judgeAnswer(answer, toWanted(flags, isImage ? candidates : 0));
      if (error) throw error;
      if (warning) await warn(`${warning.message}; ${chooseHint(warning)}`);
      if (built.check) report.answer = (await findSchemaAnswer(built.check, answer, signal)).value;
      if (images?.mismatch) throw images.mismatch;
    },
    get hasLost() {
      return report.unsaved.images.length > 0;
    },
    async keep(failure, reply) {
      const input = createRecovery(reply);
      const { saveAfterBug, saveForRecovery } = await loadRecovery();
      return isBug(failure) ? saveAfterBug(failure, input) : saveForRecovery(failure as GatewayError, input);
    },
    document(reply, error) {
      createRecovery(reply);
      const { durationMs, answer } = reply;
      return Object.assign(resultDocument(report, { error, durationMs, redaction: ui }), {
        ...(answer === undefined && { requestedModel: model, model }),
        name: job.name,
        ...ui.clean({ vars, prompt }),
      });
    },
    async keepResult(failure, reply, document) {
      const input = createRecovery(reply, document);
      report.unsaved.text = (reply.answer?.result.text ?? '') !== '';
      const isUnwritten = failure instanceof GatewayError && unwritten.has(failure.class);
      const kept = isUnwritten ? await (await loadRecovery()).saveForRecovery(failure, input) : failure;
      return { failure: kept, path: report.kept };
    },
    leaveEdits(submitted) {
      [model, prompt, vars] = [submitted, undefined, undefined];
      const what = 'the job was edited since it was submitted: this answers what was submitted';
      warnings.push(`${what}, and --accept-changes sends the new version`);
    },
  };
}

/** Plans where images go: to `images/<name>`. A name that is taken gets a number, so no image is replaced. */
async function planImages(
  job: Job,
  made: { prompt: string | undefined; model: string },
  {
    built: { size },
    flags,
    folder,
    context: { io, ui },
    ...saving
  }: OutputOptions & Pick<SavingContext, 'report'> & Pick<SavingContext['ui'], 'warn'>,
): Promise<ImageOutput> {
  const { strict = false, maxImages = mostImages } = flags;
  const { aspect } = job.values as { aspect?: string };
  const output = `${batchFiles.images}/${imageName(job)}.{ext}`;
  try {
    const { planImageFiles } = await import('../../../cli/output/save-images.ts');
    return await planImageFiles(
      { output, aspect, size, strict, maxImages, ...made },
      {
        io: { cwd: folder, now: () => io.now() },
        ui: { warn: saving.warn, clean: (value) => ui.clean(value) },
        report: saving.report,
        atEnd: saving.atEnd,
      },
    );
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError('not-written', error.message, { ...error.details, cause: error });
  }
}

/** Fetches the pictures that a result only links to. */
async function fetchLinks(
  result: Result,
  { flags, context, settings, atEnd }: OutputOptions,
  { signal, warn }: { signal: AbortSignal; warn: (text: string) => Promise<void> },
): Promise<void> {
  const { openLinkedFetcher } = await import('../../../cli/run/linked-pictures.ts');
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
  return word === id ? word : `${word}-${toHex(hashId(id)).slice(0, 8)}`;
}
