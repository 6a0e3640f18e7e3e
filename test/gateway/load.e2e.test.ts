import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { bareEnv, bin } from '../helpers/spawn.ts';
import { message, turn } from './gateway-under-test.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { isFull } from '../helpers/full.ts';

/** The full run: 500 at once for 30 s. `npm test`: a small number, and nothing of the clock. */
const load = isFull ? { parallel: 500, seconds: 30 } : { parallel: 50, seconds: 0 };
/** As many at least, however slow the machine is. */
const fewest = 1500;

interface Gateway {
  child: ChildProcess;
  url: string;
  key: string;
}

describe('many at once', { timeout: 600_000 }, () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.child.kill('SIGKILL'));

  test(`${load.parallel} parallel requests lose nothing, and memory stays flat`, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: load.parallel });
    const wrong: string[] = [];
    const memory: number[] = [];
    let sent = 0;
    const ask = async (): Promise<void> => {
      const number = sent++;
      const { send, expected } = kinds[number % kinds.length] as Kind;
      const got = await send(gateway, agent, number).catch((error: unknown) => String(error));
      if (!got.includes(expected(number))) wrong.push(`${number}: ${got.slice(0, 200)}`);
      if (number % 500 === 0) memory.push(residentMiB(gateway.child));
    };
    // Its code is loaded before hundreds of connections wait for it: a head that is not read within 10 s is refused.
    await Promise.all(Array.from({ length: 50 }, ask));
    const until = performance.now() + load.seconds * 1000;
    const isOver = (): boolean => sent >= fewest && performance.now() >= until;
    const work = async (): Promise<void> => {
      while (!isOver()) await ask();
    };
    await Promise.all(Array.from({ length: load.parallel }, work));
    agent.destroy();
    if (isFull) process.stderr.write(`${sent} requests, MiB: ${memory.map(Math.round).join(' ')}\n`);
    expect(wrong).toEqual([]);
    // Warm from the first third on.
    const [early, late] = [memory.slice(memory.length / 3, (memory.length * 2) / 3), memory.slice(-memory.length / 3)];
    if (!isFull) return;
    expect(Math.max(...late)).toBeLessThan(Math.max(...early) * 1.15 + 16);
  });
});

interface Kind {
  send(gateway: Gateway, agent: Agent, number: number): Promise<string>;
  /** Stands in the reply to this request, and in no other. */
  expected(number: number): string;
}

const kinds: Kind[] = [
  {
    send: (gateway, agent, number) =>
      post(gateway, agent, '/v1beta/models/local-text:generateContent', turn(`number ${number}.`)),
    expected: (number) => `“number ${number}.”`,
  },
  {
    send: async (gateway, agent, number) => {
      const stream = message(`number ${number}.`, { stream: true });
      return textOf(await post(gateway, agent, '/v1/messages', stream));
    },
    expected: (number) => `“number ${number}.”`,
  },
  {
    send: (gateway, agent, number) =>
      post(gateway, agent, '/v1beta/models/fault-429:generateContent', turn(`number ${number}.`)),
    expected: () => 'RESOURCE_EXHAUSTED',
  },
];

/** The text of a whole stream; without its end none. */
function textOf(stream: string): string {
  if (!stream.includes('event: message_stop')) return `no end: ${stream.slice(-200)}`;
  const deltas = [...stream.matchAll(/"text_delta","text":("(?:[^"\\]|\\.)*")/g)];
  return deltas.map(([, text = '""']) => JSON.parse(text) as string).join('');
}

function post({ url, key }: Gateway, agent: Agent, path: string, body: object): Promise<string> {
  const headers = {
    'content-type': 'application/json',
    'vendor-b-version': '2023-06-01',
    authorization: `Bearer ${key}`,
  };
  return new Promise((resolve, reject) => {
    const sending = request(url + path, { method: 'POST', agent, headers }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => void chunks.push(chunk));
      reply.on('error', reject);
      reply.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
    sending.on('error', reject);
    sending.end(JSON.stringify(body));
  });
}

async function startGateway(): Promise<Gateway> {
  const home = scratchFolder();
  const child = spawn(process.execPath, [bin, 'serve', '--port', '0', '--json', '--quiet'], {
    cwd: home,
    env: bareEnv(home),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = await new Promise<string>((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`serve ended with ${code}`)));
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString()));
  });
  const { url, apiKey } = JSON.parse(line) as { url: string; apiKey: string };
  return { child, url, key: apiKey };
}

/** The memory of the gateway's process, if the system reports it. */
function residentMiB({ pid }: ChildProcess): number {
  if (process.platform !== 'linux') return 0;
  const [, kib = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}
