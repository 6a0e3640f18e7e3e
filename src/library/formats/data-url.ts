import type { BodyValue, Upload } from '../body.ts';

/** The bytes of an image or a file: an upload, or their Base64. */
export interface MediaBytes {
  mimeType: string;
  data: Upload | string;
}

/** Bytes as a data URL. */
export function toDataUrl({ mimeType, data }: MediaBytes): BodyValue {
  const prefix = `data:${mimeType};base64,`;
  return typeof data === 'string' ? prefix + data : { ...data, prefix };
}

/** Sound as the formats of OpenAI have it; undefined for another type. */
export function encodeAudio({ mimeType, data }: MediaBytes): BodyValue | undefined {
  const [, audio] = /^audio\/(?:x-)?(wav|mp3|mpeg)$/.exec(mimeType.toLowerCase()) ?? [];
  if (audio === undefined) return undefined;
  return { type: 'input_audio', input_audio: { data, format: audio === 'wav' ? 'wav' : 'mp3' } };
}
