import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { StoredBlob } from './types.ts';

/** More samples stay without a header: they are put together in memory. */
const mostBytes = 256 * 1024 * 1024;

/**
 * Samples of 16 bits without a header, such as Gemini's `audio/L16;codec=pcm;rate=24000`, as a WAV file, which players know; undefined
 * for anything else. Services send them with the low byte first, other than the media type once said (RFC 2586).
 */
export async function toWav(blob: StoredBlob, declaredType = ''): Promise<StoredBlob | undefined> {
  const [, parameters] = /^\s*audio\/(?:l16|pcm)\s*(;[^]{1,200})$/i.exec(declaredType) ?? [];
  const rate = readParameter(parameters, 'rate');
  const channels = readParameter(parameters, 'channels') ?? 1;
  const hasHeader = Buffer.from(blob.head.subarray(0, 4)).toString('latin1') === 'RIFF';
  if (rate === undefined || channels > 32 || blob.bytes > mostBytes || hasHeader) return undefined;
  const { content } = blob;
  const samples = 'data' in content ? content.data : await readFile(content.file);
  const data = Buffer.concat([wavHeader(samples.byteLength, { rate, channels }), samples]);
  const sha256 = createHash('sha256').update(data).digest('hex');
  return { bytes: data.byteLength, sha256, head: data.subarray(0, 256 * 1024), content: { data } };
}

function readParameter(parameters: string | undefined, name: string): number | undefined {
  const [, digits] = new RegExp(`;\\s*${name}=(\\d{1,6})\\s*(?:;|$)`, 'i').exec(parameters ?? '') ?? [];
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
