import { dirname, resolve } from 'node:path';
import type { JsonObject } from '../json.ts';
import { placeFile } from '../files/place-file.ts';
import { writeBeside } from './publish.ts';
import { notWritten, removeFile } from '../files/temp-file.ts';

/** The name of a picture's sidecar. */
export function sidecarPath(imagePath: string): string {
  return `${imagePath}.json`;
}

/**
 * Writes `<image>.json` and returns its path. What has that name is replaced with `force` only.
 * Throws GatewayError not-written.
 */
export async function writeSidecar(
  imagePath: string,
  facts: JsonObject,
  { cwd, force }: { cwd: string; force: boolean },
): Promise<string> {
  const path = sidecarPath(imagePath);
  const final = resolve(cwd, path);
  const bytes = Buffer.from(`${JSON.stringify(facts, null, 2)}\n`);
  let temp: string | undefined;
  try {
    temp = await writeBeside(dirname(final), bytes);
    await placeFile(temp, final, { bytes: bytes.length, replace: force });
  } catch (error) {
    if (temp !== undefined) await removeFile(temp);
    throw notWritten(path, error);
  }
  return path;
}
