import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { emptyResult } from '../client/folded.ts';
import type { Result, ResultCandidate } from '../client/result.ts';
import { verdictOf } from '../client/verdict.ts';
import { usageError } from '../errors.ts';
import type { StoredBlob } from '../images/types.ts';
import { isObject, type JsonObject } from '../json.ts';
import { readRecovery } from '../recovery/recovery-file.ts';
import type { Action, Context, Report, Turn } from '../cli/context.ts';
import { addFlags, setExamples } from '../cli/flags/flag.ts';
import { answerFileFlags } from '../cli/flags/format.ts';
import { planImages, warnOfNoImage } from '../cli/output/image-output.ts';
import { writeNewFile } from '../files/new-file.ts';
import { imagesOfText, prepareCodeOutput } from '../cli/output/print.ts';
import { chunksOf, writeToStdout } from '../cli/output/save-images.ts';
import { unreadable } from '../cli/input/input-files.ts';
import { printText } from './text/text.ts';

interface Flags {
  output?: string;
  force?: true;
}

/** `recover <file>`: writes out a paid reply that could not be written. Sends nothing. */
export function recoverCommand(command: Command): Action {
  command.argument('[file]', 'the recovery file that stderr named').usage('<file> [flags]');
  setExamples(command, [
    'gateway-cli recover ~/.local/state/gateway-cli/recovered/gateway-cli-….json',
    'gateway-cli recover kept.json -o cat.png',
    'gateway-cli recover kept.json -o answer.txt',
    'gateway-cli recover kept.json --json | jq -r .text',
  ]);
  const { output, force } = answerFileFlags;
  addFlags(command, 'Flags', {
    output: { ...output, text: 'file for the text or the image, or a folder/ for images; - is stdout' },
    force,
  });
  return (context, words, flags) => runRecover(words, flags as Flags, context);
}

async function runRecover([file, ...more]: readonly string[], flags: Flags, context: Context): Promise<void> {
  if (file === undefined || more.length > 0) {
    const { recoverCommands } = await import('../cli/run/recovery.ts');
    throw usageError('recover takes one file', await recoverCommands());
  }
  const { io, report } = context;
  const path = resolve(io.cwd, file);
  // The reply is in this file: if it cannot be written again, no second copy is made.
  report.kept = path;
  const { output, force } = flags;
  const writeText = await prepareCodeOutput({ output, force }, context);
  const place = output === '-' ? { output } : await imagesOfText({ output }, context);
  const isText = report.selected?.file !== undefined;
  const images = await planImages(
    { ...place, force, maxImages: Infinity, prompt: '', model: 'recovered', imagesAreExtra: isText },
    context,
  );
  const store = await images.openStore();
  const saved = await readRecovery(readChunks(path, file), store);
  const document = isObject(saved.document) ? saved.document : {};
  report.result = resultOf(document);
  Object.assign(report, restOf(document));
  await images.save(
    saved.images.map((image) => ({ ...image, draft: false })),
    {
      responseId: report.result.responseId,
      usage: report.result.usage,
    },
    () => void context.signal.throwIfAborted(),
  );
  await warnOfCut(report.result, context);
  if (saved.body) return writeBody(saved.body, { force, context });
  if (!saved.printsText && saved.images.length > 0) return;
  if (output !== '-') await warnOfNoImage(place, context);
  await printText({ result: report.result }, { isMarkdown: false, context });
  await writeText(report.result);
}

/** The body of a reply to `--raw`. */
async function writeBody(
  body: Pick<StoredBlob, 'content'>,
  { force = false, context }: { force: boolean | undefined; context: Context },
): Promise<void> {
  const { io, report } = context;
  const file = report.selected?.file;
  if (file === undefined) return void (await writeToStdout(body, io));
  const fill = async (append: (piece: Uint8Array) => Promise<void>): Promise<void> => {
    for await (const chunk of chunksOf(body)) await append(chunk);
  };
  await writeNewFile(file, fill, { cwd: io.cwd, force });
}

async function warnOfCut(result: Result, { ui }: Context): Promise<void> {
  if (result.complete || result.text === '') return;
  const { doubt } = verdictOf({ result, error: undefined }, { images: 0, requireComplete: false });
  await ui.warn(doubt?.message ?? 'the answer may not be whole');
}

async function* readChunks(path: string, typed: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw unreadable('recover', typed, error);
  }
}

/** The result of a document: only known keys, as the file may have been changed. */
function resultOf(document: JsonObject): Result {
  const text = (name: string) => (typeof document[name] === 'string' ? document[name] : undefined);
  const { candidates, toolCalls, usage, promptFeedback } = document;
  return {
    ...emptyResult(text('requestedModel') ?? text('model') ?? ''),
    modelVersion: text('modelVersion'),
    serviceTier: text('serviceTier'),
    responseId: text('responseId'),
    role: text('role'),
    text: text('text') ?? '',
    candidates: Array.isArray(candidates) ? (candidates as unknown[]).filter(isCandidate) : [],
    toolCalls: Array.isArray(toolCalls) ? (toolCalls as unknown as Result['toolCalls']) : [],
    stopReason: text('stopReason'),
    stopSequence: text('stopSequence'),
    promptFeedback: isObject(promptFeedback) ? promptFeedback : undefined,
    usage: isObject(usage) ? usage : undefined,
    complete: document['complete'] === true,
  };
}

/** What a document has beside the result of its last request. Its cost is left out: this command sends nothing. */
function restOf({ answer, turns, tags }: JsonObject): Pick<Report, 'answer' | 'turns' | 'tags'> {
  const isTags = isObject(tags) && Object.values(tags).every((value) => typeof value === 'string');
  return {
    answer,
    turns: Array.isArray(turns) ? (turns as unknown[]).filter(isTurn) : undefined,
    ...(isTags && { tags: tags as Record<string, string> }),
  };
}

function isTurn(value: unknown): value is Turn {
  return isObject(value) && typeof value['text'] === 'string' && Array.isArray(value['toolCalls']);
}

function isCandidate(value: unknown): value is ResultCandidate {
  return isObject(value) && typeof value['text'] === 'string' && typeof value['index'] === 'number';
}
