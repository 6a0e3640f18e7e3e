import { type FileHandle, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { batchFiles, formatCount, findImageName, type ReportRow } from '../../batch/index.ts';
import {
  type Card,
  galleryCard,
  galleryFoot,
  galleryHead,
  galleryMark,
  galleryRow,
  pageHead,
  type CardImage,
  readRenewed,
  type Renewed,
} from './gallery-html.ts';
import {
  type BatchFolder,
  chooseReportName,
  countFolders,
  createReportRow,
  getRowState,
  joinStates,
  listFolderVariations,
  listRows,
  openFolderResults,
  readFolders,
  splitId,
} from './folders.ts';
import { warnUnread } from './summary.ts';
import { GatewayError, getErrorCode, usageError } from '../../errors.ts';
import { cannotWrite } from '../../files/synced-file.ts';
import { openIfThere } from '../../files/lines.ts';
import { clearDeadParts, partNonce } from '../../files/process-mark.ts';
import { writeAtomically } from '../../files/temp-file.ts';
import type { Action, CommandOutcome, Context } from '../../cli/context.ts';
import { addFlags, type FlagValues, prefixUsageError, setExamples } from '../../cli/flags/flag.ts';
import { galleryFlags } from './flags.ts';
import { checkTarget } from './export.ts';
import { checkFile } from '../../images/publish.ts';
import { isObject, type JsonObject, type JsonValue, parseFlat } from '../../json.ts';
import { findTypeByName } from '../../images/image-type.ts';
import { readInputImage } from '../../images/input.ts';
import { describeReadError } from '../../files/file-reason.ts';
import { shellWord } from '../../shell-word.ts';
import { describeTooLarge } from '../../cli/output/preview.ts';

/**
 * `batch gallery <outdir…>`: one page of all jobs, or of the images of a folder, which shows the images beside it. That of several
 * shards is in the first folder, or where `-o` says.
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

/** The file of a page. */
interface GalleryPage {
  /** As the user names it. */
  name: string;
  path: string;
  /** Its links begin there. */
  folder: string;
}

async function runGallery(
  outdirs: readonly string[],
  { output, all }: FlagValues<typeof galleryFlags>,
  context: Context,
): Promise<CommandOutcome> {
  const { cwd } = context.io;
  const outdir = outdirs[0] as string;
  if (output === '-') throw usageError('the page links to the pictures from its own place', 'name a file: -o all.html');
  const name = output ?? join(outdir, batchFiles.gallery);
  const page = { name, path: resolve(cwd, name), folder: dirname(resolve(cwd, name)) };
  const images = outdirs.length > 1 ? [] : await listFolderImages(resolve(cwd, outdir));
  if (images.length > 0) {
    if (output !== undefined) await checkFile(output, { cwd, force: true }).catch(prefixUsageError('-o: '));
    return showFolderImages(resolve(cwd, outdir), images, page, context);
  }
  const folders = await readFolders(outdirs, context);
  if (output !== undefined)
    for (const { folder } of folders) await checkTarget(output, folder, { force: true, context });
  const isOwn = output === undefined && folders.length === 1;
  await writeGallery(folders, page, { all, renewed: isOwn ? (all ? 'all' : 'table') : undefined }, context);
  return reportPage(page, context);
}

/** Writes the page of a folder anew, if `batch gallery` made one there: a run has changed what it shows. */
export async function renewGallery(outdir: string, context: Context): Promise<void> {
  const folder = resolve(context.io.cwd, outdir);
  const page = { name: join(outdir, batchFiles.gallery), path: join(folder, batchFiles.gallery), folder };
  const renewed = readRenewed(await readStart(page.path));
  if (renewed !== undefined)
    await writeGallery(await readFolders([outdir], context), page, { all: renewed === 'all', renewed }, context);
}

/** The first characters of a file; empty if it cannot be read. */
async function readStart(path: string): Promise<string> {
  const handle = await openIfThere(path).catch(() => undefined);
  if (handle === undefined) return '';
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0);
  await handle.close();
  return buffer.toString('utf8', 0, bytesRead);
}

/** Writes a page with a card for each row that was sent. */
async function writeGallery(
  folders: readonly BatchFolder[],
  page: GalleryPage,
  { all, renewed }: { all: boolean | undefined; renewed: Renewed | undefined },
  context: Context,
): Promise<void> {
  const progress = context.ui.progress('preparing the gallery');
  context.atEnd(async () => progress.stop());
  const isCompared = folders[0]?.state.manifest.header?.vary !== undefined;
  const unreadable = folders.reduce((sum, one) => sum + one.unreadable, 0);
  await warnUnread({ unreadable }, context);
  const counts = countFolders(folders);
  const { usage } = joinStates(folders.map(({ state }) => state));
  let made = 0;
  await writePage(page, async (file) => {
    await file.appendFile(galleryHead({ title: chooseReportName(folders), counts, usage, renewed }, isCompared));
    for await (const row of readCards(folders, { all, isCompared })) {
      context.signal.throwIfAborted();
      const shown = [];
      for (const found of row) shown.push(found && galleryCard(await seenFrom(page, found.folder, found.card)));
      await file.appendFile(isCompared ? galleryRow(shown) : (shown[0] ?? ''));
      for (const found of row) made += found?.card.images.length ?? 0;
      progress.update(formatCount(made, 'picture'));
    }
    await file.appendFile(galleryFoot);
  });
  progress.stop();
}

async function reportPage({ name }: GalleryPage, { io, root }: Context): Promise<CommandOutcome> {
  if (!root.json) await io.stdout.write(`${name}\n`);
  return { document: { schema: 'gateway-cli/batch-gallery@1', path: name } };
}

/** The names of the images in a folder that is not of a batch, such as that of `image gen -n 4 -o tiles/`. */
async function listFolderImages(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  if (names.includes(batchFiles.journal)) return [];
  const order = new Intl.Collator('en', { numeric: true });
  return names.filter((name) => findTypeByName(name) !== undefined).sort(order.compare);
}

/** A page with one card for each image. */
async function showFolderImages(
  folder: string,
  names: readonly string[],
  page: GalleryPage,
  context: Context,
): Promise<CommandOutcome> {
  await writePage(page, async (file) => {
    await file.appendFile(pageHead(basename(folder), [formatCount(names.length, 'picture')]));
    for (const name of names) {
      context.signal.throwIfAborted();
      await file.appendFile(galleryCard(await seenFrom(page, folder, await createImageCard(folder, name))));
    }
    await file.appendFile(galleryFoot);
  });
  return reportPage(page, context);
}

/** What the image's bytes and its sidecar say. */
async function createImageCard(folder: string, name: string): Promise<Card> {
  const path = join(folder, name);
  const found = await readInputImage(path).catch(() => undefined);
  const { mimeType = 'application/octet-stream', width, height, bytes = 0 } = found ?? {};
  const sidecar = await readFile(`${path}.json`, 'utf8')
    .then(parseFlat, () => undefined)
    .catch(() => undefined);
  const [prompt, model] = isObject(sidecar)
    ? [toOptionalText(sidecar['prompt']), toOptionalText(sidecar['model'])]
    : [];
  return { id: name, state: 'done', prompt, model, images: [{ path: name, mimeType, width, height, bytes }] };
}

/** Whole or not at all. A batch may run in the folder, so nothing but what this writes is cleared away. */
async function writePage({ path, folder }: GalleryPage, write: (file: FileHandle) => Promise<void>): Promise<void> {
  try {
    await refuseForeign(path);
    await clearDeadParts(folder, await readdir(folder));
    await writeAtomically(path, write, { nonce: partNonce, mode: 0o666 });
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw cannotWrite(path, error).withDetails({ hint: 'write the page elsewhere: -o all.html', sent: 'no' });
  }
}

/** Throws GatewayError usage if the file exists and is not a gallery. */
async function refuseForeign(path: string): Promise<void> {
  const stats = await stat(path).catch(() => undefined);
  const page = stats?.isFile() === false ? 'a device' : await readFile(path, 'utf8').catch(() => '');
  if (page === '' || page.slice(0, galleryMark.length) === galleryMark) return;
  throw usageError(`${path} is a page of your own`, 'move it away, and run the same command again');
}

/** The card of a folder with links from the page, and the reasons why images of it are not shown. */
async function seenFrom(page: GalleryPage, folder: string, card: Card): Promise<Card> {
  const way = relative(page.folder, folder);
  const see = (images: readonly CardImage[]): Promise<CardImage[]> =>
    Promise.all(images.map(async (image) => ({ ...image, way, hidden: await whyHidden(image, folder) })));
  const takes = (card.takes ?? []).map(async (take) => ({ ...take, images: await see(take.images) }));
  return { ...card, images: await see(card.images), takes: await Promise.all(takes) };
}

interface FolderCard {
  card: Card;
  folder: string;
}

/** The cards of each row of the table that was sent, answered or not: one for each variation. */
async function* readCards(
  folders: readonly BatchFolder[],
  { all, isCompared }: { all: boolean | undefined; isCompared: boolean },
): AsyncGenerator<(FolderCard | undefined)[], void> {
  const results = await openFolderResults(folders);
  const variations = isCompared ? listFolderVariations(folders) : [];
  let base = '';
  let cards: (FolderCard | undefined)[] = [];
  try {
    for await (const rows of listRows(folders, { all }))
      for (const found of rows) {
        const { at, slot } = found;
        const { folder, name, state } = folders[at] as BatchFolder;
        const document = await results.read(found);
        const rowState = getRowState(state, slot);
        const own = createCard(createReportRow(found, document, folders), document);
        const takes = await results.readTakes(found);
        const card = takes.length > 0 ? addTakes(own, takes, { name, counting: state.slots.countingOf(slot) }) : own;
        const shown = document || rowState === 'unknown' ? { folder, card } : undefined;
        if (!isCompared) {
          if (shown) yield [shown];
          continue;
        }
        const next = splitId(card.id, variations);
        if (next !== base && cards.some((one) => one !== undefined)) yield cards;
        if (next !== base) cards = [];
        base = next;
        cards.push(shown);
      }
    if (cards.some((one) => one !== undefined)) yield cards;
  } finally {
    await results.close();
  }
}

const unansweredError = { class: 'unknown', message: 'sent, and no answer was written down; it may have been billed' };

function createCard(row: ReportRow, document: JsonObject | undefined): Card {
  const state = row.state === 'unknown' ? 'unknown' : document?.['ok'] === true ? 'done' : 'failed';
  if (document === undefined) return { id: row.id, state: 'unknown', error: unansweredError, images: [] };
  return { ...row, state, model: toOptionalText(document['model']), images: listCardImages(document) };
}

/** The card of a row that has several answers, with those that do not count and the commands which have them count. */
function addTakes(
  card: Card,
  takes: readonly [number, JsonObject][],
  { name, counting }: { name: string; counting: number },
): Card {
  return {
    ...card,
    counting,
    takes: takes.map(([number, document]) => ({
      number,
      text: toOptionalText(document['text']),
      images: listCardImages(document),
      // An answer that no row asks now is no answer of a row.
      command:
        card.version === 'earlier'
          ? undefined
          : `gateway-cli batch choose ${shellWord(name)} ${shellWord(`${card.id}=${number}`)}`,
    })),
  };
}

function listCardImages({ images }: JsonObject): CardImage[] {
  return (Array.isArray(images) ? images : []).map(toCardImage).filter((image) => image !== undefined);
}

function toCardImage(image: JsonValue): CardImage | undefined {
  if (!isObject(image)) return undefined;
  const { path, mimeType, width, height, bytes } = image;
  // The file is where the batch saves its images, whatever the line says.
  const name = findImageName(path);
  if (name === undefined) return undefined;
  return {
    path: `${batchFiles.images}/${name}`,
    mimeType: toOptionalText(mimeType) ?? 'application/octet-stream',
    width: typeof width === 'number' ? width : undefined,
    height: typeof height === 'number' ? height : undefined,
    bytes: typeof bytes === 'number' ? bytes : 0,
  };
}

function toOptionalText(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Larger files make the browser slow. */
const maxBytes = 128 * 1024 * 1024;

const shown = new Set(['image/webp', 'image/gif', 'image/avif', 'image/png', 'image/jpeg']);

/** Why the gallery does not show an image; undefined if it does. */
async function whyHidden(image: CardImage, folder: string): Promise<string | undefined> {
  const { path, mimeType, width = 0, height = 0 } = image;
  if (!shown.has(mimeType)) return `browsers show no ${mimeType}`;
  const gone = await stat(join(folder, path)).then(
    ({ size }) => (size > maxBytes ? 'the file is too large to be shown' : undefined),
    (error: unknown) =>
      getErrorCode(error) === 'ENOENT' ? 'the file does not exist any more' : describeReadError(error),
  );
  return gone ?? describeTooLarge({ width, height });
}
