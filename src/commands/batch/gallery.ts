import { type FileHandle, readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { type Card, galleryCard, galleryFoot, galleryHead, galleryMark } from '../../batch/gallery-html.ts';
import { countJobs, countOf } from '../../batch/summary.ts';
import { usageError } from '../../errors.ts';
import { cannotWrite } from '../../files/synced-file.ts';
import { batchFiles } from '../../batch/types.ts';
import { clearDeadParts, partNonce } from '../../recordings/parts.ts';
import { writeAnew } from '../../files/temp-file.ts';
import { findCards } from './gallery-cards.ts';
import { readBatchFolder } from './read.ts';
import { tellUnread } from './notes.ts';
import { whyHidden } from './hidden-picture.ts';
import type { Action, Context } from '../../cli/context.ts';
import { setExamples } from '../../cli/help/help.ts';

/** `batch gallery <outdir>`: one page of all jobs, which shows the pictures beside it. */
export function batchGalleryCommand(command: Command): Action {
  command.argument('<outdir>', 'folder of a batch').usage('<outdir>');
  setExamples(command, ['gateway-cli batch gallery out && xdg-open out/index.html']);
  return (context, words) => runGallery(words[0] as string, context);
}

async function runGallery(outdir: string, context: Context): Promise<void> {
  const { folder, state } = await readBatchFolder(outdir, context);
  const progress = context.ui.progress('preparing the gallery');
  context.atEnd(async () => progress.stop());
  const cards = await findCards(folder, state);
  await tellUnread(cards, context);
  const counts = countJobs(state.table, { jobs: state.run?.jobs ?? state.table.size });
  let made = 0;
  await writePage(folder, async (page) => {
    await page.appendFile(galleryHead({ title: basename(folder), counts, usage: state.usage }));
    for await (const card of cards.read()) {
      context.signal.throwIfAborted();
      await page.appendFile(galleryCard(await withHidden(card, folder)));
      made += card.pictures.length;
      progress.update(`${made}/${countOf(cards.pictures, 'picture')}`);
    }
    await page.appendFile(galleryFoot());
  });
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

/** The card with the reasons why pictures of it are not shown. */
async function withHidden(card: Card, folder: string): Promise<Card> {
  const pictures = card.pictures.map(async (picture) => {
    const hidden = await whyHidden({ ...picture, path: join(folder, picture.path) });
    return { ...picture, hidden };
  });
  return { ...card, pictures: await Promise.all(pictures) };
}
