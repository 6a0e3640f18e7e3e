// The bodies that the bench server sends, and what a reader of them must end up with.
import { randomFillSync } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';

export const mebibyte = 1024 * 1024;

/** Number of deltas of the throughput row. */
export const deltaCount = 100_000;

/** The text that the small replies carry. */
export const smallText = 'A lighthouse cat called Fresnel.';

/** @param {object} part one part of candidate 0 */
function contentReply(part) {
  return { candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }], ...about };
}

const about = {
  usageMetadata: { promptTokenCount: 8, candidatesTokenCount: 9, totalTokenCount: 17 },
  modelVersion: 'bench-model-001',
  responseId: 'bench-reply',
};

/** A content-format reply of a few words. */
export const smallReply = Buffer.from(JSON.stringify(contentReply({ text: smallText })));

/** @param {Buffer} png */
export function onePictureReply(png) {
  return Buffer.from(
    JSON.stringify(contentReply({ inlineData: { mimeType: 'image/png', data: png.toString('base64') } })),
  );
}

/**
 * A content-format reply of n pictures, as the slices to be sent one after another.
 * @param {Buffer} base64 of one picture
 * @param {number} n
 */
export function pictureSlices(base64, n) {
  const [before = '', after = ''] = JSON.stringify(contentReply({ text: '?' })).split('{"text":"?"}');
  const part = JSON.stringify({ inlineData: { mimeType: 'image/png', data: '?' } });
  const [open = '', close = ''] = part.split('?');
  /** @type {Buffer[]} */
  const slices = [Buffer.from(before)];
  for (let index = 0; index < n; index++)
    slices.push(Buffer.from(index === 0 ? open : `,${open}`), base64, Buffer.from(close));
  slices.push(Buffer.from(after));
  return slices;
}

/** @param {string} event @param {object} fields */
function sse(event, fields) {
  return `event: ${event}\ndata: ${JSON.stringify({ type: event, ...fields })}\n\n`;
}

const message = {
  id: 'msg_bench',
  type: 'message',
  role: 'assistant',
  model: 'bench-model',
  content: [],
  stop_reason: null,
};

/** What stands before the deltas of a stream. */
export const streamHead =
  sse('message_start', { message: { ...message, stop_sequence: null, usage: { input_tokens: 8, output_tokens: 1 } } }) +
  sse('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });

/** What ends a stream. */
export const streamTail =
  sse('content_block_stop', { index: 0 }) +
  sse('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 9 } }) +
  sse('message_stop', {});

/** @param {string} text */
export function delta(text) {
  return sse('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
}

/** The words of the throughput row, of about the length of tokens. */
export function manyWords() {
  return Array.from({ length: deltaCount }, (_, index) => `word${index % 997} `);
}

/**
 * A PNG of about the given bytes, whose pixels are noise: only its frame is real.
 * @param {number} bytes
 */
export function noisePng(bytes) {
  return png(2048, randomFillSync(Buffer.alloc(bytes - 57)));
}

/** A PNG of 1024 x 1024 pixels that can be decoded, and takes about 1 MiB as a photo of that size does. */
export function realPng() {
  const side = 1024;
  const noise = randomFillSync(Buffer.alloc(side * side * 3));
  const rows = Buffer.alloc(side * (1 + side * 3));
  for (let y = 0; y < side; y++) {
    const start = y * (1 + side * 3) + 1;
    for (let x = 0; x < side * 3; x++) rows[start + x] = (y >> 3) + ((noise[y * side * 3 + x] ?? 0) % 5);
  }
  return png(side, deflateSync(rows));
}

/** @param {number} side @param {Buffer} data */
function png(side, data) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

/** @param {string} type @param {Buffer} data */
function chunk(type, data) {
  const named = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)]);
}
