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
