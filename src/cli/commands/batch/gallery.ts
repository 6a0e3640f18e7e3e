import { open, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { batchFiles, formatCount, type ReportRow, toReportRow } from '../../../batch/index.ts';
import {
  type Card,
  galleryCard,
  galleryFoot,
  galleryHead,
  type PageKind,
  readPageKind,
  type OtherTake,
  toRelativeLink,
} from './gallery-html.ts';
import {
  type BatchFolder,
  chooseReportName,
  countFolders,
  createReportRow,
  listRows,
  openFolderResults,
  readFolders,
  warnUnreadable,
} from './folders.ts';
import { requireFreeTarget, writeReport } from './report-file.ts';
import { describeStates, listStates } from './states.ts';
import { findTypeByName, GatewayError, isObject, parseFlat, usageError } from '../../../library/index.ts';
import type { Action, CommandEnd, Context } from '../../context.ts';
import { addFlags, type FlagValues, setExamples } from '../../flags/flag.ts';
import { galleryFlags } from './flags.ts';
import { chooseCommand } from './next-command.ts';

/**
 * `batch gallery <outdir…>`: makes one page of all jobs, or of the images of a folder, which shows the images beside it. The page
 * of several shards is in the first folder, or at the path of `-o`.
 */
export function batchGalleryCommand(command: Command): Action {
  command
    .argument('<outdir...>', 'folder of a batch or of pictures, or the folders of the shards of a batch')
    .usage('<outdir…> [flags]');
  setExamples(command, [
    'gateway-cli batch gallery out && xdg-open out/index.html',
    'gateway-cli batch gallery out-1 out-2     # the shards together, in out-1/index.html',
    'gateway-cli batch gallery out -o all.html',
    'gateway-cli image gen -n 4 "tile pattern" -o tiles/ --sidecar && gateway-cli batch gallery tiles',
  ]);
  addFlags(command, 'Flags', galleryFlags);
  return (context, words, flags) => runGallery(words, flags as FlagValues<typeof galleryFlags>, context);
}

/** A page as the user names it, and whether runs write it again. */
interface NamedPage {
  path: string;
  kind: PageKind;
}

async function runGallery(
  outdirs: readonly string[],
  { output, all }: FlagValues<typeof galleryFlags>,
  context: Context,
): Promise<CommandEnd> {
  if (output === '-') throw usageError('the page links to the pictures from its own place', 'name a file: -o all.html');
  const [outdir = ''] = outdirs;
  const path = output ?? join(outdir, batchFiles.gallery);
  const pictures = outdirs.length > 1 ? [] : await listPictures(resolve(context.io.cwd, outdir));
  const folders = pictures.length > 0 ? [] : await readFolders(outdirs, context);
  if (output !== undefined) await requireFreeTarget(output, folders, { force: true, context });
  if (pictures.length > 0) await writePictures(outdir, pictures, { path, kind: 'once' }, context);
  else {
    await warnUnreadable(folders, context);
    const isOwn = output === undefined && folders.length === 1;
    await writeGallery(folders, { path, kind: isOwn ? (all ? 'all' : 'table') : 'once' }, { all, context });
  }
  if (!context.root.json) await context.io.stdout.write(`${path}\n`);
  return { document: { schema: 'gateway-cli/batch-gallery@1', path } };
}

/** Writes the page of a folder anew at the end of a run, if `batch gallery` made one there. */
export async function renewGallery(outdir: string, context: Context): Promise<void> {
  const path = join(outdir, batchFiles.gallery);
  const kind = await readKind(resolve(context.io.cwd, path));
  if (kind !== 'table' && kind !== 'all') return;
  const folders = await readFolders([outdir], context);
  // The run that holds the folder is this one, and nothing is in flight any more.
  const ended = folders.map((one) => ({ ...one, holder: undefined }));
  await writeGallery(ended, { path, kind }, { all: kind === 'all', context });
}

/** Writes a page with a card for each row that was sent. */
async function writeGallery(
  folders: readonly BatchFolder[],
  page: NamedPage,
  { all, context }: { all: boolean | undefined; context: Context },
): Promise<void> {
  const progress = context.ui.progress('preparing the gallery');
  context.atEnd(async () => progress.stop());
  const summary = describeStates(listStates(countFolders(folders)));
  const from = dirname(resolve(context.io.cwd, page.path));
  await writePage(page, { title: chooseReportName(folders), summary }, readCards(folders, { all, from }), context);
  progress.stop();
}

/** The names of the pictures in a folder that is not of a batch, such as one of `image gen -n 4 -o tiles/`. */
async function listPictures(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  if (names.includes(batchFiles.journal)) return [];
  const order = new Intl.Collator('en', { numeric: true });
  return names.filter((name) => findTypeByName(name) !== undefined).sort(order.compare);
}

/** Writes a page with a card for each picture, and the prompt of its sidecar. */
async function writePictures(
  outdir: string,
  names: readonly string[],
  page: NamedPage,
  context: Context,
): Promise<void> {
  const folder = resolve(context.io.cwd, outdir);
  const from = dirname(resolve(context.io.cwd, page.path));
  async function* readPictures(): AsyncGenerator<Card, void> {
    for (const name of names) {
      const sidecar = await readFile(join(folder, `${name}.json`), 'utf8')
        .then(parseFlat)
        .catch(() => undefined);
      const prompt = isObject(sidecar) && typeof sidecar['prompt'] === 'string' ? sidecar['prompt'] : undefined;
      yield { id: name, prompt, images: [toRelativeLink(relative(from, join(folder, name)))] };
    }
  }
  const summary = formatCount(names.length, 'picture');
  await writePage(page, { title: basename(folder), summary }, readPictures(), context);
}

/** Writes a page, whole or not at all. Throws GatewayError usage if there is a file that is no gallery, and not-written. */
async function writePage(
  { path, kind }: NamedPage,
  about: { title: string; summary: string },
  cards: AsyncIterable<Card>,
  context: Context,
): Promise<void> {
  if ((await readKind(resolve(context.io.cwd, path))) === 'foreign')
    throw usageError(`${path} is a page of your own`, 'move it away, and run the same command again');
  async function* listTexts(): AsyncGenerator<string, void> {
    yield galleryHead(kind, about);
    for await (const card of cards) yield galleryCard(card);
    yield galleryFoot;
  }
  await writeReport(path, listTexts(), { force: true, context }).catch((error: unknown) => {
    if (!(error instanceof GatewayError) || error.class !== 'not-written') throw error;
    throw error.withDetails({ hint: 'write the page elsewhere: -o all.html', sent: 'no' });
  });
}

/** The kind of the page at a path. */
async function readKind(path: string): Promise<PageKind | 'none' | 'foreign'> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined || (stats.isFile() && stats.size === 0)) return 'none';
  const handle = stats.isFile() ? await open(path).catch(() => undefined) : undefined;
  if (handle === undefined) return 'foreign';
  const { buffer } = await handle.read(Buffer.alloc(128), 0, 128, 0);
  await handle.close();
  return readPageKind(buffer.toString()) ?? 'foreign';
}

/** The cards of the rows that were sent, answered or not, with links from a folder. */
async function* readCards(
  folders: readonly BatchFolder[],
  { all, from }: { all: boolean | undefined; from: string },
): AsyncGenerator<Card, void> {
  const results = await openFolderResults(folders);
  try {
    for await (const rows of listRows(folders, { all }))
      for (const found of rows) {
        const { folder, name, state } = folders[found.at] as BatchFolder;
        const row = createReportRow(found, await results.read(found), folders);
        if (row.state === 'pending') continue;
        const listLinks = ({ images }: ReportRow): string[] =>
          images.map((path) => toRelativeLink(relative(from, join(folder, path))));
        const takes = (await results.readTakes(found)).map(([number, document]): OtherTake => {
          const take = toReportRow({ id: row.id, state: 'done' }, document);
          const choose = chooseCommand(name, [`${row.id}=${number}`]);
          // An answer that no row wants belongs to no row, so it cannot be chosen.
          return {
            number,
            text: take.text,
            images: listLinks(take),
            command: row.version === 'earlier' ? undefined : choose,
          };
        });
        yield { ...row, images: listLinks(row), takes, counting: state.slots.countingOf(found.slot) };
      }
  } finally {
    await results.close();
  }
}
