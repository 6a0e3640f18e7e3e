import { stat } from 'node:fs/promises';
import type { CardPicture } from '../../batch/gallery-html.ts';
import { codeOf } from '../../errors.ts';
import { readReason } from '../../files/file-reason.ts';
import { tooManyPixels } from '../../cli/output/decode-preview.ts';

/** Larger files make the browser slow. */
const mostBytes = 128 * 1024 * 1024;
const shown = new Set(['image/webp', 'image/gif', 'image/avif', 'image/png', 'image/jpeg']);

/** Why the gallery does not show a picture; undefined where it does. */
export async function whyHidden(picture: CardPicture): Promise<string | undefined> {
  const { path, mimeType, width = 0, height = 0 } = picture;
  if (!shown.has(mimeType)) return `browsers show no ${mimeType}`;
  const gone = await stat(path).then(
    ({ size }) => (size > mostBytes ? 'the file is too large to be shown' : undefined),
    (error: unknown) => (codeOf(error) === 'ENOENT' ? 'the file is gone' : readReason(error)),
  );
  return gone ?? tooManyPixels({ width, height });
}
