import { deflateSync } from 'node:zlib';

/** Pixels as red, green, blue and alpha, a byte each. */
export interface Pixels {
  width: number;
  height: number;
  data: Uint8Array;
}

/** The protocol's bound for one escape sequence. */
const kittyChunk = 4096;

/** A PNG for Kitty's graphics protocol, so many columns wide; answers of the terminal are suppressed (they would be input). */
export function kittyPng(png: Uint8Array, columns: number): string {
  return kittySequences(`a=T,f=100,q=2,c=${columns}`, Buffer.from(png).toString('base64'));
}

/** Pixels for the same, for pictures that are no PNG. */
export function kittyPixels({ width, height, data }: Pixels, columns: number): string {
  const packed = deflateSync(data).toString('base64');
  return kittySequences(`a=T,f=32,s=${width},v=${height},o=z,q=2,c=${columns}`, packed);
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

/** A picture of any type for iTerm2's inline images, so many columns wide. */
export function iterm2Image(bytes: Uint8Array, columns: number): string {
  const control = `inline=1;size=${bytes.byteLength};width=${columns};preserveAspectRatio=1`;
  return `\x1b]1337;File=${control}:${Buffer.from(bytes).toString('base64')}\x07\n`;
}

/** How a terminal can show a picture. */
export type PreviewForm = 'kitty' | 'iterm2' | 'blocks' | 'none';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What the terminal can, as far as the environment tells. tmux and screen get blocks: they pass pictures on only where
 * they are told to, and forget them when they draw anew. No colour (NO_COLOR, a dumb terminal): no picture.
 */
export function previewForm(env: Environment): PreviewForm {
  const term = env['TERM'] ?? '';
  const program = env['TERM_PROGRAM'] ?? '';
  const inMultiplexer = isSet(env['TMUX']) || isSet(env['STY']) || /^(tmux|screen)/.test(term);
  if (!inMultiplexer) {
    if (isSet(env['KITTY_WINDOW_ID']) || term === 'xterm-kitty' || term === 'xterm-ghostty' || program === 'ghostty')
      return 'kitty';
    if (['iTerm.app', 'WezTerm', 'mintty'].includes(program) || env['LC_TERMINAL'] === 'iTerm2') return 'iterm2';
  }
  return term === 'dumb' || isSet(env['NO_COLOR']) ? 'none' : 'blocks';
}

/** Whether the terminal says that it has 24-bit colour; else it gets the palette of 256. */
export function hasTrueColor(env: Environment): boolean {
  return (
    /^(truecolor|24bit)$/i.test(env['COLORTERM'] ?? '') ||
    isSet(env['WT_SESSION']) ||
    (env['TERM'] ?? '').endsWith('-direct')
  );
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '';
}
