import { randomBytes } from 'node:crypto';
import { access, constants, readdir, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { listBlobs } from '../../client/index.ts';
import { endSignals, toGatewayError, GatewayError } from '../../errors.ts';
import { describeWriteError } from '../../files/file-reason.ts';
import {
  keepTempFiles,
  readRecoveryHead,
  type RecoveryHead,
  type SavedBatch,
  type SavedReply,
  writeRecovery,
} from '../../recovery/recovery-file.ts';
import type { Redaction } from '../../settings/redact.ts';
import { stateFolder } from '../../settings/config-file.ts';
import { shellWord } from '../../shell-word.ts';
import type { Io } from '../../terminal/io.ts';
import type { AnswerContext, Report } from '../context.ts';
import { chooseHint } from '../../advice.ts';
import { resultDocument } from '../output/document.ts';
import { append } from '../../long-lists.ts';

/** The run whose reply is saved. */
export interface RecoveryInput {
  report: Report;
  io: Io;
  redaction: Redaction;
  /** The batch of the job that it answers, and its document where that is its whole result. */
  batch?: Omit<SavedBatch, 'isResult'> | undefined;
  document?: object | undefined;
}

/**
 * Saves a paid reply that could not be written in a recovery file. The hint of the returned error says how to write it out, or,
 * if no recovery file can be written either, which files are left. It is not retryable: that would be paid for a second time.
 */
export async function saveForRecovery(failure: GatewayError, input: RecoveryInput): Promise<GatewayError> {
  const { kept, result, attempts, unsaved } = input.report;
  const { unread } = failure.details;
  if (unread !== undefined) unsaved.body ??= { content: { data: unread } };
  const isAnswered = result !== undefined && attempts > 0;
  if (kept === undefined && unsaved.body === undefined && unsaved.images.length === 0 && !isAnswered) return failure;
  const hint = await saveToRecovery(input, failure).catch(
    (error: unknown) => `the reply could not be kept: ${describeWriteError(error)}`,
  );
  const hints = [hint, chooseHint(failure)].filter((line) => line !== undefined);
  return failure.withDetails({ hint: hints.join('\n'), sent: 'yes', retryable: false, unread: undefined });
}

/**
 * Saves the output that an action could not write, and throws its error (exit 12). Returns if the error of the action takes
 * precedence: a signal, a closed stdout or a bug.
 */
export async function saveUnwritten(
  failure: GatewayError,
  thrown: { value: unknown } | undefined,
  { io, report, ui }: AnswerContext,
): Promise<void> {
  report.unsaved.text ||= io.stdout.failure !== undefined && !report.command.startsWith('image');
  const error = await saveForRecovery(failure, { report, io, redaction: ui });
  if (thrown === undefined || !takesPrecedence(thrown.value)) throw error;
  if (report.kept !== undefined) await ui.warn(recoverToHint(report.kept, report));
}

/**
 * Saves a paid answer whose code was not printed, because it was cut or has none, and throws that error; that of a signal is left to
 * the caller.
 */
export async function saveUnprinted(thrown: unknown, { io, report, ui }: AnswerContext): Promise<void> {
  if (!(thrown instanceof GatewayError) || thrown.class === 'closed' || (report.result?.text ?? '') === '') return;
  report.unsaved.text = true;
  const error = await saveForRecovery(thrown, { report, io, redaction: ui });
  if (!takesPrecedence(thrown)) throw error;
  if (report.kept !== undefined) await ui.warn(recoverToHint(report.kept, report));
}

/** Saves a paid reply that could not be decoded, if the error has one. Returns the error. */
export async function saveUnread<E>(thrown: E, { io, report, ui }: AnswerContext): Promise<E | GatewayError> {
  if (!(thrown instanceof GatewayError) || thrown.details.unread === undefined || thrown.billed === 'no') return thrown;
  // A conversation, and several requests for images, can have more than one.
  report.kept = undefined;
  report.unsaved.body = undefined;
  return saveForRecovery(thrown, { report, io, redaction: ui });
}

/** Saves what is known about a paid reply after a bug. Returns the error. */
export async function saveAfterBug(thrown: unknown, input: RecoveryInput): Promise<GatewayError> {
  const { unsaved, result, images, files = [] } = input.report;
  unsaved.text = (result?.text ?? '') !== '' || (result?.toolCalls.length ?? 0) > 0;
  if (result && unsaved.images.length === 0)
    append(unsaved.images, listBlobs(result).slice(images.length + files.length));
  return saveForRecovery(toGatewayError(thrown), input);
}

function takesPrecedence(thrown: unknown): boolean {
  return !(thrown instanceof GatewayError) || endings.has(thrown.class);
}

const endings = new Set([...endSignals, 'internal']);

async function saveToRecovery(input: RecoveryInput, failure: GatewayError): Promise<string> {
  const { report } = input;
  const { unsaved, images } = report;
  if (report.kept !== undefined) return recoverToHint(report.kept, report, failure);
  const isOnlyDocumentLost = !unsaved.text && unsaved.images.length === 0 && unsaved.body === undefined;
  if (input.document === undefined && isOnlyDocumentLost && images.some(({ path }) => path !== '-'))
    return `the pictures are written: ${images.map(({ path }) => shellWord(path)).join(' ')}`;
  const reply = savedReply(input);
  const id = `gateway-cli-${reply.savedAt.slice(0, 19).replaceAll(/[-:]/g, '')}-${randomBytes(4).toString('hex')}`;
  try {
    report.kept = await writeRecovery(reply, { folders: await recoveryFolders(), id });
    const { batch } = reply;
    // Where the folder was removed, no run knows of the job.
    if (batch?.isResult && (await stat(join(batch.folder, 'journal.jsonl')).catch(() => undefined)))
      return `the reply is kept (${report.kept}): the next run of the batch adds it to its results`;
    if (failure.details.unread !== undefined)
      return `the reply is kept as it came; write it out: gateway-cli recover ${shellWord(report.kept)} > reply`;
    return recoverToHint(report.kept, report, failure);
  } catch (error) {
    const files = await keepTempFiles(reply, id);
    if (files.length === 0) throw error;
    return `no recovery file could be written (${describeWriteError(error)}); the bytes are in: ${files.join(' ')}`;
  }
}

/** How to write out a reply that is kept, and when. */
export function recoverHint(path: string, when = ''): string {
  return `the reply is kept; write it out${when}: gateway-cli recover ${shellWord(path)}`;
}

/**
 * `recoverHint` with the place that the reply was to go to. The file of `--code` is not named, since it would get the whole answer;
 * the folder of a job is not either, since the user did not name it.
 */
function recoverToHint(path: string, { selected, unsaved, job }: Report, failure?: GatewayError): string {
  const place = selected?.file ?? (job === undefined ? unsaved.place : undefined);
  if (place === undefined || selected?.code) return recoverHint(path);
  const when = failure?.class === 'not-written' ? ' when that place can be written, or to another' : '';
  return `${recoverHint(path, when)} -o ${shellWord(place)}`;
}

function savedReply({ report, io, redaction, batch, document }: RecoveryInput): SavedReply {
  const { unsaved } = report;
  return {
    savedAt: new Date(io.now()).toISOString(),
    command: report.command,
    job: report.job,
    printsText: unsaved.text,
    document: document ?? resultDocument(report, { error: undefined, durationMs: 0, redaction }),
    images: unsaved.images.map(({ declaredType, candidate, blob }) => ({ declaredType, candidate, blob })),
    body: unsaved.body,
    batch: batch && { ...batch, isResult: document !== undefined && unsaved.images.length === 0 },
  };
}

/** The user's state folder, then the folder for temporary files. */
async function recoveryFolders(): Promise<string[]> {
  const state = await stateFolder().then(
    (folder) => [join(folder, 'recovered')],
    () => [],
  );
  return [...state, tmpdir()];
}

/** A recovery file of the list. `savedAt` is an ISO time. */
type ListedRecovery = Partial<Omit<RecoveryHead, 'batch'>> & { path: string; savedAt: string };

/** The readable recovery files, the newest first. */
export async function listRecoveries(): Promise<ListedRecovery[]> {
  // The names sort by time.
  const files = (await recoveryFiles()).sort((a, b) => (basename(a.path) < basename(b.path) ? 1 : -1));
  const found: ListedRecovery[] = [];
  for (const { path, savedAt } of files) {
    const { batch: _, ...head } = (await readRecoveryHead(path)) ?? {};
    found.push({ path, savedAt: new Date(savedAt).toISOString(), ...head });
  }
  return found;
}

/** The files of the replies that any command saved since a time (ms since 1970). */
export async function repliesSavedSince(since: number): Promise<string[]> {
  return (await recoveryFiles(since)).map(({ path }) => path);
}

/** Whether replies to jobs of a batch were saved since a time. A folder that is gone may be that of the batch under another name. */
export async function hasJobReplies(since: number, folder: string): Promise<boolean> {
  const own = await realpath(folder);
  for (const { path } of await recoveryFiles(since)) {
    const { batch } = (await readRecoveryHead(path)) ?? {};
    if (batch && (await realpath(batch.folder).catch(() => own)) === own) return true;
  }
  return false;
}

/** The readable recovery files since a time: the folder for temporary files can also have those of other users. */
async function recoveryFiles(since = 0): Promise<{ path: string; savedAt: number }[]> {
  const found: { path: string; savedAt: number }[] = [];
  for (const folder of await recoveryFolders()) {
    for (const name of await readdir(folder).catch(() => [])) {
      if (!/^gateway-cli-\d{8}T\d{6}-[\da-f]{8}\.json$/.test(name)) continue;
      // To the second.
      const savedAt = Date.parse(name.replace(/^\D*(....)(..)(..)T(..)(..)(..).*$/, '$1-$2-$3T$4:$5:$6Z'));
      const path = join(folder, name);
      if (savedAt + 1000 > since && (await isReadableFile(path))) found.push({ path, savedAt });
    }
  }
  return found;
}

/** Only a regular file: reading a pipe would wait for its other end. */
async function isReadableFile(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
