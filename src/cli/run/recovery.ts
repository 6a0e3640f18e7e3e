import { randomBytes } from 'node:crypto';
import { access, constants, readdir, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import {
  chooseHint,
  describeWriteError,
  endSignals,
  GatewayError,
  isBug,
  keepTempFiles,
  listBlobs,
  readRecoveryHead,
  type RecoveryHead,
  type SavedBatch,
  type SavedReply,
  shellWord,
  toGatewayError,
  writeRecovery,
} from '../../library/index.ts';
import type { Redaction } from '../settings/redact.ts';
import { stateFolder } from '../settings/config-file.ts';
import type { Io } from '../terminal/io.ts';
import type { Report, Ui, UnsavedReply } from '../context.ts';
import { resultDocument } from '../output/document.ts';

/** The run whose reply is saved. */
interface RecoveryInput {
  report: Report;
  io: Io;
  redaction: Redaction;
  /** The batch of the job that the reply answers, and the document if it is the whole result of the job. */
  batch?: Omit<SavedBatch, 'isResult'> | undefined;
  document?: object | undefined;
}

/** The error about a file that could not be written, and the recovery file that has its content, if there is one. */
interface Lost {
  error: GatewayError;
  kept: string | undefined;
}

/**
 * Saves a paid reply that could not be written in a recovery file. The hint of the error says how to write it out, or,
 * if no recovery file can be written either, which files are left. It is not retryable: that would be paid for a second time.
 */
export async function saveForRecovery(failure: GatewayError, input: RecoveryInput): Promise<Lost> {
  const { kept, outcome } = input.report;
  const { unread } = failure.details;
  const body = outcome.unsaved.body ?? (unread === undefined ? undefined : { content: { data: unread } });
  const report = withUnsaved(input.report, { body });
  const isAnswered = outcome.reply !== undefined && outcome.attempts > 0;
  if (kept === undefined && body === undefined && outcome.unsaved.images.length === 0 && !isAnswered)
    return { error: failure, kept };
  const saved = await saveToRecovery({ ...input, report }, failure).catch((error: unknown) => ({
    hint: `the reply could not be kept: ${describeWriteError(error)}`,
    kept: undefined,
  }));
  const hints = [saved.hint, chooseHint(failure)].filter((line) => line !== undefined);
  const error = failure.withDetails({ hint: hints.join('\n'), sent: 'yes', retryable: false, unread: undefined });
  return { error, kept: saved.kept };
}

function withUnsaved({ outcome, ...report }: Report, unsaved: Partial<UnsavedReply>): Report {
  return { ...report, outcome: { ...outcome, unsaved: { ...outcome.unsaved, ...unsaved } } };
}

/**
 * Saves everything that an action left unsaved: files that a full disk did not take, and the answer of an action that failed
 * before it was printed. Returns the error that the run ends with. A signal, a closed stdout and a bug take precedence over an
 * unwritten file (exit 12).
 */
export async function saveLost(
  failure: GatewayError | undefined,
  thrown: { value: unknown } | undefined,
  { report, io, ui }: { report: Report; io: Io; ui: Ui },
): Promise<{ thrown: { value: unknown } | undefined; kept: string | undefined }> {
  const isBroken = thrown !== undefined && isBug(thrown.value);
  const error = isBroken ? toGatewayError(thrown.value) : (failure ?? thrown?.value);
  const lost = isBroken ? listAfterBug(report) : listUnsaved(failure, error, report, io);
  if (lost === undefined || !(error instanceof GatewayError)) return { thrown, kept: report.kept };
  const saved = await saveForRecovery(error, { report: lost, io, redaction: ui });
  const isEnded = thrown?.value instanceof GatewayError && endSignals.has(thrown.value.class);
  if (!isEnded) return { thrown: { value: saved.error }, kept: saved.kept };
  if (saved.kept !== undefined) await ui.warn(recoverToHint(saved.kept, report));
  return { thrown, kept: saved.kept };
}

/** The report with the parts of the answer that a run loses by an error; undefined if it loses none. */
function listUnsaved(failure: GatewayError | undefined, error: unknown, report: Report, io: Io): Report | undefined {
  const { command, selected, outcome } = report;
  if (failure !== undefined) {
    const isUnprinted = io.stdout.failure !== undefined && !command.startsWith('image');
    return withUnsaved(report, { text: outcome.unsaved.text || isUnprinted });
  }
  if (isUnread(error)) return error.billed === 'no' ? undefined : asUnread(report);
  // A paid answer whose code was not printed, because it was cut or has none.
  const isOfPlace = selected?.code || selected?.file !== undefined;
  const isOpen = error instanceof GatewayError && error.class !== 'closed';
  return isOfPlace && isOpen && (outcome.reply?.text ?? '') !== '' ? withUnsaved(report, { text: true }) : undefined;
}

/** Whether an error has a paid reply that could not be decoded. */
function isUnread(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.details.unread !== undefined;
}

/** A reply that could not be decoded has a file of its own: a command can have several. */
function asUnread(report: Report): Report {
  return withUnsaved({ ...report, kept: undefined }, { body: undefined });
}

/** Saves a paid reply that could not be decoded, if the error has one. */
export async function saveUnread<E>(
  error: E,
  { report, ...input }: RecoveryInput,
): Promise<{ error: E | GatewayError; kept: string | undefined }> {
  if (!isUnread(error) || error.billed === 'no') return { error, kept: report.kept };
  return saveForRecovery(error, { ...input, report: asUnread(report) });
}

/** Saves a paid reply, as far as it came, after a bug. */
export async function saveAfterBug(thrown: unknown, { report, ...input }: RecoveryInput): Promise<Lost> {
  return saveForRecovery(toGatewayError(thrown), { ...input, report: listAfterBug(report) });
}

/** After a bug, everything of the reply counts as unsaved but the files that were written. */
function listAfterBug(report: Report): Report {
  const { reply, images, files, unsaved } = report.outcome;
  const text = (reply?.text ?? '') !== '' || (reply?.toolCalls.length ?? 0) > 0;
  const lost = reply && unsaved.images.length === 0 ? listBlobs(reply).slice(images.length + files.length) : [];
  return withUnsaved(report, { text, images: [...unsaved.images, ...lost] });
}

/** Writes the recovery file, or says which file has the reply. */
async function saveToRecovery(
  input: RecoveryInput,
  failure: GatewayError,
): Promise<{ hint: string; kept: string | undefined }> {
  const { report } = input;
  const { unsaved, images } = report.outcome;
  const { kept } = report;
  if (kept !== undefined) return { hint: recoverToHint(kept, report, failure), kept };
  const isOnlyDocumentLost = !unsaved.text && unsaved.images.length === 0 && unsaved.body === undefined;
  if (input.document === undefined && isOnlyDocumentLost && images.some(({ path }) => path !== '-'))
    return { hint: `the pictures are written: ${images.map(({ path }) => shellWord(path)).join(' ')}`, kept };
  const reply = savedReply(input);
  const id = `gateway-cli-${reply.savedAt.slice(0, 19).replaceAll(/[-:]/g, '')}-${randomBytes(4).toString('hex')}`;
  try {
    const path = await writeRecovery(reply, { folders: await recoveryFolders(), id });
    return { hint: await describeKept(path, reply, report, failure), kept: path };
  } catch (error) {
    const files = await keepTempFiles(reply, id);
    if (files.length === 0) throw error;
    const hint = `no recovery file could be written (${describeWriteError(error)}); the bytes are in: ${files.join(' ')}`;
    return { hint, kept };
  }
}

async function describeKept(
  path: string,
  { batch }: SavedReply,
  report: Report,
  failure: GatewayError,
): Promise<string> {
  // If the folder was removed, no later run knows of the job.
  if (batch?.isResult && (await stat(join(batch.folder, 'journal.jsonl')).catch(() => undefined)))
    return `the reply is kept (${path}): the next run of the batch adds it to its results`;
  if (failure.details.unread !== undefined)
    return `the reply is kept as it came; write it out: gateway-cli recover ${shellWord(path)} > reply`;
  return recoverToHint(path, report, failure);
}

/** The hint that says how to write out a reply that is kept, and when. */
export function recoverHint(path: string, when = ''): string {
  return `the reply is kept; write it out${when}: gateway-cli recover ${shellWord(path)}`;
}

/**
 * `recoverHint` with the place that the reply was to go to. The file of `--code` is not named, since it would get the whole answer;
 * the folder of a job is not either, since the user did not name it.
 */
function recoverToHint(path: string, { selected, outcome: { unsaved }, job }: Report, failure?: GatewayError): string {
  const place = selected?.file ?? (job === undefined ? unsaved.place : undefined);
  if (place === undefined || selected?.code) return recoverHint(path);
  const when = failure?.class === 'not-written' ? ' when that place can be written, or to another' : '';
  return `${recoverHint(path, when)} -o ${shellWord(place)}`;
}

function savedReply({ report, io, redaction, batch, document }: RecoveryInput): SavedReply {
  const { unsaved } = report.outcome;
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

/** The files of replies that any command saved since a time (ms since 1970). */
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

/** The readable recovery files since a time. Files of other users are left out, since the folder for temporary files can have some. */
async function recoveryFiles(since = 0): Promise<{ path: string; savedAt: number }[]> {
  const found: { path: string; savedAt: number }[] = [];
  for (const folder of await recoveryFolders()) {
    for (const name of await readdir(folder).catch(() => [])) {
      if (!/^gateway-cli-\d{8}T\d{6}-[\da-f]{8}\.json$/.test(name)) continue;
      // The time in the name is in whole seconds.
      const savedAt = Date.parse(name.replace(/^\D*(....)(..)(..)T(..)(..)(..).*$/, '$1-$2-$3T$4:$5:$6Z'));
      const path = join(folder, name);
      if (savedAt + 1000 > since && (await isReadableFile(path))) found.push({ path, savedAt });
    }
  }
  return found;
}

/** Only a regular file is read: a pipe would block until its other end is opened. */
async function isReadableFile(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
