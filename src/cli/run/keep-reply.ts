import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blobsOf } from '../../client/result.ts';
import { type ErrorClass, failureOfThrown, GatewayError } from '../../errors.ts';
import { writeReason } from '../../files/file-reason.ts';
import type { KeptReply } from '../../recovery/types.ts';
import { leaveTempFiles, writeRecovery } from '../../recovery/write-recovery.ts';
import type { Redaction } from '../../settings/redact.ts';
import { userFolders } from '../../settings/config-file.ts';
import { shellWord } from '../../shell-word.ts';
import type { Io } from '../../terminal/io.ts';
import type { Context, Report } from '../context.ts';
import { hintOf } from '../../advice.ts';
import { resultDocument } from '../output/document.ts';
import { access, constants, readdir } from 'node:fs/promises';

/** What a reply is kept from. */
interface Keeping {
  report: Report;
  io: Io;
  redaction: Redaction;
}

/**
 * Keeps a paid reply that could not be written, in one recovery file, and says in the error's hint how to write it out
 *. Where no file can be written either, the hint names what is left.
 */
export async function saveForRecovery(failure: GatewayError, keeping: Keeping): Promise<GatewayError> {
  if (!hasReply(keeping.report)) return failure;
  const hint = await keep(keeping).catch((error: unknown) => `the reply could not be kept: ${writeReason(error)}`);
  const told = [hint, hintOf(failure)].filter((line) => line !== undefined).join('\n');
  return failure.but({ hint: told, sent: 'yes' });
}

/**
 * Keeps what an action could not write, and throws what that means (exit 12). Returns where the action ended in a way that
 * counts for more: by a signal, with its reader gone, or by a bug.
 */
export async function saveUnwritten(
  failure: GatewayError,
  thrown: { value: unknown } | undefined,
  { io, report, ui }: Context,
): Promise<void> {
  report.lost.text ||= io.stdout.failure !== undefined && !report.command.startsWith('image');
  const told = await saveForRecovery(failure, { report, io, redaction: ui });
  if (thrown === undefined || !outranks(thrown.value)) throw told;
  if (report.kept !== undefined) await ui.warn(recoverHint(report.kept));
}

/** An answer whose code is not printed, as it was cut or has none, was paid for all the same: it is kept, and that is thrown. */
export async function saveUnprinted(thrown: unknown, { io, report, ui }: Context): Promise<void> {
  if (outranks(thrown) || (report.result?.text ?? '') === '') return;
  report.lost.text = true;
  throw await saveForRecovery(thrown as GatewayError, { report, io, redaction: ui });
}

/** A bug ended the work on a reply that was paid for: all that is known of the reply is kept. Returns what to tell. */
export async function saveAfterBug(thrown: unknown, keeping: Keeping): Promise<GatewayError> {
  const { lost, result, images, files = [] } = keeping.report;
  lost.text = (result?.text ?? '') !== '' || (result?.toolCalls.length ?? 0) > 0;
  if (lost.images.length === 0)
    lost.images.push(...(result ? blobsOf(result).slice(images.length + files.length) : []));
  return saveForRecovery(failureOfThrown(thrown), keeping);
}

function outranks(thrown: unknown): boolean {
  return !(thrown instanceof GatewayError) || endings.has(thrown.class);
}

const endings = new Set<ErrorClass>(['interrupted', 'terminated', 'hangup', 'closed', 'internal']);

function hasReply({ kept, result, attempts, lost }: Report): boolean {
  return (
    kept !== undefined || lost.body !== undefined || lost.images.length > 0 || (result !== undefined && attempts > 0)
  );
}

async function keep({ report, io, redaction }: Keeping): Promise<string> {
  if (report.kept !== undefined) return recoverHint(report.kept);
  if (isOnDisk(report))
    return `the pictures are written: ${report.images.map(({ path }) => shellWord(path)).join(' ')}`;
  const reply = keptReply({ report, io, redaction });
  const id = `gateway-cli-${reply.savedAt.slice(0, 19).replaceAll(/[-:]/g, '')}-${randomBytes(4).toString('hex')}`;
  try {
    report.kept = await writeRecovery(reply, { folders: await recoveryFolders(), id });
    return recoverHint(report.kept);
  } catch (error) {
    const left = await leaveTempFiles(reply, id);
    if (left.length === 0) throw error;
    return `no recovery file could be written (${writeReason(error)}); the bytes are in: ${left.join(' ')}`;
  }
}

/** Only the lines that name the pictures could not be printed. */
function isOnDisk({ lost, images }: Report): boolean {
  return !lost.text && lost.images.length === 0 && lost.body === undefined && images.some(({ path }) => path !== '-');
}

function recoverHint(path: string): string {
  return `the reply is kept; write it out: gateway-cli recover ${shellWord(path)}`;
}

function keptReply({ report, io, redaction }: Keeping): KeptReply {
  const { lost } = report;
  return {
    savedAt: new Date(io.now()).toISOString(),
    command: report.command,
    printsText: lost.text,
    document: resultDocument(report, { error: undefined, durationMs: 0, redaction }),
    images: lost.images.map(({ declaredType, candidate, blob }) => ({ declaredType, candidate, blob })),
    body: lost.body,
  };
}

/** The user's state folder, then the one for temporary files. */
async function recoveryFolders(): Promise<string[]> {
  const state = await userFolders().then(
    (folders) => [join(folders.state, 'recovered')],
    () => [],
  );
  return [...state, tmpdir()];
}

/** So many recovery files are named. */
const mostNamed = 5;

/** The commands that write out the replies that are kept, the newest first; where none is, how a command looks. */
export async function recoverCommands(): Promise<string> {
  const files = (await Promise.all((await recoveryFolders()).map(keptIn))).flat().sort(newestFirst);
  if (files.length === 0)
    return 'there is no recovery file; with exit code 12, stderr names one: gateway-cli recover <file>';
  const more = files.length - mostNamed;
  return [
    'these are kept, the newest first:',
    ...files.slice(0, mostNamed).map(({ folder, name }) => `gateway-cli recover ${shellWord(join(folder, name))}`),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('\n');
}

/** Whether a reply was kept since then (ms since 1970), by whatever command. */
export async function isReplyKept(since: number): Promise<boolean> {
  const files = (await Promise.all((await recoveryFolders()).map(keptIn))).flat();
  return files.some(({ name }) => keptAt(name) + 1000 > since);
}

/** To the second, as its name has it; ms since 1970. */
function keptAt(name: string): number {
  return Date.parse(name.replace(/^\D*(....)(..)(..)T(..)(..)(..).*$/, '$1-$2-$3T$4:$5:$6Z'));
}

interface KeptFile {
  folder: string;
  name: string;
}

/** The folder for temporary files has other files too, and those of other users. */
async function keptIn(folder: string): Promise<KeptFile[]> {
  const names = await readdir(folder).catch(() => []);
  const kept = names.filter((name) => /^gateway-cli-\d{8}T\d{6}-[\da-f]{8}\.json$/.test(name));
  const readable = await Promise.all(
    kept.map((name) =>
      access(join(folder, name), constants.R_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return kept.filter((_, index) => readable[index]).map((name) => ({ folder, name }));
}

/** Their names tell when they were written. */
function newestFirst(a: KeptFile, b: KeptFile): number {
  return a.name < b.name ? 1 : -1;
}
