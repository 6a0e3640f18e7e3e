import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import {
  emptyResult,
  isObject,
  type JsonObject,
  judgeAnswer,
  localTime,
  readKeys,
  readRecovery,
  type Result,
  shownFields,
  type StoredBlob,
  usageError,
  writeNewFile,
} from '../../library/index.ts';
import { alignColumns } from '../terminal/break-lines.ts';
import { escapeLine } from '../terminal/escape.ts';
import type { Action, CommandEnd, Context, Outcome, Report } from '../context.ts';
import { addFlags, type FlagTable, type FlagValues, setExamples } from '../flags/flag.ts';
import { answerFileFlags } from '../flags/format.ts';
import { planSaving } from '../output/save-images.ts';
import { warnOfNoImage } from '../run/answer.ts';
import { planTextImages, prepareAnswerFile } from '../output/answer-file.ts';
import { emptyOutcome, keepOutcome } from '../output/outcome.ts';
import { printText } from '../output/print.ts';
import { answerEntries } from '../output/result-definition.ts';
import { readBlobChunks, writeToStdout } from '../output/save-images.ts';
import { unreadableFile } from '../input/input-files.ts';
import { listRecoveries } from '../run/recovery.ts';

const { output, force } = answerFileFlags;
const recoverFlags = {
  output: { ...output, text: 'file for the text or the image, or a folder/ for images; - is stdout' },
  force,
} satisfies FlagTable;
type RecoverFlags = FlagValues<typeof recoverFlags>;

/** `recover [file]`: writes out a paid reply that could not be written, or lists the recovery files. Sends nothing. */
export function recoverCommand(command: Command): Action {
  command
    .argument('[file]', 'the file that error.recovery and stderr name; without it, the recovery files are listed')
    .usage('[file] [flags]');
  setExamples(command, [
    'gateway-cli recover',
    'gateway-cli recover ~/.local/state/gateway-cli/recovered/gateway-cli-….json',
    'gateway-cli recover kept.json -o cat.png',
    'gateway-cli recover kept.json -o answer.txt',
    'gateway-cli recover kept.json --json | jq -r .text',
  ]);
  addFlags(command, 'Flags', recoverFlags);
  return (context, words, flags) => runRecover(words, flags as RecoverFlags, context);
}

async function runRecover(
  [file]: readonly string[],
  flags: RecoverFlags,
  context: Context,
): Promise<CommandEnd | void> {
  if (file === undefined && flags.output === undefined) return runList(context);
  if (file === undefined)
    throw usageError(
      '-o is the place of a reply, and no recovery file is named',
      'to list the recovery files: gateway-cli recover',
    );
  // The reply is already in this file: if it cannot be written, no second recovery file is made.
  const kept = resolve(context.io.cwd, file);
  try {
    return { kept, ...(await writeOut({ file, path: kept }, flags, context)) };
  } catch (error) {
    return { kept, error };
  }
}

async function writeOut(
  { file, path }: { file: string; path: string },
  { output, force }: RecoverFlags,
  context: Context,
): Promise<CommandEnd> {
  const text = await prepareAnswerFile({ output, force }, context);
  const place = output === '-' ? { output } : await planTextImages({ output }, context);
  const wanted = { force, maxImages: Infinity, prompt: '', model: 'recovered' };
  const beside = { ...wanted, ...place, imagesAreExtra: text !== undefined };
  const planned = await planSaving(beside, { ...context, selected: text?.selected });
  const saved = await readRecovery(readChunks(path, file), planned.openStore());
  const isImages = !saved.printsText && saved.body === undefined && saved.images.length > 0;
  // If the reply has images and no text to print, -o is the name of the images, as in `image gen`.
  const selected = isImages ? undefined : text?.selected;
  const images = text && isImages ? await planSaving({ ...wanted, output }, context) : planned;
  const document = isObject(saved.document) ? saved.document : {};
  const reply = readSavedResult(document);
  const { responseId, usage } = reply;
  const blobs = saved.images.map((image) => ({ ...image, draft: false }));
  const written = await images.save(blobs, { responseId, usage }, () => void context.signal.throwIfAborted());
  // The cost is left out: this command sends nothing.
  const { tags, ...facts } = readKeys(answerEntries, document) as Pick<Outcome, 'answer' | 'turns'> &
    Pick<Report, 'tags'>;
  const outcome = { ...emptyOutcome, ...written, ...facts, reply };
  const ended = await keepOutcome(outcome, async () => {
    await warnOfCut(reply, context);
    const isInFile = selected?.file !== undefined;
    if (saved.body && context.root.json && !isInFile)
      throw usageError('the reply is kept as it came, and it and --json both write to stdout', 'name a file: -o reply');
    if (saved.body) await writeSavedBody(saved.body, { file: selected?.file, force, context });
    if (saved.body || isImages) return { outcome };
    if (output !== '-') await warnOfNoImage(place, outcome, context);
    await printText(reply, { isMarkdown: false, context: { ...context, selected } });
    const textFile = await text?.writeFile(reply);
    return { outcome: textFile ? { ...outcome, files: [...outcome.files, textFile] } : outcome };
  });
  return { ...ended, selected, tags };
}

/** Lists the recovery files, the newest first: time, command, job of a batch, and path. */
async function runList({ io, root, ui }: Context): Promise<CommandEnd | undefined> {
  const files = await listRecoveries();
  if (root.json) return { document: { schema: 'gateway-cli/recovery-files@1', files } };
  if (files.length === 0) await ui.notice('there is no recovery file');
  const rows = files.map(({ savedAt, command, job, path }) => [
    localTime(Date.parse(savedAt)),
    [command, job].filter(Boolean).join(' '),
    path,
  ]);
  for (const line of alignColumns(rows)) await io.stdout.write(`${escapeLine(line)}\n`);
  return undefined;
}

/** Writes the body of a reply that was requested with `--raw`. */
async function writeSavedBody(
  body: Pick<StoredBlob, 'content'>,
  { file, force = false, context: { io } }: { file: string | undefined; force: boolean | undefined; context: Context },
): Promise<void> {
  if (file === undefined) return void (await writeToStdout(body, io));
  const appendChunks = async (append: (piece: Uint8Array) => Promise<void>): Promise<void> => {
    for await (const chunk of readBlobChunks(body)) await append(chunk);
  };
  await writeNewFile(file, appendChunks, { cwd: io.cwd, force });
}

async function warnOfCut(result: Result, { ui }: Context): Promise<void> {
  if (result.complete || result.text === '') return;
  const { warning } = judgeAnswer({ result, error: undefined }, { images: 0, requireComplete: false });
  await ui.warn(warning?.message ?? 'the answer may not be whole');
}

async function* readChunks(path: string, typed: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw unreadableFile('recover', typed, error);
  }
}

/** The result in a document. Only known keys are read, as the file can have been edited. */
function readSavedResult(document: JsonObject): Result {
  const saved = readKeys(shownFields, document) as Partial<Result>;
  const asked = saved.insteadOf ? document['model'] : (document['requestedModel'] ?? document['model']);
  return {
    ...emptyResult(typeof asked === 'string' ? asked : ''),
    ...saved,
    complete: document['complete'] === true,
  };
}
