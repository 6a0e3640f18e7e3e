import { type FileHandle, readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { type Card, galleryCard, galleryFoot, galleryHead, galleryMark } from '../../batch/gallery-html.ts';
import { countJobs, countOf } from '../../batch/summary.ts';
import { usageError } from '../../errors.ts';
import { cannotWrite } from '../../files/synced-file.ts';
import { batchFiles } from '../../batch/types.ts';
import { clearDeadParts, partNonce } from '../../recordings/parts.ts';
import { writeAnew } from '../../files/temp-file.ts';
import { type Cards, findCards } from './gallery-cards.ts';
import { readBatchFolder } from './read.ts';
import { tellUnread } from './notes.ts';
import { type PictureFile, type Thumbnail, whyHidden } from './thumbnail.ts';
import type { Action, Context } from '../../cli/context.ts';
import { galleryFlags } from '../../cli/flags/batch.ts';
import { addFlags } from '../../cli/flags/flag.ts';
import { setExamples } from '../../cli/help/help.ts';

/** `batch gallery <outdir>`: one page of all jobs, which shows the pictures beside it or holds small ones. */
export function batchGalleryCommand(command: Command): Action {
  command.argument('<outdir>', 'folder of a batch').usage('<outdir> [flags]');
  setExamples(command, [
    'gateway-cli batch gallery out && xdg-open out/index.html',
    'gateway-cli batch gallery out --embed   # a page to be sent to somebody',
  ]);
  addFlags(command, 'Flags', galleryFlags);
  return (context, words, flags) => runGallery(words[0] as string, flags as { embed?: true }, context);
}

async function runGallery(outdir: string, { embed }: { embed?: true }, context: Context): Promise<void> {
  const { folder, state } = await readBatchFolder(outdir, context);
  const progress = context.ui.progress('preparing the gallery');
  context.atEnd(async () => progress.stop());
  const cards = await findCards(folder, state);
  await tellUnread(cards, context);
  const drawing = embed
    ? (await import('./thumbnail-worker.ts')).openThumbnailPool(cards.pictures)
    : { draw: linkPicture, close: async () => undefined };
  let made = 0;
  const draw: Draw = (file) =>
    drawing.draw(file).finally(() => progress.update(`${++made}/${countOf(cards.pictures, 'picture')}`));
  const counts = countJobs(state.table, { jobs: state.run?.jobs ?? state.table.size });
  const facts = {
    title: basename(folder),
    counts,
    usage: state.usage,
    pictures: embed ? 'embedded' : 'linked',
  } as const;
  try {
    await writePage(folder, async (page) => {
      await page.appendFile(galleryHead(facts));
      for await (const card of drawn(cards, { folder, draw })) {
        context.signal.throwIfAborted();
        await page.appendFile(galleryCard(card));
      }
      await page.appendFile(galleryFoot());
    });
  } finally {
    await drawing.close();
  }
  progress.stop();
  const shown = join(outdir, batchFiles.gallery);
  context.report.own = { schema: 'gateway-cli/batch-gallery@1', path: shown };
  if (!context.root.json) await context.io.stdout.write(`${shown}\n`);
}

/** Whole or not at all. A batch may run in the folder, so nothing but what this writes is cleared away. */
async function writePage(folder: string, write: (page: FileHandle) => Promise<void>): Promise<void> {
  const path = join(folder, batchFiles.gallery);
  try {
    await refuseForeign(path);
    await clearDeadParts(folder, await readdir(folder));
    await writeAnew(path, write, { nonce: partNonce, mode: 0o666 });
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** Throws GatewayError usage where the name is that of a page which no gallery is. */
async function refuseForeign(path: string): Promise<void> {
  const page = await readFile(path, 'utf8').catch(() => '');
  if (page === '' || page.slice(0, galleryMark.length) === galleryMark) return;
  throw usageError(`${path} is a page of your own`, 'move it away, and run the same command again');
}

/** What stands in the place of a picture: nothing more where the page shows the file itself. */
type Draw = (file: PictureFile) => Promise<Partial<Thumbnail>>;

async function linkPicture(file: PictureFile): Promise<Partial<Thumbnail>> {
  const hidden = await whyHidden(file);
  return hidden === undefined ? {} : { hidden };
}

/** Cards in their order, while the pictures of the next ones are drawn. */
async function* drawn(cards: Cards, drawing: { folder: string; draw: Draw }): AsyncGenerator<Card, void> {
  const ahead = availableParallelism() * 4;
  const begun: Promise<Card>[] = [];
  for await (const card of cards.read()) {
    begun.push(drawCard(card, drawing));
    if (begun.length > ahead) yield begun.shift() as Promise<Card>;
  }
  yield* begun;
}

async function drawCard(card: Card, { folder, draw }: { folder: string; draw: Draw }): Promise<Card> {
  const pictures = card.pictures.map(async (picture) => {
    const { mimeType, width, height } = picture;
    return { ...picture, ...(await draw({ path: join(folder, picture.path), mimeType, width, height })) };
  });
  return { ...card, pictures: await Promise.all(pictures) };
}
