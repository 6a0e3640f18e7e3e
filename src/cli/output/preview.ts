import { readFile } from 'node:fs/promises';
import { decodePreview, describeReadError, describeTooLarge, halfBlocks, hasTrueColor } from '../../library/index.ts';
import type { Context, WrittenImage } from '../context.ts';
import { wantsColor } from '../terminal/style.ts';

/** A preview of a larger image would take too long. */
const maxBytes = 64 * 1024 * 1024;
const maxColumns = 80;
const maxRows = 40;

/** Shows a written image on stderr if that is a terminal. If it cannot be shown, that is only a notice: the image is on disk. */
export async function showPreview(image: WrittenImage, path: string, { io, ui, root }: Context): Promise<void> {
  const isShown = io.stderr.isTTY && !root.quiet && image.bytes <= maxBytes;
  if (!isShown || !wantsColor({ env: io.env, isTTY: true, color: root.color })) return;
  try {
    const { width = 0, height = 0 } = image;
    const reason = describeTooLarge({ width, height });
    if (reason) return await ui.notice(`no preview: ${reason}`);
    const pixels = await decodePreview(await readFile(path), image.mimeType);
    if ('reason' in pixels) return await ui.notice(`no preview: ${pixels.reason}`);
    const columns = Math.max(1, Math.min(maxColumns, io.stderr.columns - 1));
    // The path and the next prompt are below it.
    const rows = Math.max(1, Math.min(maxRows, (io.stderr.rows ?? Infinity) - 2));
    await ui.show(halfBlocks(pixels, { columns, rows, trueColor: hasTrueColor(io.env) }));
  } catch (error) {
    await ui.notice(`no preview: ${describeReadError(error)}`);
  }
}
