import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from '../helpers/loopback.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const bin = join(import.meta.dirname, '../../bin/gateway-cli.js');

/** Every answer costs exactly a hundredth, which is also what its request can cost: the input is free. */
const prices = JSON.stringify({ m: { input: '0', output: '100' } });
const answer = JSON.stringify({
  candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 100, totalTokenCount: 100 },
});

interface Ended {
  code: number | null;
  stderr: string;
}

/** What a command prints, and how it ended. */
export async function runIn(
  cwd: string,
  argv: readonly string[],
  env: object = {},
): Promise<Ended & { stdout: string }> {
  const child = spawn(process.execPath, [bin, ...argv], { cwd, env: { ...environment(cwd), ...env } });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

function environment(cwd: string): Record<string, string> {
  return { HOME: cwd, XDG_STATE_HOME: cwd, PATH: process.env['PATH'] ?? '', GATEWAY_API_KEY: 'k', GATEWAY_MODEL: 'm' };
}

/** Runs batches that share a budget; those that `killAt` names are killed when so many of their requests have arrived. */
export async function runSharing(
  budget: string,
  {
    processes,
    jobs,
    killAt,
    flags = [],
  }: { processes: number; jobs: number; killAt: ReadonlyMap<number, number>; flags?: readonly string[] },
): Promise<{ cwd: string; received: number[]; arrivals: number[]; ended: Ended[] }> {
  const cwd = scratchFolder();
  const received = Array.from({ length: processes }, () => 0);
  const arrivals: number[] = [];
  const children: ChildProcess[] = [];
  const { url, close } = await listenOnLoopback((request, response) => {
    void text(request).then((body) => {
      arrivals.push(performance.now());
      const at = Number(/p(\d+)-/.exec(body)?.[1]);
      received[at] = (received[at] ?? 0) + 1;
      // It dies with this request unanswered.
      if (received[at] === killAt.get(at)) return void children[at]?.kill('SIGKILL');
      setTimeout(() => response.setHeader('content-type', 'application/json').end(answer), 20);
    });
  });
  const ended = Array.from({ length: processes }, async (_, at): Promise<Ended> => {
    const argv = ['batch', '--prompts', '-', '-o', `out${at}`, '--defaults', '{"maxTokens":100}', '--concurrency', '2'];
    const child = spawn(
      process.execPath,
      [bin, ...argv, '--budget', budget, '--prices', prices, '--tag', `process=${at}`, ...flags],
      {
        cwd,
        env: { ...environment(cwd), GATEWAY_BASE_URL: url },
      },
    );
    children[at] = child;
    child.stdin.end(Array.from({ length: jobs }, (_, job) => `p${at}-${job}\n`).join(''));
    child.stdin.on('error', () => undefined);
    child.stdout.resume();
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit') as Promise<[number | null]>]);
    return { code, stderr };
  });
  const all = await Promise.all(ended);
  await close();
  return { cwd, received, arrivals, ended: all };
}
