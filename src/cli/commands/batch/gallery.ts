import { open, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { batchFiles } from '../../../batch/index.ts';
import { type Card, galleryCard, galleryFoot, galleryHead, galleryStart, toRelativeLink } from './gallery-html.ts';
import { type BatchFolder, chooseReportName, countFolders, readFolders, warnUnreadable } from './folders.ts';
import { readReportRows } from './report-rows.ts';
import { requireFreeTarget, writeReport } from './report-file.ts';
import { describeStates, listStates } from './states.ts';
import { GatewayError, usageError } from '../../../library/index.ts';
import type { Action, CommandEnd, Context } from '../../context.ts';
import { addFlags, type FlagValues, setExamples } from '../../flags/flag.ts';
import { galleryFlags } from './flags.ts';
import { chooseCommand } from './next-command.ts';

/** `batch gallery <outdir…>`: makes one page of all answers, which shows the pictures where they are. */
export function batchGalleryCommand(command: Command): Action {
  command.argument('<outdir...>', 'folder of a batch, or the folders of its shards').usage('<outdir…> [flags]');
  setExamples(command, [
    'gateway-cli batch gallery out && xdg-open out/index.html',
    'gateway-cli batch gallery out -o all.html',
    'gateway-cli batch gallery out-1 out-2 -o all.html     # the shards together',
  ]);
  addFlags(command, 'Flags', galleryFlags);
  return (context, words, flags) => runGallery(words, flags as FlagValues<typeof galleryFlags>, context);
}

async function runGallery(
  outdirs: readonly string[],
  { output }: FlagValues<typeof galleryFlags>,
  context: Context,
): Promise<CommandEnd> {
  if (output === '-') throw usageError('the page links to the pictures from its own place', 'name a file: -o all.html');
  if (output === undefined && outdirs.length > 1)
    throw usageError('a page of several folders is in none of them', 'name a file: -o all.html');
  const path = output ?? join(outdirs[0] as string, batchFiles.gallery);
  const folders = await readFolders(outdirs, context);
  if (output !== undefined) await requireFreeTarget(output, folders, { force: true, context });
  await warnUnreadable(folders, context);
  await writeGallery(folders, path, context);
  if (!context.root.json) await context.io.stdout.write(`${path}\n`);
  return { document: { schema: 'gateway-cli/batch-gallery@1', path } };
}

/** Writes the page of a folder anew at the end of a run, if `batch gallery` made one there. */
export async function renewGallery(outdir: string, context: Context): Promise<void> {
  const path = join(outdir, batchFiles.gallery);
  if ((await findPage(resolve(context.io.cwd, path))) !== 'gallery') return;
  const folders = await readFolders([outdir], context);
  // The run that holds the folder is this one, and nothing is in flight any more.
  const ended = folders.map((one) => ({ ...one, holder: undefined }));
  await writeGallery(ended, path, context);
}

/**
 * Writes a page with a card for each answer and each failure, whole or not at all. Throws GatewayError usage if there is a file that
 * is no gallery, and not-written.
 */
async function writeGallery(folders: readonly BatchFolder[], path: string, context: Context): Promise<void> {
  const { cwd } = context.io;
  if ((await findPage(resolve(cwd, path))) === 'other')
    throw usageError(`${path} is a page of your own`, 'move it away, and run the same command again');
  const progress = context.ui.progress('preparing the gallery');
  context.atEnd(async () => progress.stop());
  async function* listTexts(): AsyncGenerator<string, void> {
    const summary = describeStates(listStates(countFolders(folders)));
    yield galleryHead({ title: chooseReportName(folders), summary });
    for await (const card of readCards(folders, { cwd, from: dirname(resolve(cwd, path)) })) yield galleryCard(card);
    yield galleryFoot;
  }
  await writeReport(path, listTexts(), { force: true, context }).catch((error: unknown) => {
    if (!(error instanceof GatewayError) || error.class !== 'not-written') throw error;
    throw error.withDetails({ hint: 'write the page elsewhere: -o all.html', sent: 'no' });
  });
  progress.stop();
}

/** Finds out whether a page of this program is at a path, or another file. */
async function findPage(path: string): Promise<'none' | 'gallery' | 'other'> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined || (stats.isFile() && stats.size === 0)) return 'none';
  const handle = stats.isFile() ? await open(path).catch(() => undefined) : undefined;
  if (handle === undefined) return 'other';
  const { buffer } = await handle.read(Buffer.alloc(galleryStart.length));
  await handle.close();
  return buffer.toString() === galleryStart ? 'gallery' : 'other';
}

/** The cards of the rows that were sent, answered or not, with links from a folder. */
async function* readCards(
  folders: readonly BatchFolder[],
  { cwd, from }: { cwd: string; from: string },
): AsyncGenerator<Card, void> {
  const [first, ...others] = folders as [BatchFolder, ...BatchFolder[]];
  const isOne = others.length === 0;
  const pictures = isOne ? first.folder : cwd;
  for await (const rows of readReportRows(folders, { takes: true }))
    for (const row of rows) {
      if (row.state === 'pending' && row.version !== 'outdated') continue;
      const command = row.choose && chooseCommand(isOne ? first.name : '<outdir>', [row.choose]);
      const images = row.images.map((path) => toRelativeLink(relative(from, resolve(pictures, path))));
      yield { ...row, images, command };
    }
}
