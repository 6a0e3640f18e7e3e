import type { Card, CardPicture } from '../../batch/gallery-html.ts';
import type { JobTable } from '../../batch/job-table.ts';
import type { JournalState } from '../../batch/journal.ts';
import { imageNameOf } from '../../batch/own-folder.ts';
import type { ResultLine } from '../../batch/reconcile.ts';
import { findSentJobs, type SentJobs } from '../../batch/sent-jobs.ts';
import { batchFiles } from '../../batch/types.ts';
import { isObject, type JsonValue } from '../../json.ts';

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
export async function findCards(folder: string, { table }: JournalState): Promise<Cards> {
  const pictures = new Map<number, number>();
  const sent = await findSentJobs(folder, table, (slot, result) => {
    pictures.set(slot, picturesOf(result).length);
  });
  const slots = sent.slots.filter((slot) => pictures.has(slot) || table.stateOf(slot) === 'sent');
  const sum = [...pictures.values()].reduce((all, count) => all + count, 0);
  return { unread: sent.unread, pictures: sum, read: () => readCards(sent, slots, table) };
}

async function* readCards(sent: SentJobs, slots: Uint32Array, table: JobTable): AsyncGenerator<Card, void> {
  const reader = await sent.open();
  try {
    for (const slot of slots) {
      const { id, result } = await reader.read(slot);
      const isUnknown = ['sent', 'unknown'].includes(table.stateOf(slot));
      yield result ? cardOf(result, isUnknown) : unansweredCard(id);
    }
  } finally {
    await reader.close();
  }
}

function unansweredCard(id: string): Card {
  const error = { class: 'unknown', message: 'sent, and no answer was written down; it may have been billed' };
  return { id, state: 'unknown', error, pictures: [] };
}

function cardOf(result: ResultLine, isUnknown: boolean): Card {
  const { ok, command, prompt, model, text, usage, error } = result.document;
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
  const name = imageNameOf(path);
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
