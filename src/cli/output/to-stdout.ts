import { createReadStream } from 'node:fs';
import { usageError } from '../../errors.ts';
import type { StoredBlob } from '../../files/types.ts';
import type { Io } from '../../terminal/io.ts';

/** What would go to stdout, or beside it. */
interface StdoutWish {
  count?: number | undefined;
  sidecar?: boolean | undefined;
}

/** Whether stdout takes what `-o -` would write there. Throws GatewayError usage. */
export function checkStdout({ count = 1, sidecar }: StdoutWish, { stdout }: Io): void {
  if (stdout.isTTY) throw usageError('-o - would write image bytes to the terminal', 'send them on: -o - > image.png');
  if (count > 1) throw usageError('-o - is for one image', 'for several: -o folder/');
  if (sidecar) throw usageError('--sidecar has no file to write it beside with -o -', 'name a file: -o image.png');
}

/** Writes a picture's bytes to stdout, for `-o -`; `-` is its path in the JSON document. */
export async function writeToStdout({ content }: Pick<StoredBlob, 'content'>, { stdout }: Io): Promise<string> {
  if ('data' in content) await stdout.write(content.data);
  else for await (const chunk of createReadStream(content.file)) await stdout.write(chunk as Uint8Array);
  if (stdout.failure !== undefined) throw stdout.failure;
  return '-';
}
