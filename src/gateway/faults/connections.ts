import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attempt, GatewayReply } from '../types.ts';
import type { FaultTable } from './table.ts';
import { longestTimerMs } from '../../library/index.ts';

/** A dripping reply comes in this many pieces. */
const drips = 20;

/** Faults of connections that break or are slow, and of bodies that do not match the head. */
export const connectionFaults: FaultTable = {
  'fault-cut': {
    reply: (reply) => ({ ...half(reply), ending: 'cut' }),
  },
  'fault-reset-body': {
    reply: (reply) => ({ ...half(reply), ending: 'reset' }),
  },
  'fault-reset': {
    reply: (reply) => ({ ...reply, head: false, ending: 'reset' }),
  },
  'fault-slow': {
    before: ({ delay, left }) => sleep(delay, undefined, { signal: left, ref: false }),
  },
  'fault-hang': {
    before: ({ left }) => forever(left),
  },
  'fault-stall': {
    reply: (reply, { left }) => {
      const { body, ...head } = half(reply);
      return { ...head, body: thenNothing(body, left) };
    },
  },
  'fault-drip': {
    reply: drip,
  },
  'fault-empty': {
    reply: (reply) => ({ ...reply, body: '' }),
  },
  'fault-garbage-json': {
    reply: (reply) => ({
      ...reply,
      headers: { 'content-type': 'application/json' },
      body: '{"candidates": [oops, "content": }\n',
    }),
  },
};

/** A reply that stops in the middle. */
type Half = GatewayReply & { body: AsyncIterable<Uint8Array> };

/** The first half of a body, under the head of the whole body. A paced body is not awaited: even its head would be late. */
function half({ body, length = 0, ...reply }: GatewayReply): Half {
  if (typeof body !== 'string') return { ...reply, body: takeFirstBytes(body, Math.ceil(length / 2)) };
  const whole = Buffer.byteLength(body);
  const headers = { 'content-length': String(whole), ...reply.headers };
  return { ...reply, headers, body: takeFirstBytes([body], Math.ceil(whole / 2)) };
}

type Pieces = Exclude<GatewayReply['body'], string>;

async function* takeFirstBytes(pieces: Pieces, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const piece of pieces) {
    const part = Buffer.from(piece).subarray(0, left);
    yield part;
    left -= part.length;
    if (left === 0) return;
  }
}

async function* thenNothing(body: Pieces, signal: AbortSignal): AsyncGenerator<string | Uint8Array> {
  yield* body;
  await forever(signal);
}

async function drip(reply: GatewayReply, { delay, left }: Attempt): Promise<GatewayReply> {
  const whole = await collect(reply.body);
  const length = Math.max(1, Math.ceil(whole.length / drips));
  async function* drippedBytes(): AsyncGenerator<Buffer> {
    for (let at = 0; at < whole.length; at += length) {
      yield whole.subarray(at, at + length);
      await sleep(delay / drips, undefined, { signal: left });
    }
  }
  return { ...reply, body: drippedBytes() };
}

/** Waits until the caller leaves. */
async function forever(signal: AbortSignal): Promise<never> {
  await sleep(longestTimerMs, undefined, { signal, ref: false });
  throw new Error('the caller stayed');
}

function collect(body: GatewayReply['body']): Promise<Buffer> {
  return buffer(Readable.from(body));
}
