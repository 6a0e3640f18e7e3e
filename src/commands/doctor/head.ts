import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describeCause } from '../../transport/network-error.ts';
import type { Check } from './types.ts';

interface HeadOptions {
  baseUrl: URL;
  signal: AbortSignal;
  now: () => number;
  timeoutMs: number;
}

/** Certificates and signed requests forgive a clock that is wrong by so much, rarely more. */
const toleratedSkewMs = 300_000;

/** One HEAD without a key over a connection that stands: whether HTTP is spoken there, and what time it is. */
export async function* askHead(
  socket: Socket,
  { baseUrl, signal, now, timeoutMs }: HeadOptions,
): AsyncGenerator<Check> {
  const path = baseUrl.pathname;
  let reply: IncomingMessage;
  try {
    reply = await head(socket, { baseUrl, path, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
  } catch (error) {
    signal.throwIfAborted();
    const why =
      error instanceof Error && error.name === 'AbortError'
        ? `none within ${timeoutMs / 1000} s`
        : describeCause(error, baseUrl.host);
    const fix = 'check that the base URL is that of the gateway; the real test is: gateway-cli doctor --live';
    yield { name: 'http', state: 'warning', text: `no reply to HEAD ${path}: ${why}`, fix };
    return;
  }
  const received = now();
  yield {
    name: 'http',
    state: 'ok',
    text: `HTTP ${reply.statusCode} to HEAD ${path} without a key; any status will do`,
  };
  yield clockCheck(reply.headers.date, received);
}

function head(
  socket: Socket,
  { baseUrl, path, signal }: { baseUrl: URL; path: string; signal: AbortSignal },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { host: baseUrl.host, connection: 'close' };
    const asking = request({ method: 'HEAD', path, headers, signal, createConnection: () => socket });
    asking.on('error', reject);
    asking.on('response', (reply) => {
      reply.resume();
      resolve(reply);
    });
    asking.end();
  });
}

function clockCheck(date: string | undefined, now: number): Check {
  const theirs = Date.parse(date ?? '');
  if (Number.isNaN(theirs)) return { name: 'clock', state: 'skipped', text: 'the reply has no Date' };
  const skew = now - theirs;
  const seconds = Math.round(Math.abs(skew) / 1000);
  if (Math.abs(skew) <= toleratedSkewMs)
    return { name: 'clock', state: 'ok', text: `within ${seconds} s of the gateway's` };
  const way = skew > 0 ? 'ahead of' : 'behind';
  return {
    name: 'clock',
    state: 'warning',
    text: `this machine is ${seconds} s ${way} the gateway`,
    fix: 'set the clock: timedatectl set-ntp true',
  };
}
