import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply } from '../types.ts';
import { everyCommand, type Fault, type Visit } from './fault.ts';

/** A dripping reply comes in this many pieces. */
const drips = 20;

/** Connections that break or dawdle, and bodies that are not what the head says. */
export const connectionFaults: readonly Fault[] = [
  {
    name: 'fault-cut',
    description: 'the connection is closed in the middle of the body',
    commands: everyCommand,
    exitCode: 11,
    reply: async (reply) => ({ ...(await half(reply)), ending: 'cut' }),
  },
  {
    name: 'fault-reset-body',
    description: 'the connection is reset in the middle of the body',
    commands: everyCommand,
    exitCode: 11,
    reply: async (reply) => ({ ...(await half(reply)), ending: 'reset' }),
  },
  {
    name: 'fault-reset',
    description: 'the connection is reset before any reply',
    commands: everyCommand,
    exitCode: 8,
    reply: (reply) => ({ ...reply, head: false, ending: 'reset' }),
  },
  {
    name: 'fault-slow',
    description: 'answers well, but only after 10 s',
    commands: everyCommand,
    exitCode: 0,
    before: ({ delay, left }) => sleep(delay, undefined, { signal: left.signal }),
  },
  {
    name: 'fault-hang',
    description: 'never answers',
    commands: everyCommand,
    exitCode: 8,
    flags: '--timeout 2',
    before: ({ left }) => forever(left.signal),
  },
  {
    name: 'fault-stall',
    description: 'sends half of the body, then nothing more',
    commands: everyCommand,
    exitCode: 11,
    flags: '--timeout 2',
    reply: async (reply, visit) => stall(await half(reply), visit),
  },
  {
    name: 'fault-drip',
    description: 'sends the body in small pieces, for 10 s',
    commands: everyCommand,
    exitCode: 0,
    reply: drip,
  },
  {
    name: 'fault-empty',
    description: '200 with an empty body',
    commands: everyCommand,
    exitCode: 9,
    reply: (reply) => ({ ...reply, body: '' }),
  },
  {
    name: 'fault-garbage-json',
    description: '200 with a whole body that is not JSON',
    commands: everyCommand,
    exitCode: 9,
    reply: (reply) => ({
      ...reply,
      headers: { 'content-type': 'application/json' },
      body: '{"candidates": [oops, "content": }\n',
    }),
  },
];

/** A reply that stops in the middle. */
type Half = Reply & { body: AsyncIterable<Uint8Array> };

/** The first half of a body, under the head of the whole one. A paced one is not waited for: even its head would be late. */
async function half({ body, length, ...reply }: Reply): Promise<Half> {
  const plain = typeof body === 'string' || body instanceof Uint8Array;
  if (!plain && length !== undefined) return { ...reply, body: firstOf(body, Math.ceil(length / 2)) };
  const whole = await collect(body);
  const headers = plain ? { 'content-length': String(whole.length), ...reply.headers } : reply.headers;
  return { ...reply, headers, body: firstOf([whole], Math.ceil(whole.length / 2)) };
}

type Pieces = Exclude<Reply['body'], string | Uint8Array>;

async function* firstOf(pieces: Pieces, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const piece of pieces) {
    const part = Buffer.from(piece).subarray(0, left);
    yield part;
    left -= part.length;
    if (left === 0) return;
  }
}

function stall(reply: Half, { left }: Visit): Reply {
  return { ...reply, body: thenNothing(reply.body, left.signal) };
}

async function* thenNothing(body: Half['body'], signal: AbortSignal): AsyncGenerator<Uint8Array> {
  yield* body;
  await forever(signal);
}

async function drip(reply: Reply, { delay, left }: Visit): Promise<Reply> {
  const whole = await collect(reply.body);
  const length = Math.max(1, Math.ceil(whole.length / drips));
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < whole.length; at += length) {
      yield whole.subarray(at, at + length);
      await sleep(delay / drips, undefined, { signal: left.signal });
    }
  }
  return { ...reply, body: pieces() };
}

/** Waits until the caller leaves. */
async function forever(signal: AbortSignal): Promise<never> {
  await new Promise((_, reject) => {
    const leave = (): void => reject(new Error('the caller left'));
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
  throw new Error('the caller left');
}

async function collect(body: Reply['body']): Promise<Buffer> {
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body);
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
