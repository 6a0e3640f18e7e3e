import { createReadStream } from 'node:fs';
import type { StoredBlob } from '../../images/types.ts';
import type { Io } from '../../terminal/io.ts';

/** Writes a picture's bytes to stdout, for `-o -`; `-` is its path in the JSON document. */
export async function writeToStdout({ content }: Pick<StoredBlob, 'content'>, { stdout }: Io): Promise<string> {
  if ('data' in content) await stdout.write(content.data);
  else for await (const chunk of createReadStream(content.file)) await stdout.write(chunk as Uint8Array);
  if (stdout.failure !== undefined) throw stdout.failure;
  return '-';
}
