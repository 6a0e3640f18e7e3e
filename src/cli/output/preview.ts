import { readFile } from 'node:fs/promises';
import {
  decodePreview,
  describeReadError,
  describeTooLarge,
  halfBlocks,
  hasTrueColor,
  iterm2Image,
  kittyPixels,
  kittyPng,
  previewForm,
} from '../../library/index.ts';
import type { Context, WrittenImage } from '../context.ts';

/** A preview of a larger image would take too long. */
const maxBytes = 64 * 1024 * 1024;
const maxColumns = 80;
const maxRows = 40;

/** Shows a written image on stderr if that is a terminal. If it cannot be shown, that is only a notice: the image is on disk. */
export async function showPreview(image: WrittenImage, path: string, { io, ui, root }: Context): Promise<void> {
  if (!io.stderr.isTTY || root.quiet || image.bytes > maxBytes) return;
  const form = previewForm(root.color === false ? { ...io.env, NO_COLOR: '1' } : io.env);
  if (form === 'none') return;
  try {
    const { width = 0, height = 0 } = image;
    const reason = describeTooLarge({ width, height });
    if (reason) return await ui.notice(`no preview: ${reason}`);
    const bytes = await readFile(path);
    const columns = Math.max(1, Math.min(maxColumns, io.stderr.columns - 1));
    // The path and the next prompt are below it.
    const room = { columns, rows: Math.max(1, Math.min(maxRows, (io.stderr.rows ?? Infinity) - 2)) };
    if (form === 'iterm2') return await ui.show(iterm2Image(bytes, room));
    if (form === 'kitty' && image.mimeType === 'image/png')
      return await ui.show(kittyPng(bytes, { width, height, ...room }));
    const pixels = await decodePreview(bytes, image.mimeType);
    if ('reason' in pixels) return await ui.notice(`no preview: ${pixels.reason}`);
    const blocks = { ...room, trueColor: hasTrueColor(io.env) };
    await ui.show(form === 'kitty' ? kittyPixels(pixels, room) : halfBlocks(pixels, blocks));
  } catch (error) {
    await ui.notice(`no preview: ${describeReadError(error)}`);
  }
}
