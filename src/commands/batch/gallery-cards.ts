import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Range } from '../../files/quarantine.ts';
import { keyOf } from '../../batch/digest.ts';
import type { Card, CardPicture } from '../../batch/gallery-html.ts';
import { type JournalState, readJobRecords } from '../../batch/journal.ts';
import { nameInside } from '../../batch/own-folder.ts';
import { openIfThere } from '../../batch/read-lines.ts';
import { parseResult, readResultLines, type ResultLine } from '../../batch/reconcile.ts';
import { batchFiles } from '../../batch/types.ts';
import { isObject, type JsonValue } from '../../json.ts';

/** A job that has a card: where its last result stands, or that there is none. */
interface Entry {
  id: string;
  /** The line of the job in its file; in folders of earlier versions the place where it was sent. */
  order: number;
  result: Range | undefined;
  pictures: number;
  isUnknown: boolean;
}

/** The jobs of a folder that have a card, in the order of their file. */
export interface Cards {
  /** Lines of results.jsonl that cannot be read. */
  unread: number;
  /** Pictures of all of them. */
  pictures: number;
  /** Reads them one by one: results may be long. */
  read(): AsyncGenerator<Card, void>;
}

/** Finds the jobs that were sent, answered or not. */
export async function findCards(folder: string, state: JournalState): Promise<Cards> {
  const entries = new Map<number, Entry>();
  const unread = await findResults(folder, state, entries);
  let sent = 0;
  for await (const { id, line } of readJobRecords(folder)) {
    const slot = state.table.find(keyOf(id));
    if (!entries.has(slot) && slot >= 0 && state.table.stateOf(slot) === 'sent')
      entries.set(slot, { id, order: 0, result: undefined, pictures: 0, isUnknown: true });
    const entry = entries.get(slot);
    if (entry) entry.order = line ?? (entry.order || ++sent);
  }
  const inOrder = [...entries.values()].toSorted((a, b) => a.order - b.order);
  const pictures = inOrder.reduce((sum, entry) => sum + entry.pictures, 0);
  return { unread, pictures, read: () => readCards(folder, inOrder) };
}

/** The last result of each job as it was sent last. Resolves with the number of lines that cannot be read. */
async function findResults(folder: string, { table }: JournalState, entries: Map<number, Entry>): Promise<number> {
  let unread = 0;
  for await (const { result, whole, offset, bytes } of readResultLines(folder)) {
    // While a batch runs, the last line may not be whole yet.
    if (!result && whole) unread++;
    const slot = result ? table.find(keyOf(result.id)) : -1;
    if (!result || slot < 0 || table.requestOf(slot) !== result.request) continue;
    const isUnknown = ['sent', 'unknown'].includes(table.stateOf(slot));
    const pictures = picturesOf(result).length;
    entries.set(slot, { id: result.id, order: 0, result: { offset, bytes }, pictures, isUnknown });
  }
  return unread;
}

async function* readCards(folder: string, entries: readonly Entry[]): AsyncGenerator<Card, void> {
  const from = await openIfThere(join(folder, batchFiles.results));
  try {
    for (const { id, result, isUnknown } of entries) {
      const read = result && from && (await readResult(from, result));
      yield read ? cardOf(read, isUnknown) : unansweredCard(id);
    }
  } finally {
    await from?.close();
  }
}

async function readResult(from: FileHandle, { offset, bytes }: Range): Promise<ResultLine | undefined> {
  const line = Buffer.allocUnsafe(bytes);
  await from.read(line, 0, bytes, offset);
  return parseResult(line.toString());
}

function unansweredCard(id: string): Card {
  const error = { class: 'unknown', message: 'sent, and no answer was written down; it may have been billed' };
  return { id, state: 'unknown', error, pictures: [] };
}

function cardOf(result: ResultLine, isUnknown: boolean): Card {
  const { ok, command, prompt, model, text, usage, error, wholeResult } = result.document;
  return {
    id: result.id,
    state: isUnknown ? 'unknown' : ok === true ? 'done' : 'failed',
    command: textOf(command),
    prompt: textOf(prompt),
    model: textOf(model),
    text: textOf(text),
    usage: isObject(usage) ? (usage as Card['usage']) : undefined,
    error: isObject(error)
      ? { class: textOf(error['class']) ?? '', message: textOf(error['message']) ?? '' }
      : undefined,
    wholeResult: textOf(wholeResult),
    pictures: picturesOf(result),
  };
}

function picturesOf({ document: { images } }: ResultLine): CardPicture[] {
  return (Array.isArray(images) ? images : []).map(pictureOf).filter((picture) => picture !== undefined);
}

function pictureOf(image: JsonValue): CardPicture | undefined {
  if (!isObject(image)) return undefined;
  const { path, mimeType, width, height, bytes } = image;
  // The file lies where the batch puts its pictures, whatever the line says.
  const name = nameInside('images', path);
  if (name === undefined) return undefined;
  return {
    path: `${batchFiles.images}/${name}`,
    mimeType: textOf(mimeType) ?? 'application/octet-stream',
    width: typeof width === 'number' ? width : undefined,
    height: typeof height === 'number' ? height : undefined,
    bytes: typeof bytes === 'number' ? bytes : 0,
  };
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
