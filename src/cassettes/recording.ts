import { chmod, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../errors.ts';
import { placeFile } from '../files/place-file.ts';
import { createTempFile, removeFile, writeFully } from '../files/temp-file.ts';
import { cassetteName } from './file-name.ts';
import { encodeHead, encodeLine } from './lines.ts';
import { createChunkMasker, type TimedChunk } from './masked-chunks.ts';
import { partNonce } from './parts.ts';
import type { RequestLine } from './request-line.ts';
import type { Ended, Mask } from './types.ts';

/** Lines wait in memory until there is so much to write, in characters. */
const blockLength = 64 * 1024;

/** One exchange on its way into a file. Every method throws what the system says. */
export interface Recording {
  chunk(chunk: TimedChunk): Promise<void>;
  /** Writes the end and gives the file its name. Only the first call counts. */
  finish(ended: Ended, delay: number): Promise<void>;
  /** Leaves nothing behind. */
  discard(): Promise<void>;
}

/** The head of a reply, and when it came. */
interface ReplyHead {
  status: number;
  headers: Record<string, string>;
  /** From the request to the head, ms. */
  delay: number;
}

/** What stands before the first chunk, and where the cassette goes. */
export interface RecordingStart {
  folder: string;
  line: RequestLine;
  /** Which of the equal requests it is, from 1. */
  number: number;
  /** Absent where the connection was lost before the head. */
  reply: ReplyHead | undefined;
  mask: Mask;
}

/** Opens a temporary file (0600) in the folder; it becomes a cassette when the exchange has ended. */
export async function startRecording(start: RecordingStart): Promise<Recording> {
  const { folder, line, number, mask, reply } = start;
  const { path, handle } = await createTempFile(folder, { nonce: partNonce });
  const masker = createChunkMasker(mask);
  const head = encodeHead(line.hash, mask.hide(line.text));
  const replyLine = reply === undefined ? '' : mask.hide(encodeLine({ kind: 'reply', ...reply }));
  const writer = createBlockWriter(handle, head + replyLine);
  const writeChunks = async (chunks: TimedChunk[]): Promise<void> => {
    for (const chunk of chunks) await writer.write(encodeLine({ kind: 'chunk', ...chunk }));
  };
  let over = false;
  return {
    chunk: async (chunk) => {
      if (!over) await writeChunks(masker.push(chunk));
    },
    async finish(ended, delay) {
      if (over) return;
      over = true;
      await writeChunks(masker.end());
      await writer.write(encodeLine({ kind: 'ended', ended, delay }));
      const bytes = await writer.flush();
      await handle.close();
      await publish(path, { folder, line, number, bytes });
    },
    async discard() {
      over = true;
      await handle.close().catch(() => undefined);
      await removeFile(path);
    },
  };
}

interface BlockWriter {
  write(text: string): Promise<void>;
  /** Resolves to the bytes written in all. */
  flush(): Promise<number>;
}

function createBlockWriter(handle: FileHandle, start: string): BlockWriter {
  let block = [start];
  let length = start.length;
  let at = 0;
  const flush = async (): Promise<number> => {
    const bytes = Buffer.from(block.join(''));
    block = [];
    length = 0;
    await writeFully(handle, bytes, at);
    at += bytes.byteLength;
    return at;
  };
  return {
    flush,
    async write(text) {
      block.push(text);
      length += text.length;
      if (length >= blockLength) await flush();
    },
  };
}

/** Takes the next number where another process was faster. */
async function publish(
  temp: string,
  { folder, line, number, bytes }: { folder: string; line: RequestLine; number: number; bytes: number },
): Promise<void> {
  for (let at = number; ; at++) {
    const final = join(folder, cassetteName(line, at));
    try {
      await placeFile(temp, final, { bytes, replace: false });
      // A file system without links gets a copy, which has the rights of an ordinary file.
      return await chmod(final, 0o600);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}
