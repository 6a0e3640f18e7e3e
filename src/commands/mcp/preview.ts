import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Action } from '../../cli/context.ts';
import { decodePreview } from '../../cli/output/preview.ts';
import { encodeThumbnail } from '../../images/thumbnail.ts';

/** Longer side of a preview, in pixels. */
const longest = 256;
/** After this no further image is decoded, ms: the caller waits. */
const enough = 5000;

/**
 * `__preview <image>…`: prints small JPEGs in Base64 as JSON, null for an image that cannot be decoded. The server runs it in a
 * process of its own: a large image takes seconds and hundreds of MiB.
 */
export function previewCommand(command: Command): Action {
  command.argument('<images...>');
  return async ({ io }, paths) => {
    const end = io.elapsed() + enough;
    const previews: (string | null)[] = [];
    for (const path of paths) {
      if (io.elapsed() > end) break;
      previews.push(await previewOf(path).catch(() => null));
    }
    await io.stdout.write(JSON.stringify({ previews }));
  };
}

async function previewOf(path: string): Promise<string | null> {
  const pixels = await decodePreview(await readFile(path), '');
  return 'hidden' in pixels ? null : (await encodeThumbnail(pixels, longest)).toString('base64');
}
