import { sniffType } from './image-type.ts';

/** The media type of an image, sound, film or PDF by its first bytes; undefined if they are of no such type. */
export function sniffMedia(bytes: Uint8Array): string | undefined {
  const image = sniffType(bytes);
  if (image !== undefined) return image;
  const head = Buffer.from(bytes.subarray(0, 64)).toString('latin1');
  if (head.startsWith('%PDF-')) return 'application/pdf';
  if (head.startsWith('RIFF') && head.startsWith('WAVE', 8)) return 'audio/wav';
  if (head.startsWith('RIFF') && head.startsWith('AVI ', 8)) return 'video/x-msvideo';
  if (head.startsWith('fLaC\0')) return 'audio/flac';
  if (head.startsWith('OggS\0')) return 'audio/ogg';
  if (head.startsWith('FORM') && /^AIF[FC]/.test(head.slice(8))) return 'audio/aiff';
  if (head.startsWith('ftyp', 4)) return isoType(head.slice(8, 12));
  if (head.startsWith('\x1aE\xdf\xa3')) return head.includes('webm') ? 'video/webm' : 'video/x-matroska';
  const [first = 0, second = 0, third = 0, fourth = 0] = bytes;
  // A text can begin with ID3, but not with the number of its version.
  if ((head.startsWith('ID3') && fourth >= 2 && fourth <= 4) || isMpegFrame(first, second, third)) return 'audio/mpeg';
  return first === 0xff && [0xf0, 0xf1, 0xf8, 0xf9].includes(second) ? 'audio/aac' : undefined;
}

/** The type of an ISO file that is no image, by its brand. */
function isoType(brand: string): string {
  if (brand === 'qt  ') return 'video/quicktime';
  return /^M4[AB] $/.test(brand) ? 'audio/mp4' : 'video/mp4';
}

/** Whether bytes begin a frame of layer 3, with a bit rate and a sample rate that exist. */
function isMpegFrame(sync: number, version: number, rates: number): boolean {
  const isLayer3 = version >= 0xe0 && (version & 0b110) === 0b010;
  return sync === 0xff && isLayer3 && rates >> 4 !== 15 && ((rates >> 2) & 3) !== 3;
}
