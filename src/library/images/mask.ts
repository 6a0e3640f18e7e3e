import { readFile } from 'node:fs/promises';
import type { Upload } from '../body.ts';
import { usageError } from '../errors.ts';

/** A larger mask is not checked: services take none (OpenAI's pictures have 8,294,400 pixels at most). */
const mostPixels = 16 * 2 ** 20;
const mostBytes = 50 * 2 ** 20;

/**
 * Throws GatewayError usage for a mask that is opaque everywhere: the service would be paid for a picture in which nothing may
 * change. The service judges a mask that cannot be decoded here.
 */
export async function refuseEmptyMask({ source, bytes }: Upload, label: string): Promise<void> {
  if (bytes === 0 || bytes > mostBytes) return;
  const { readPng } = await import('./pixels/codec.ts');
  const png = typeof source === 'string' ? await readFile(source) : Buffer.from(source);
  const bitmap = await readPng(png, mostPixels).catch(() => undefined);
  if (bitmap === undefined || hasTransparency(bitmap.data)) return;
  throw usageError(
    `${label} marks nothing: no pixel of it is transparent`,
    'make the part that may change transparent, and save it as PNG',
  );
}

function hasTransparency(rgba: Uint8Array): boolean {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 255) return true;
  return false;
}
