// The server of the bench, a process of its own so that its work is not counted into the client's. The first segment of the
// path chooses what is sent; the rest is the path of the gateway's operation.
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import {
  delta,
  manyWords,
  mebibyte,
  noisePng,
  onePictureReply,
  pictureSlices,
  realPng,
  smallReply,
  streamHead,
  streamTail,
} from './bodies.js';
import { answerService } from './service.js';

/** Bytes handed to the socket at once. */
const sliceSize = 64 * 1024;
const timedSeconds = 2;

const picture = Buffer.from(noisePng(20 * mebibyte).toString('base64'));
const smallPicture = onePictureReply(noisePng(4096));
const galleryPicture = onePictureReply(realPng());
const stream = Buffer.from(streamHead + manyWords().map(delta).join('') + streamTail);

/** @typedef {import('node:http').ServerResponse} Reply */
/** @typedef {{ reply: Reply, received: number, amount: number }} Call */

/** @type {Record<string, (call: Call) => Promise<void> | void>} */
const scenes = {
  small: ({ reply }) => sendSmall(reply),
  batch: async ({ reply }) => {
    await pause(20);
    sendSmall(reply);
  },
  first: ({ reply }) =>
    sendEvents(reply, [Buffer.from(streamHead + delta('first ') + delta('words')), Buffer.from(streamTail)]),
  deltas: ({ reply }) => sendEvents(reply, [stream]),
  timed: ({ reply, amount }) => sendTimed(reply, amount),
  gallery: ({ reply }) => sendJson(reply, [galleryPicture]),
  images: ({ reply, amount }) => sendJson(reply, pictureSlices(picture, amount)),
  edit: ({ reply, received }) => {
    if (received > (64 * mebibyte * 4) / 3) return sendJson(reply, [smallPicture]);
    reply
      .writeHead(400)
      .end('{"error":{"code":400,"message":"the picture did not come whole","status":"INVALID_ARGUMENT"}}');
  },
};

/** In one write: what the server costs is taken from the programs that share its processors. @param {Reply} reply */
function sendSmall(reply) {
  reply
    .writeHead(200, { 'content-type': 'application/json; charset=UTF-8', 'content-length': smallReply.length })
    .end(smallReply);
}

/** @param {Reply} reply @param {Buffer[]} slices */
async function sendJson(reply, slices) {
  const length = slices.reduce((sum, slice) => sum + slice.length, 0);
  reply.writeHead(200, { 'content-type': 'application/json; charset=UTF-8', 'content-length': length });
  await pipeline(Readable.from(cut(slices)), reply);
}

/** @param {Reply} reply @param {Buffer[]} slices */
async function sendEvents(reply, slices) {
  reply.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  await pipeline(Readable.from(cut(slices)), reply);
}

/** @param {Buffer[]} slices */
function* cut(slices) {
  for (const slice of slices) {
    for (let at = 0; at < slice.length; at += sliceSize) yield slice.subarray(at, at + sliceSize);
  }
}

/**
 * Each delta is a write of its own and carries the moment of that write, in nanoseconds of the machine's monotonic clock.
 * @param {Reply} reply
 * @param {number} perSecond
 */
async function sendTimed(reply, perSecond) {
  reply.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  reply.write(streamHead);
  const start = process.hrtime.bigint();
  const total = perSecond * timedSeconds;
  for (let sent = 0; sent < total;) {
    await pause(1);
    const due = Math.min(total, Math.floor((Number(process.hrtime.bigint() - start) / 1e9) * perSecond));
    for (; sent < due; sent++) reply.write(delta(`${process.hrtime.bigint()}\n`));
  }
  reply.end(streamTail);
}

/** @param {number} milliseconds */
function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** @param {import('node:http').IncomingMessage} request */
async function countBytes(request) {
  let received = 0;
  for await (const chunk of request) received += chunk.length;
  return received;
}

const server = createServer(async (request, reply) => {
  const [, scene = '', amount = ''] = /^\/([a-z]+)(?:-(\d+))?\//.exec(request.url ?? '') ?? [];
  const send = scenes[scene];
  try {
    if (scene === 'service') {
      reply.end(answerService(`${request.method} ${request.url}`, await text(request)));
      return;
    }
    const received = await countBytes(request);
    if (send) await send({ reply, received, amount: Number(amount) });
    else reply.writeHead(404).end();
  } catch {
    reply.destroy();
  }
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.(address.port);
});
process.on('disconnect', () => {
  server.close();
  server.closeAllConnections();
});
