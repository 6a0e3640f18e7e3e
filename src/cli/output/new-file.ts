import { dirname, resolve } from 'node:path';
import { notWritten, placeFile, writeTempFile } from '../../files/temp-file.ts';

type Append = (piece: string | Uint8Array) => Promise<void>;

/** Writes a file, whole or not at all; only `force` replaces a file. Throws GatewayError not-written, and what `fill` throws. */
export async function writeNewFile(
  output: string,
  fill: (append: Append) => Promise<void>,
  { cwd, force }: { cwd: string; force: boolean },
): Promise<void> {
  const path = resolve(cwd, output);
  let bytes = 0;
  try {
    const temp = await writeTempFile(
      dirname(path),
      (handle) =>
        fill(async (piece) => {
          const chunk = typeof piece === 'string' ? Buffer.from(piece) : piece;
          bytes += chunk.length;
          await handle.appendFile(chunk);
        }),
      { mode: 0o666 },
    );
    await placeFile(temp, path, { bytes, replace: force });
  } catch (error) {
    throw notWritten(output, error);
  }
}
