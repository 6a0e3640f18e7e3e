// A batch in a process of its own that kills itself at one step of one job, or fails to write there, or has no patience after
// SIGTERM: bundled and started by tests.
import process from 'node:process';
import { runJobFile } from '../../src/cli/commands/batch/batch.ts';
import type { AnswerContext } from '../../src/cli/context.ts';
import { createUi } from '../../src/cli/output/log.ts';
import { createStdin } from '../../src/cli/input/stdin.ts';
import { GatewayError } from '../../src/library/errors.ts';
import { createProcessIo } from '../../src/cli/terminal/process-io.ts';

const [step, nth = '1', ...flags] = process.argv.slice(2);
const staleMs = flags.find((flag) => /^\d+$/.test(flag));
const io = createProcessIo(process);
const cleanups: (() => Promise<void>)[] = [];
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort(new GatewayError('terminated', 'ended by SIGTERM')));
const context: AnswerContext = {
  command: 'batch run',
  argv: [],
  io,
  signal: stop.signal,
  gracePeriod: { ms: 2000 },
  root: {},
  ui: createUi(io, {}),
  stdin: createStdin(io),
  atEnd: (cleanup) => void cleanups.unshift(cleanup),
};
let seen = 0;
const hooks = {
  graceMs: 0,
  lock: staleMs === undefined ? undefined : { staleMs: Number(staleMs), renewMs: Number(staleMs) / 10 },
  unlistedMs: 150,
  step(name: string) {
    if (name !== step || ++seen !== Number(nth)) return;
    if (flags.includes('full')) throw new GatewayError('not-written', 'cannot write results.jsonl: the disk is full');
    process.kill(process.pid, 'SIGKILL');
  },
};
async function main(): Promise<void> {
  try {
    const command = {
      output: 'out',
      concurrency: 4,
      ...(flags.includes('lane') && { lane: 'batch' }),
      ...(flags.includes('unknown') && { retry: ['unknown' as const] }),
    };
    const { error } = await runJobFile(['jobs.jsonl'], command, context, hooks);
    if (error !== undefined) throw error;
  } catch (error) {
    const { message, hint, code } =
      error instanceof GatewayError
        ? { message: error.message, hint: error.details.hint, code: error.exitCode }
        : { message: String(error), hint: '', code: 1 };
    await io.stderr.write(`${message}\n${hint}\n`);
    process.exitCode = code;
  } finally {
    for (const cleanup of cleanups) await cleanup();
  }
}

void main();
