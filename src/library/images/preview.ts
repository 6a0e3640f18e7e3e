import { imageFacts } from './image-type.ts';
import { type Color, type Bitmap, shrink } from './pixels/bitmap.ts';
import { minOf } from '../long-lists.ts';

/** The part of the screen that an image may take. */
interface PreviewRoom {
  columns: number;
  rows: number;
}

type TerminalVariables = Readonly<Record<string, string | undefined>>;

/** Whether the terminal declares 24-bit colour. */
export function hasTrueColor(env: TerminalVariables): boolean {
  return (
    /^(truecolor|24bit)$/i.test(env['COLORTERM'] ?? '') ||
    (env['WT_SESSION'] ?? '') !== '' ||
    (env['TERM'] ?? '').endsWith('-direct')
  );
}

/**
 * An image in half-blocks: two pixels a character, the upper in the foreground, the lower in the background. Columns and rows are
 * limits; `trueColor` is 24-bit colour, otherwise the palette of 256.
 */
export function halfBlocks(bitmap: Bitmap, { columns, rows, trueColor }: PreviewRoom & { trueColor: boolean }): string {
  const scale = Math.min(1, columns / bitmap.width, (rows * 2) / bitmap.height);
  const small = shrink(
    bitmap,
    Math.max(1, Math.round(bitmap.width * scale)),
    Math.max(1, Math.round(bitmap.height * scale)),
  );
  const lines: string[] = [];
  for (let y = 0; y < small.height; y += 2) {
    let line = '';
    let before = '';
    for (let x = 0; x < small.width; x++) {
      const { sgr, character } = cell(colorAt(small, x, y), colorAt(small, x, y + 1), trueColor);
      line += (sgr === before ? '' : `\x1b[${sgr}m`) + character;
      before = sgr;
    }
    lines.push(`${line}\x1b[0m\n`);
  }
  return lines.join('');
}

function cell(
  upper: Color | undefined,
  lower: Color | undefined,
  trueColor: boolean,
): { sgr: string; character: string } {
  if (upper)
    return { sgr: `${code(38, upper, trueColor)};${lower ? code(48, lower, trueColor) : '49'}`, character: '▀' };
  return lower ? { sgr: `${code(38, lower, trueColor)};49`, character: '▄' } : { sgr: '0', character: ' ' };
}

function code(layer: 38 | 48, color: Color, trueColor: boolean): string {
  return trueColor ? `${layer};2;${color.join(';')}` : `${layer};5;${paletteIndex(color)}`;
}

const levels = [0, 95, 135, 175, 215, 255];

/** The nearest colour of the 6×6×6 cube, or of the 24 grays between black and white. */
function paletteIndex(color: Color): number {
  const [r, g, b] = color.map(nearestLevel) as [number, number, number];
  const mean = (color[0] + color[1] + color[2]) / 3;
  const gray = Math.min(23, Math.max(0, Math.round((mean - 8) / 10)));
  const grayValue = 8 + gray * 10;
  const toCube = colorDistance(color, [levels[r] ?? 0, levels[g] ?? 0, levels[b] ?? 0]);
  return colorDistance(color, [grayValue, grayValue, grayValue]) < toCube ? 232 + gray : 16 + 36 * r + 6 * g + b;
}

function nearestLevel(value: number): number {
  const gaps = levels.map((level) => Math.abs(level - value));
  return gaps.indexOf(minOf(gaps));
}

function colorDistance(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + (value - (b[i] ?? 0)) ** 2, 0);
}

/** Undefined if the image is transparent. */
function colorAt({ width, height, data }: Bitmap, x: number, y: number): Color | undefined {
  const at = (y * width + x) * 4;
  if (y >= height || (data[at + 3] ?? 0) < 128) return undefined;
  return [data[at] ?? 0, data[at + 1] ?? 0, data[at + 2] ?? 0];
}

/** More pixels than any 4K image of a model. The limit is needed because a small file can claim billions. */
const maxPixels = 24 * 2 ** 20;

/** The reason that an image of this size is not drawn; undefined if it is drawn. */
export function describeTooLarge({ width, height }: { width: number; height: number }): string | undefined {
  if (width * height <= maxPixels) return undefined;
  return `it has ${width}×${height} pixels, more than ${maxPixels / 2 ** 20} megapixels`;
}

/** The pixels of an image, or the reason that there are none. The code that decodes them is loaded only then. */
export async function decodePreview(bytes: Buffer, declaredType: string): Promise<Bitmap | { reason: string }> {
  const { mimeType = declaredType, width = 0, height = 0 } = imageFacts(bytes);
  const damaged = { reason: 'it cannot be decoded' };
  if (width * height === 0) return damaged;
  const tooLarge = describeTooLarge({ width, height });
  if (tooLarge !== undefined) return { reason: tooLarge };
  const { readJpeg, readPng } = await import('./pixels/codec.ts');
  const read = { 'image/png': readPng, 'image/jpeg': readJpeg }[mimeType];
  return read ? read(bytes, maxPixels).catch(() => damaged) : { reason: `${mimeType} cannot be decoded here` };
}
