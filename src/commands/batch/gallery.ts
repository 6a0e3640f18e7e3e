import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { keyOf } from '../../batch/digest.ts';
import { type Card, type CardPicture, galleryCard, galleryFoot, galleryHead } from '../../batch/gallery-html.ts';
import { type JournalState, parseRecord } from '../../batch/journal.ts';
import { parseResult, type ResultLine } from '../../batch/reconcile.ts';
import { countJobs } from '../../batch/summary.ts';
import { cannotWrite } from '../../batch/synced-file.ts';
import { batchFiles } from '../../batch/types.ts';
import { isObject, type JsonValue } from '../../json.ts';
import { linesOf } from './lines.ts';
import { readBatchFolder } from './read.ts';
import { thumbnailOf } from './thumbnail.ts';
import type { Action, Context } from '../context.ts';
import { setExamples } from '../help.ts';

/** `batch gallery <outdir>`: one page with everything in it. */
export function batchGalleryCommand(command: Command): Action {
  command.argument('<outdir>', 'folder of a batch').usage('<outdir>');
  setExamples(command, ['gateway-cli batch gallery out && xdg-open out/index.html']);
  return (context, words) => runGallery(words[0] as string, context);
}

async function runGallery(outdir: string, context: Context): Promise<void> {
  const { folder, state } = await readBatchFolder(outdir, context);
  const path = join(folder, batchFiles.gallery);
  const temp = join(folder, `.gateway-cli-${randomBytes(8).toString('hex')}.part`);
  const progress = context.ui.progress('drawing the gallery');
  try {
    const page = await open(temp, 'wx', 0o666);
    try {
      await writePage(page, { folder, state, context });
    } finally {
      await page.close();
    }
    await rename(temp, path);
  } catch (error) {
    await unlink(temp).catch(() => undefined);
    throw cannotWrite(path, error);
  } finally {
    progress.stop();
  }
  const shown = join(outdir, batchFiles.gallery);
  context.report.own = { schema: 'gateway-cli/batch-gallery@1', path: shown };
  if (!context.root.json) await context.io.stdout.write(`${shown}\n`);
}

interface Writing {
  folder: string;
  state: JournalState;
  context: Context;
}

async function writePage(page: FileHandle, writing: Writing): Promise<void> {
  const { folder, state, context } = writing;
  const counts = countJobs(state.table, { jobs: state.run?.jobs ?? state.table.size });
  await page.appendFile(galleryHead({ title: basename(folder), counts, usage: state.usage }));
  for await (const card of cards(writing)) {
    context.signal.throwIfAborted();
    await page.appendFile(galleryCard(card));
  }
  await page.appendFile(galleryFoot());
}

async function* cards({ folder, state }: Writing): AsyncGenerator<Card> {
  const { table } = state;
  for await (const result of linesOf(join(folder, batchFiles.results), parseResult)) {
    const slot = table.find(keyOf(result.id));
    // A line that a later one replaces is left out; so is one that the journal does not know.
    if (slot < 0 || table.isSeen(slot) || table.requestOf(slot) !== result.request) continue;
    table.markSeen(slot);
    yield await cardOf(result, { folder, unknown: ['sent', 'unknown'].includes(table.stateOf(slot)) });
  }
  for await (const record of linesOf(join(folder, batchFiles.journal), parseRecord)) {
    if (record.type !== 'sent' && record.type !== 'ready') continue;
    const slot = table.find(keyOf(record.id));
    if (slot < 0 || table.isSeen(slot) || table.stateOf(slot) !== 'sent') continue;
    table.markSeen(slot);
    const error = { class: 'unknown', message: 'sent, and no answer was written down; it may have been billed' };
    yield { id: record.id, state: 'unknown', error, pictures: [] };
  }
}

async function cardOf(
  { id, document }: ResultLine,
  { folder, unknown }: { folder: string; unknown: boolean },
): Promise<Card> {
  const { ok, command, prompt, model, text, usage, error, images } = document;
  const pictures: CardPicture[] = [];
  for (const image of Array.isArray(images) ? images : []) {
    const picture = await pictureOf(image, folder);
    if (picture) pictures.push(picture);
  }
  return {
    id,
    state: unknown ? 'unknown' : ok === true ? 'done' : 'failed',
    command: textOf(command),
    prompt: textOf(prompt),
    model: textOf(model),
    text: textOf(text),
    usage: isObject(usage) ? (usage as Card['usage']) : undefined,
    error: isObject(error)
      ? { class: textOf(error['class']) ?? '', message: textOf(error['message']) ?? '' }
      : undefined,
    pictures,
  };
}

async function pictureOf(image: JsonValue, folder: string): Promise<CardPicture | undefined> {
  if (!isObject(image)) return undefined;
  const { path, mimeType, width, height, bytes } = image;
  // The file lies where the batch puts its pictures, whatever the line says.
  const name = typeof path === 'string' ? basename(path) : '';
  if (name === '' || path !== `${batchFiles.images}/${name}`) return undefined;
  const type = textOf(mimeType) ?? 'application/octet-stream';
  return {
    path,
    mimeType: type,
    width: typeof width === 'number' ? width : undefined,
    height: typeof height === 'number' ? height : undefined,
    bytes: typeof bytes === 'number' ? bytes : 0,
    thumbnail: await thumbnailOf(join(folder, batchFiles.images, name), type),
  };
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
