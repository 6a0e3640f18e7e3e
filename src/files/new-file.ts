import { dirname, resolve } from 'node:path';
import { notWritten, placeFile, removeFile, writeTempFile } from './temp-file.ts';

type Append = (piece: string | Uint8Array) => Promise<void>;

/** Writes a file, whole or not at all; only `force` replaces a file. Throws GatewayError not-written, and what `fill` throws. */
export async function writeNewFile(
  output: string,
  fill: (append: Append) => Promise<void>,
  { cwd, force }: { cwd: string; force: boolean },
): Promise<void> {
  const path = resolve(cwd, output);
  let bytes = 0;
  let temp: string | undefined;
  try {
    temp = await writeTempFile(
      dirname(path),
      (handle) =>
        fill(async (piece) => {
          bytes += Buffer.byteLength(piece);
          await handle.appendFile(piece);
        }),
      { mode: 0o666 },
    );
    await placeFile(temp, path, { bytes, replace: force });
  } catch (error) {
    if (temp !== undefined) await removeFile(temp).catch(() => {});
    throw notWritten(output, error);
  }
}
