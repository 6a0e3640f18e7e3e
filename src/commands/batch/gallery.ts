import { type FileHandle, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import {
  batchFiles,
  formatCount,
  findImageName,
  listVariations,
  locateResults,
  openResults,
  parseVariedId,
  type ResultPlaces,
  type ResultReader,
  toReportRow,
  type Variation,
} from '../../batch/index.ts';
import {
  type Card,
  galleryCard,
  galleryFoot,
  galleryHead,
  galleryMark,
  galleryRow,
  pageHead,
  type CardImage,
} from './gallery-html.ts';
import {
  addCounts,
  type BatchFolder,
  countFolder,
  findJob,
  joinStates,
  readFolders,
  showEarlierAnswers,
  listFolderRows,
  chooseReportName,
} from './folders.ts';
import { warnUnread } from './summary.ts';
import { GatewayError, getErrorCode, usageError } from '../../errors.ts';
import { cannotWrite } from '../../files/synced-file.ts';
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
  showEarlierAnswers(folders);
  if (output !== undefined)
    for (const { folder } of folders) await checkTarget(output, folder, { force: true, context });
  const progress = context.ui.progress('preparing the gallery');
  context.atEnd(async () => progress.stop());
  const vary = folders[0]?.state.run?.vary;
  const isCompared = vary !== undefined;
  const variations = listVariations(vary);
  const cards = await findCards(folders, { all, variations });
  await warnUnread(cards, context);
  const counts = addCounts(folders.map(countFolder));
  const { usage } = joinStates(folders.map(({ state }) => state));
  let made = 0;
  await writePage(page, async (file) => {
    await file.appendFile(galleryHead({ title: chooseReportName(folders), counts, usage }, isCompared));
    for await (const row of cards.read()) {
      context.signal.throwIfAborted();
      const shown = [];
      for (const found of row) shown.push(found && galleryCard(await seenFrom(page, found.folder, found.card)));
      await file.appendFile(isCompared ? galleryRow(shown) : (shown[0] ?? ''));
      for (const found of row) made += found?.card.images.length ?? 0;
      progress.update(`${made}/${formatCount(cards.pictures, 'picture')}`);
    }
    await file.appendFile(galleryFoot);
  });
  progress.stop();
  return reportPage(page, context);
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
  const images = card.images.map(async (image) => ({
    ...image,
    way,
    hidden: await whyHidden(image, folder),
  }));
  return { ...card, images: await Promise.all(images) };
}

/** The jobs that have a card: they were sent, answered or not. Their cards are read one by one, as results may be long. */
async function findCards(folders: readonly BatchFolder[], options: Shown) {
  const places: ResultPlaces[] = [];
  let images = 0;
  for (const { folder, state } of folders) {
    const counts = new Uint32Array(state.index.size);
    const seeDocument = (row: number, { document }: { document: JsonObject }): void =>
      void (counts[row] = listCardImages(document).length);
    places.push(await locateResults(folder, state.index, { see: seeDocument }));
    images += counts.reduce((all, count) => all + count, 0);
  }
  const unread = places.reduce((sum, { unreadable }) => sum + unreadable, 0);
  return { unread, pictures: images, read: () => readCards(folders, places, options) };
}

/** Which cards there are: with those of jobs that the file does not have any more, and those of a row together. */
interface Shown {
  all: boolean | undefined;
  variations: readonly Variation[];
}

interface FolderCard {
  card: Card;
  folder: string;
}

/** The cards of each row of the table, one for each variation. */
async function* readCards(
  folders: readonly BatchFolder[],
  places: readonly ResultPlaces[],
  { all, variations }: Shown,
): AsyncGenerator<(FolderCard | undefined)[], void> {
  const readers: ResultReader[] = [];
  try {
    for (const [at, { folder, state }] of folders.entries())
      readers.push(await openResults(folder, state.index, places[at] as ResultPlaces));
    const readCard = async ({ at, row }: { at: number; row: number }): Promise<FolderCard | undefined> => {
      const {
        folder,
        state: { index },
      } = folders[at] as BatchFolder;
      const [id, state] = [index.idOf(row), index.stateOf(row)];
      const document = await readers[at]?.read(row);
      if (document) return { folder, card: createJobCard(id, document, state === 'sent' || state === 'unknown') };
      if (state !== 'sent') return undefined;
      return { folder, card: { id, state: 'unknown', error: unansweredError, images: [] } };
    };
    const seen = new Set<string>();
    for (const place of listFolderRows(folders, { all })) {
      const { index } = (folders[place.at] as BatchFolder).state;
      const varied = parseVariedId(index.idOf(place.row), variations);
      const isSeen = varied && seen.has(varied.id);
      const places = varied
        ? variations.map(({ suffix }) => findJob(`${varied.id}${suffix}`, folders, { all }))
        : [place];
      if (varied) seen.add(varied.id);
      const cards: (FolderCard | undefined)[] = [];
      if (!isSeen) for (const found of places) cards.push(found && (await readCard(found)));
      if (cards.some((card) => card !== undefined)) yield cards;
    }
  } finally {
    for (const reader of readers) await reader.close();
  }
}

const unansweredError = { class: 'unknown', message: 'sent, and no answer was written down; it may have been billed' };

function createJobCard(id: string, document: JsonObject, isUnknown: boolean): Card {
  const state = isUnknown ? 'unknown' : document['ok'] === true ? 'done' : 'failed';
  const model = toOptionalText(document['model']);
  return { ...toReportRow(id, state, document), state, model, images: listCardImages(document) };
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
