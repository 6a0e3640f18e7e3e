import { rm } from 'node:fs/promises';
import type { SentFile } from '../../client/batch-api.ts';
import type { BatchFormat, BatchParts } from '../../formats/batch-types.ts';
import { type Body, type RequestBody, segmentBody, streamBody } from '../../body.ts';
import { maxLineBytes, readFileLines } from '../lines.ts';
import type { JournalEntry } from '../types.ts';
import { createPartFile, type PartFile, newMark } from './parts.ts';

/** Jobs on their way into one batch of the service, their entries in a file. */
export interface Cut {
  mark: string;
  jobs: (Pick<JournalEntry, 'request' | 'bound'> & { id: string; line: number | undefined })[];
  /** Whether another entry fits. */
  hasRoom(entryBytes: number): boolean;
  add(entry: JournalEntry, body: RequestBody): Promise<void>;
  /** Ends the file: the body of the request that creates the batch, or the lines to upload. */
  seal(): Promise<{ file: SentFile; isInline: boolean }>;
  remove(): Promise<void>;
}

const blockBytes = 256 * 1024;

/** The entry of a job as the bytes of its JSON. Throws GatewayError usage for a number that JSON cannot represent. */
export function entryOf(format: BatchFormat, key: string, post: { path: string; body: Body }): RequestBody {
  return segmentBody(format.entry(key, post));
}

/** Opens a batch in a folder. */
export async function openCut(
  format: BatchFormat,
  { model, path, folder }: Omit<BatchParts, 'mark'> & { folder: string },
): Promise<Cut> {
  const mark = newMark();
  const { inline, byFile, bounds } = format;
  const frame = inline?.frame({ mark, model, path }) ?? { head: '', separator: '\n', tail: '' };
  const temp = await createPartFile(folder);
  const files = [temp.path];
  let bytes = 0;
  const jobs: Cut['jobs'] = [];

  const pending: Buffer[] = [];
  let written = 0;

  async function flush(): Promise<void> {
    const block = Buffer.concat(pending.splice(0));
    await temp.write(block, written);
    written += block.byteLength;
  }

  async function write(chunk: Uint8Array): Promise<void> {
    // The chunk is valid until the next one is requested.
    pending.push(Buffer.from(chunk));
    bytes += chunk.byteLength;
    if (bytes - written > blockBytes) await flush();
  }

  await write(Buffer.from(frame.head));
  return {
    mark,
    jobs,
    hasRoom: (entryBytes) =>
      jobs.length < bounds.count &&
      // It is read again as a line.
      entryBytes + frame.separator.length <= maxLineBytes &&
      bytes + entryBytes + frame.separator.length + frame.tail.length <= bounds.bytes,
    async add({ job: { id, line }, request, bound }, body) {
      if (jobs.length > 0) await write(Buffer.from(frame.separator));
      for await (const chunk of streamBody(body)) await write(chunk);
      jobs.push({ id, line, request, bound });
    },
    async seal() {
      await write(Buffer.from(frame.tail));
      await flush();
      await temp.handle.close();
      const name = `${mark}.jsonl`;
      if (byFile === undefined || inline === undefined || bytes <= inline.maxBytes)
        return { file: { path: temp.path, bytes, name }, isInline: inline !== undefined };
      const lines = await createPartFile(folder);
      files.push(lines.path);
      const copied = await copyEntries(temp.path, lines, byFile.line).finally(() => lines.handle.close());
      return { file: { path: lines.path, bytes: copied, name }, isInline: false };
    },
    async remove() {
      await temp.handle.close().catch(() => undefined);
      for (const file of files) await rm(file, { force: true });
    },
  };
}

/** Turns the entries of a framed body into the lines of a file. Returns its length in bytes. */
async function copyEntries(from: string, to: PartFile, lineOf: (entry: string) => string): Promise<number> {
  let bytes = 0;
  for await (const lines of readFileLines(from))
    for (const { text, whole, number } of lines) {
      // The head is the first line, and the tail the last one.
      if (number === 1 || !whole) continue;
      const line = Buffer.from(`${lineOf(text.endsWith(',') ? text.slice(0, -1) : text)}\n`);
      await to.write(line, bytes);
      bytes += line.byteLength;
    }
  return bytes;
}
