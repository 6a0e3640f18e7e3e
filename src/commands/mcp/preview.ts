import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Action } from '../../cli/context.ts';
import { decodePreview } from '../../cli/output/preview.ts';
import { shrink, type Picture } from '../../images/pixels/picture.ts';

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

/** Of a JPEG, 1 … 100. */
const quality = 75;

/** A JPEG of at most `longest` pixels on its longer side; transparent pixels become white. */
export async function encodeThumbnail(pixels: Picture, longest: number): Promise<Buffer> {
  const scale = Math.min(1, longest / Math.max(pixels.width, pixels.height));
  const scaled = (length: number): number => Math.max(1, Math.round(length * scale));
  const { width, height, data } = shrink(pixels, scaled(pixels.width), scaled(pixels.height));
  const { default: jpeg } = await import('jpeg-js');
  return jpeg.encode({ width, height, data: overWhite(data) }, quality).data;
}

function overWhite(data: Uint8Array): Uint8Array {
  return data.map((value, at) => {
    const alpha = data[at | 3] ?? 255;
    return Math.round((value * alpha) / 255 + 255 - alpha);
  });
}
