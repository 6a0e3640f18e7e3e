// A batch in a process of its own that kills itself at one step of one job, or has no patience after SIGTERM: bundled and
// started by kill.test.ts.
import process from 'node:process';
import { runBatch } from '../../src/commands/batch/run.ts';
import type { Context } from '../../src/commands/context.ts';
import { emptyReport } from '../../src/commands/document.ts';
import { createStdin } from '../../src/commands/stdin.ts';
import { createUi } from '../../src/commands/ui.ts';
import { GatewayError } from '../../src/errors.ts';
import { createProcessIo } from '../../src/terminal/process-io.ts';

const [step, nth = '1', ...flags] = process.argv.slice(2);
const io = createProcessIo(process);
const report = emptyReport('batch run');
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort(new GatewayError('terminated', 'ended by SIGTERM')));
const context: Context = {
  io,
  signal: stop.signal,
  patience: { ms: 2000 },
  root: {},
  ui: createUi(io, { quiet: true }, report),
  stdin: createStdin(io),
  report,
  atEnd: () => undefined,
};
let seen = 0;
const hooks = {
  graceMs: 0,
  step(name: string) {
    if (name === step && ++seen === Number(nth)) process.kill(process.pid, 'SIGKILL');
  },
};
void runBatch(
  ['jobs.jsonl'],
  { output: 'out', concurrency: 4, ...(flags.includes('unknown') && { retryUnknown: true }) },
  context,
  hooks,
);
