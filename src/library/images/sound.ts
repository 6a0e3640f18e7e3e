import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isSamples } from './image-type.ts';
import { sniffMedia } from './media-type.ts';
import type { StoredBlob } from './types.ts';

/** Sound with more bytes stays without a header, since pieces are joined in memory. */
const mostBytes = 256 * 1024 * 1024;

/** The file of a sound, and its type: by its header, if it has one. */
export async function toSoundFile(
  blob: StoredBlob,
  declaredType: string,
): Promise<{ blob: StoredBlob; declaredType: string }> {
  const named = sniffMedia(blob.head);
  if (named?.startsWith('audio/')) return { blob, declaredType: named };
  const wav = await toWav(blob, declaredType);
  return wav ? { blob: wav, declaredType: 'audio/wav' } : { blob, declaredType };
}

/** Joins the pieces of a sound into one blob. */
export async function joinBlobs(blobs: readonly StoredBlob[]): Promise<StoredBlob> {
  const pieces: Uint8Array[] = [];
  for (const blob of blobs) pieces.push(await readBlob(blob));
  return blobOf(Buffer.concat(pieces));
}

/**
 * Samples of 16 bits without a header, such as Gemini's `audio/L16;codec=pcm;rate=24000`, as a WAV file, which players know;
 * undefined for any other type. Services send them with the low byte first, unlike the definition of the media type (RFC 2586).
 */
async function toWav(blob: StoredBlob, declaredType: string): Promise<StoredBlob | undefined> {
  const rate = isSamples(declaredType) ? readParameter(declaredType, 'rate') : undefined;
  const channels = readParameter(declaredType, 'channels') ?? 1;
  if (rate === undefined || channels > 32 || blob.bytes > mostBytes) return undefined;
  const data = await readBlob(blob);
  return blobOf(Buffer.concat([wavHeader(data.byteLength, { rate, channels }), data]));
}

async function readBlob({ content }: StoredBlob): Promise<Uint8Array> {
  return 'data' in content ? content.data : readFile(content.file);
}

function blobOf(data: Buffer): StoredBlob {
  const sha256 = createHash('sha256').update(data).digest('hex');
  return { bytes: data.byteLength, sha256, head: data.subarray(0, 256 * 1024), content: { data } };
}

function readParameter(type: string, name: string): number | undefined {
  const [, digits] = new RegExp(`;\\s*${name}=(\\d{1,6})\\s*(?:;|$)`, 'i').exec(type) ?? [];
  return digits === undefined || Number(digits) === 0 ? undefined : Number(digits);
}

function wavHeader(bytes: number, { rate, channels }: { rate: number; channels: number }): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + bytes, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * channels * 2, 28);
  header.writeUInt16LE(channels * 2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(bytes, 40);
  return header;
}
