import { deflateSync } from 'node:zlib';
import { type Color, type Bitmap, shrink } from './pixels/bitmap.ts';
import { minOf } from '../long-lists.ts';

/** The part of the screen that an image may take. */
interface PreviewRoom {
  columns: number;
  rows: number;
}

/** The place for a preview, with the size of the image in pixels. */
interface PreviewSize extends PreviewRoom {
  width: number;
  height: number;
}

/** The protocol's limit for one escape sequence. */
const kittyChunk = 4096;

/** A PNG for Kitty's graphics protocol; replies of the terminal are suppressed (they would be input). */
export function kittyPng(png: Uint8Array, size: PreviewSize): string {
  return kittySequences(`a=T,f=100,q=2,${kittySize(size)}`, Buffer.from(png).toString('base64'));
}

/** An image that is not PNG for Kitty's graphics protocol, as pixels. */
export function kittyPixels({ width, height, data }: Bitmap, size: PreviewRoom): string {
  const packed = deflateSync(data).toString('base64');
  return kittySequences(`a=T,f=32,s=${width},v=${height},o=z,q=2,${kittySize({ width, height, ...size })}`, packed);
}

/** Columns or rows, only one of them so that the terminal keeps the proportions; a cell is taken to be twice as high as wide. */
function kittySize({ width, height, columns, rows }: PreviewSize): string {
  return columns * height > rows * 2 * width ? `r=${rows}` : `c=${columns}`;
}

function kittySequences(control: string, base64: string): string {
  const count = Math.max(1, Math.ceil(base64.length / kittyChunk));
  const sequences = Array.from({ length: count }, (_, i) => {
    const more = i < count - 1 ? 1 : 0;
    const keys = i === 0 ? `${control},m=${more}` : `m=${more}`;
    return `\x1b_G${keys};${base64.slice(i * kittyChunk, (i + 1) * kittyChunk)}\x1b\\`;
  });
  return `${sequences.join('')}\n`;
}

/** An image of any type as an inline image of iTerm2. */
export function iterm2Image(bytes: Uint8Array, { columns, rows }: PreviewRoom): string {
  const control = `inline=1;size=${bytes.byteLength};width=${columns};height=${rows};preserveAspectRatio=1`;
  return `\x1b]1337;File=${control}:${Buffer.from(bytes).toString('base64')}\x07\n`;
}

/** How a terminal can show an image. */
type PreviewForm = 'kitty' | 'iterm2' | 'blocks' | 'none';

type TerminalVariables = Readonly<Record<string, string | undefined>>;

/**
 * Detects the terminal by the environment. tmux and screen get blocks: they pass images on only if configured so, and lose
 * them when they redraw. Without colour (NO_COLOR, a dumb terminal) there is no image.
 */
export function previewForm(env: TerminalVariables): PreviewForm {
  const term = env['TERM'] ?? '';
  const program = env['TERM_PROGRAM'] ?? '';
  const inMultiplexer = isSetVariable(env['TMUX']) || isSetVariable(env['STY']) || /^(tmux|screen)/.test(term);
  if (!inMultiplexer) {
    if (
      isSetVariable(env['KITTY_WINDOW_ID']) ||
      term === 'xterm-kitty' ||
      term === 'xterm-ghostty' ||
      program === 'ghostty'
    )
      return 'kitty';
    if (['iTerm.app', 'WezTerm', 'mintty'].includes(program) || env['LC_TERMINAL'] === 'iTerm2') return 'iterm2';
  }
  return term === 'dumb' || isSetVariable(env['NO_COLOR']) ? 'none' : 'blocks';
}

/** Whether the terminal declares 24-bit colour. */
export function hasTrueColor(env: TerminalVariables): boolean {
  return (
    /^(truecolor|24bit)$/i.test(env['COLORTERM'] ?? '') ||
    isSetVariable(env['WT_SESSION']) ||
    (env['TERM'] ?? '').endsWith('-direct')
  );
}

function isSetVariable(value: string | undefined): boolean {
  return value !== undefined && value !== '';
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

/** The pixels of an image, or the reason that there are none. What decodes them is loaded only then. */
export async function decodePreview(bytes: Buffer, mimeType: string): Promise<Bitmap | { reason: string }> {
  const { decodeWithin } = await import('./pixels/codec.ts');
  const decoded = await decodeWithin({ bytes, mimeType }, maxPixels);
  if (decoded === 'damaged') return { reason: 'it cannot be decoded' };
  if ('tooLarge' in decoded) return { reason: describeTooLarge(decoded.tooLarge) ?? '' };
  return decoded.bitmap ?? { reason: `${decoded.mimeType} cannot be decoded here` };
}
